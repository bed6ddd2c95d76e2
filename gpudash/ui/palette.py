"""The command palette: every action that there is now, themes, filters, by a fuzzy search.

Our own screen over Textual's matcher: Textual's palette raises when two quick enters or a click on
a line that is gone come behind each other, and nothing that is typed may end the dashboard. What it
finds is made anew at each change, so nothing is offered that can't be done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.fuzzy import Matcher
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

if TYPE_CHECKING:
    from gpudash.core.action import Action

Run = Callable[[], object]
MOST_CHARACTERS = 100


class Command(NamedTuple):
    """One line of the palette."""

    title: str
    help: str
    run: Run


def action_command(action: Action, run: Run, label: str = "") -> Command:
    """Return an action's line: what it does, its keys and its id."""
    keys = action.shown.replace(" ", ", ")
    return Command(f"{label or action.label}  ({keys})  {action.id}", action.tooltip, run)


class Lines(OptionList, can_focus=False):
    """What was found."""

    def on_click(self, event: Click) -> None:
        """Take no click on a line that has gone since it was drawn."""
        number = event.style.meta.get("option")
        if number is None or number >= self.option_count:
            event.prevent_default()


class PaletteScreen(ModalScreen[None]):
    """Asks what to do, and does it once it is closed."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "close", "close"),
        Binding("down,ctrl+n", "move(1)", "down", show=False, priority=True),
        Binding("up", "move(-1)", "up", show=False, priority=True),
        Binding("pagedown", "move(8)", "page down", show=False, priority=True),
        Binding("pageup", "move(-8)", "page up", show=False, priority=True),
    ]

    def __init__(self, commands: Callable[[], tuple[Command, ...]]) -> None:
        """`commands` says what can be done now."""
        super().__init__()
        self._commands = commands
        self._found: tuple[Command, ...] = ()
        self._input = Input(
            placeholder="action, theme or filter", compact=True, max_length=MOST_CHARACTERS
        )
        self._lines = Lines(markup=False)

    def compose(self) -> ComposeResult:
        """Mount the prompt and what it finds."""
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "what to do"
            dialog.border_subtitle = "enter does it, esc closes"
            yield self._input
            yield self._lines

    def on_mount(self) -> None:
        """Show everything."""
        self._search("")

    def on_input_changed(self, message: Input.Changed) -> None:
        """Search anew."""
        message.stop()
        self._search(message.value)

    def _search(self, text: str) -> None:
        matcher = Matcher(text, match_style=Style(bold=True, underline=True))
        self._found = found_in(self._commands(), matcher)
        self._lines.clear_options()
        self._lines.add_options([Option(_line(one, matcher, text)) for one in self._found])
        if self._found:
            self._lines.highlighted = 0

    def action_move(self, step: int) -> None:
        """Move over what was found."""
        if self._found:
            at = (self._lines.highlighted or 0) + step
            self._lines.highlighted = min(max(at, 0), len(self._found) - 1)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Do what is highlighted."""
        message.stop()
        self._do(self._lines.highlighted)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Do what was clicked."""
        message.stop()
        self._do(message.option_index)

    def _do(self, number: int | None) -> None:
        # A second enter may be on its way while the first one closes it.
        if number is None or number >= len(self._found) or not self.is_current:
            return
        self.dismiss()
        self.app.call_later(self._found[number].run)

    def action_close(self) -> None:
        """Close it, once."""
        if self.is_current:
            self.dismiss()


def found_in(commands: tuple[Command, ...], matcher: Matcher) -> tuple[Command, ...]:
    """Return what fits, the best first: by its title, or by its sentence at half the weight."""
    if not matcher.query:
        return commands
    scored = [(max(matcher.match(one.title), matcher.match(one.help) / 2), one) for one in commands]
    ordered = sorted(scored, key=lambda pair: -pair[0])
    return tuple(one for score, one in ordered if score > 0)


def _line(command: Command, matcher: Matcher, text: str) -> Content:
    """Draw a command; a title with a bracket in it is no markup."""
    title = Content(command.title)
    if text and "[" not in command.title:
        title = matcher.highlight(command.title)
    return Content.assemble(title, "\n", (command.help, "$text-muted"))
