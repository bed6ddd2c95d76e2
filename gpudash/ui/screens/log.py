"""`L`: the whole log of a start-up, bounded: search, one rank, follow, the line of the cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from gpudash.core.action import LOG
from gpudash.core.startup.logbook import ranks_in
from gpudash.ui.actions import Actions
from gpudash.ui.bindings import bound
from gpudash.ui.paint.logpage import (
    KEYS,
    LogPage,
    clamped,
    log_page_rows,
    moved,
    page_room,
    searched,
    shown_lines,
    to_cause,
)
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.keyed import KeyedRows

MOST_COPIED = 5_000
"""Lines; more than that is no excerpt."""
_COLUMNS = 16
_LONGEST_WORDS = 120
_ACTIONS = {
    "log.open": "back",
    "cursor.up": "scroll(-1)",
    "cursor.down": "scroll(1)",
    "cursor.page_up": "page(-1)",
    "cursor.page_down": "page(1)",
    "cursor.first": "scroll(-10000000)",
    "cursor.last": "follow",
    "log.follow": "follow",
    "log.search": "search",
    "log.next": "find(1)",
    "log.previous": "find(-1)",
    "log.rank": "rank(1)",
    "log.rank_previous": "rank(-1)",
    "log.cause": "cause",
    "text.copy": "copy",
    "view.theme": "app.next_theme",
    "app.quit": "app.quit",
}
"""What each action does here."""


class LogScreen(Screen[None]):
    """Shows a log that goes on while it is read; where it stands is its own."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back"),
        Binding("space", "page(1)", "page down"),
        Binding("left,h", "columns(-1)", "left"),
        Binding("right,l", "columns(1)", "right"),
        *(bound(id_, action) for id_, action in _ACTIONS.items()),
    ]

    def __init__(
        self,
        ink: Ink,
        actions: Actions,
        repaint: Callable[[], None],
        copy: Callable[[str], None],
        *,
        at_cause: bool = False,
    ) -> None:
        """`repaint` is called when the screen needs lines, `copy` gets text to copy.

        `at_cause`: begin at the line that says why it failed, where there is one.
        """
        super().__init__(id="log")
        self._rows = KeyedRows(ink, id="log-rows")
        self._actions = actions
        self._repaint = repaint
        self._copy = copy
        self._page = LogPage("")
        self._before = ""
        self._at_cause = at_cause

    @property
    def page(self) -> LogPage:
        """Return what is shown."""
        return self._page

    def compose(self) -> ComposeResult:
        """Mount the rows."""
        yield self._rows

    def on_mount(self) -> None:
        """Ask for the first lines before anything is drawn."""
        self._repaint()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw at the new size."""
        self._repaint()

    def set_ink(self, ink: Ink) -> None:
        """Draw in another theme's colours."""
        self._rows.set_ink(ink)

    def show(self, page: LogPage) -> None:
        """Show the log as it is now; where the reader stands stays."""
        mine = self._page
        gone = page.dropped - mine.dropped
        here = None if mine.here is None else mine.here - gone
        self._page = page._replace(
            keys=self._actions.named(KEYS),
            rank=mine.rank,
            words=mine.words,
            is_typing=mine.is_typing,
            top=max(0, mine.top - gone),
            column=mine.column,
            here=here if here is None or here >= 0 else None,
            follows=mine.follows,
        )
        if self._at_cause and page.cause is not None:
            self._at_cause = False
            self._page = to_cause(self._page, self._room)
        self._draw()

    @property
    def _room(self) -> int:
        return page_room(self.app.size.height)

    def _draw(self) -> None:
        width, height = self.app.size
        if width < 1 or height < 1 or not self._rows.is_attached:
            return
        self._page = clamped(self._page, self._room)
        self._rows.styles.height = height
        self._rows.show(log_page_rows(self._page, width, height), width)

    # -- keys ----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While words are typed, letters are letters."""
        if self._page.is_typing:
            return False
        return super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Take what is typed to search for."""
        if not self._page.is_typing:
            return
        event.stop()
        event.prevent_default()
        page = self._page
        match event.key:
            case "enter":
                self._page = searched(page._replace(is_typing=False), self._room, 0)
            case "escape":
                self._page = page._replace(is_typing=False, words=self._before)
            case "backspace":
                self._page = page._replace(words=page.words[:-1])
            case _ if event.character and event.character.isprintable():
                self._page = page._replace(words=(page.words + event.character)[:_LONGEST_WORDS])
            case _:
                return
        self._draw()

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
        self._page = self._page._replace(is_typing=True, words="")
        self._draw()

    def action_find(self, step: int) -> None:
        """Go to the next place, or the one before."""
        self._page = searched(self._page, self._room, step)
        self._draw()

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self._page = moved(self._page, step, self._room)
        self._draw()

    def action_page(self, step: int) -> None:
        """Scroll by pages."""
        self.action_scroll(step * max(1, self._room - 1))

    def action_columns(self, step: int) -> None:
        """Look further right into long lines."""
        self._page = self._page._replace(column=max(0, self._page.column + step * _COLUMNS))
        self._draw()

    def action_follow(self) -> None:
        """Stay at the end while more comes."""
        self._page = self._page._replace(follows=True, here=None)
        self._draw()

    def action_rank(self, step: int) -> None:
        """Show the lines of the next rank alone; behind the last one, everybody's again."""
        ranks = ("", *ranks_in(self._page.lines))
        now = ranks.index(self._page.rank) if self._page.rank in ranks else 0
        self._page = self._page._replace(rank=ranks[(now + step) % len(ranks)], here=None)
        self._draw()

    def action_cause(self) -> None:
        """Go to the line that says why it failed."""
        self._page = to_cause(self._page, self._room)
        self._draw()

    def action_copy(self) -> None:
        """Copy the lines that are shown by the filter, the newest where they are many."""
        lines = shown_lines(self._page)[-MOST_COPIED:]
        texts = [f"[{line.rank}] {line.text}" if line.rank else line.text for line in lines]
        mark = ["SIMULATED"] if self._page.is_simulated else []
        self._copy("\n".join([*mark, *texts]))

    async def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does."""
        message.stop()
        id_ = self._actions.id_of(message.key, LOG)
        action = "back" if id_ == "esc" else _ACTIONS.get(id_)
        if action is not None:
            await self.run_action(action)
