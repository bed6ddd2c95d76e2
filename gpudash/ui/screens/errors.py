"""`e`: the event log: what is wrong, which alerts are raised, everything that happened.

It goes on while it is read, and the reader stays where they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from gpudash.core.action import ERRORS
from gpudash.core.alerts import Raised
from gpudash.core.eventlog import event_lines, log_text, simulated_line
from gpudash.core.model import Fleet
from gpudash.services.clock import Clock
from gpudash.ui.actions import Actions
from gpudash.ui.bindings import bound
from gpudash.ui.paint.eventpage import (
    KEYS,
    EventPage,
    clamped,
    continued,
    event_page_rows,
    names_width,
    page_room,
    searched,
)
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.keyed import KeyedRows

_LONGEST_WORDS = 120
_ACTIONS = {
    "errors.open": "back",
    "cursor.up": "scroll(-1)",
    "cursor.down": "scroll(1)",
    "cursor.page_up": "page(-1)",
    "cursor.page_down": "page(1)",
    "cursor.first": "scroll(-10000000)",
    "cursor.last": "scroll(10000000)",
    "events.search": "search",
    "events.next": "find(1)",
    "events.previous": "find(-1)",
    "events.bad": "bad",
    "events.save": "save",
    "text.copy": "copy",
    "view.theme": "app.next_theme",
    "app.quit": "app.quit",
}
"""What each action does here."""


class Ways(NamedTuple):
    """What the screen can have done."""

    repaint: Callable[[], None]
    """Called when it needs to be shown what is known now."""
    copy: Callable[[str], None]
    save: Callable[[str], None]


class ErrorsScreen(Screen[None]):
    """Shows the log of a fleet; where the reader stands is its own."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "back", "back"),
        Binding("space", "page(1)", "page down"),
        *(bound(id_, action) for id_, action in _ACTIONS.items()),
    ]

    def __init__(self, ink: Ink, glyphs: Glyphs, actions: Actions, ways: Ways) -> None:
        super().__init__(id="errors")
        self._rows = KeyedRows(ink, id="log-rows")
        self._glyphs = glyphs
        self._actions = actions
        self._ways = ways
        self._page = EventPage()
        self._before = ""
        self._mark = ""

    @property
    def page(self) -> EventPage:
        """Return what is shown."""
        return self._page

    def compose(self) -> ComposeResult:
        """Mount the rows."""
        yield self._rows

    def on_mount(self) -> None:
        """Ask for the first lines before anything is drawn."""
        self._ways.repaint()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw at the new size."""
        self._ways.repaint()

    def set_ink(self, ink: Ink) -> None:
        """Draw in another theme's colours."""
        self._rows.set_ink(ink)

    def show(self, fleet: Fleet, raised: Raised, clock: Clock) -> None:
        """Show the log as it is now."""
        before = self._page
        self._mark = simulated_line(fleet)
        lines = event_lines(fleet, raised, is_bad_only=before.is_bad_only)
        page = EventPage(
            lines=lines,
            is_simulated=fleet.is_simulated,
            names_width=names_width(lines) if len(fleet.hosts) > 1 else 0,
            now_s=clock.now(),
            wall_of=clock.wall,
            keys=self._actions.named(KEYS),
            glyphs=self._glyphs,
        )
        self._page = continued(page, before, self._width)
        self._draw()

    @property
    def _width(self) -> int:
        return self.app.size.width

    @property
    def _room(self) -> int:
        return page_room(self.app.size.height)

    def _draw(self) -> None:
        width, height = self.app.size
        if width < 1 or height < 1 or not self._rows.is_attached:
            return
        self._page = clamped(self._page, width, self._room)
        self._rows.styles.height = height
        self._rows.show(event_page_rows(self._page, width, height), width)

    # -- keys ----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While words are typed, letters are letters."""
        if self._page.is_typing:
            return False
        return super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Take what is typed to search for: each letter goes to the nearest place."""
        if not self._page.is_typing:
            return
        event.stop()
        event.prevent_default()
        page = self._page
        match event.key:
            case "enter":
                page = page._replace(is_typing=False)
            case "escape":
                page = page._replace(is_typing=False, words=self._before, here=None)
            case "backspace":
                page = page._replace(words=page.words[:-1], here=None)
            case _ if event.character and event.character.isprintable():
                page = page._replace(words=(page.words + event.character)[:_LONGEST_WORDS])
            case _:
                return
        self._page = searched(page, self._width, self._room, 0)
        self._draw()

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        """Scroll by the wheel."""
        self.action_scroll(3)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        """Scroll by the wheel."""
        self.action_scroll(-3)

    def action_back(self) -> None:
        """Go back to where we came from; a search is taken away first."""
        if self._page.words:
            self._page = self._page._replace(words="", here=None)
            self._draw()
            return
        self.dismiss()

    def action_search(self) -> None:
        """Type what to search for."""
        self._before = self._page.words
        self._page = self._page._replace(is_typing=True, words="", here=None)
        self._draw()

    def action_find(self, step: int) -> None:
        """Go to the next place, or the one before."""
        self._page = searched(self._page, self._width, self._room, step)
        self._draw()

    def action_scroll(self, step: int) -> None:
        """Scroll by rows."""
        self._page = self._page._replace(top=max(0, self._page.top + step))
        self._draw()

    def action_page(self, step: int) -> None:
        """Scroll by pages."""
        self.action_scroll(step * max(1, self._room - 1))

    def action_bad(self) -> None:
        """List only what went wrong, or everything."""
        self._page = self._page._replace(is_bad_only=not self._page.is_bad_only)
        self._ways.repaint()

    def action_copy(self) -> None:
        """Copy all that is listed."""
        self._ways.copy(self._text)

    def action_save(self) -> None:
        """Save all that is listed."""
        self._ways.save(self._text + "\n")

    @property
    def _text(self) -> str:
        return log_text(self._page.lines, self._page.wall_of, mark=self._mark)

    async def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does."""
        message.stop()
        id_ = self._actions.id_of(message.key, ERRORS)
        action = "back" if id_ == "esc" else _ACTIONS.get(id_)
        if action is not None:
            await self.run_action(action)
