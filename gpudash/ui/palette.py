"""The command palette: every action that there is now, themes, filters, by a fuzzy search.

What it finds is made anew at each search, so nothing is offered that can't be done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

if TYPE_CHECKING:
    from textual.fuzzy import Matcher

    from gpudash.core.actions import Action

Run = Callable[[], object]


class Command(NamedTuple):
    """One line of the palette."""

    title: str
    help: str
    run: Run


def action_command(action: Action, run: Run, label: str = "") -> Command:
    """Return an action's line: what it does, its keys and its id."""
    keys = action.shown.replace(" ", ", ")
    return Command(f"{label or action.label}  ({keys})  {action.id}", action.tooltip, run)


class Palette(CommandPalette):
    """Textual's, which two quick enters would otherwise close twice, and the dashboard with it."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close it, once."""
        return super().dismiss(result) if self.is_current else AwaitComplete()


def command_palette(commands: Callable[[], tuple[Command, ...]]) -> Palette:
    """Return the palette's screen over these commands."""

    class Found(Provider):
        """Searches the commands of this run."""

        async def discover(self) -> Hits:
            """Yield everything, before anything was typed."""
            for one in commands():
                yield DiscoveryHit(Content(one.title), one.run, one.title, escape(one.help))

        async def search(self, query: str) -> Hits:
            """Yield what fits, by its title or its sentence."""
            matcher = self.matcher(query)
            for one in commands():
                score = max(matcher.match(one.title), matcher.match(one.help) * 0.5)
                if score > 0:
                    title = _highlighted(matcher, one.title)
                    yield Hit(score, title, one.run, one.title, escape(one.help))

    return Palette([Found], placeholder="action, theme or filter", id="--command-palette")


def _highlighted(matcher: Matcher, title: str) -> Content:
    """Mark what was found; a title with a bracket in it is no markup."""
    return Content(title) if "[" in title else matcher.highlight(title)
