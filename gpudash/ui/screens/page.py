"""A dialog that holds one scrolling page; on a small terminal it takes the whole screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen

from gpudash.ui.bindings import bound
from gpudash.ui.paint.spans import as_ascii

_SMALL_BELOW = (60, 14)
"""Columns and rows: below, no screen is left to see behind a dialog."""


SIMULATED = "SIMULATED"


class Page(VerticalScroll, can_focus=False):
    """What scrolls inside the dialog."""

    def __init__(self, *children: object) -> None:
        super().__init__(*children, id="page")  # type: ignore[arg-type]


class PageScreen(ModalScreen[None]):
    """A bordered dialog over the screen before; its content is laid out anew at each size."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("cursor.up", "scroll_page(-1)"),
        bound("cursor.down", "scroll_page(1)"),
        bound("cursor.page_up", "scroll_page(-10)"),
        bound("cursor.page_down", "scroll_page(10)"),
        bound("cursor.first", "scroll_page(-99999)"),
        bound("cursor.last", "scroll_page(99999)"),
        Binding("space", "scroll_page(10)", "page down", show=False),
    ]

    def __init__(self, title: str, subtitle: str, *, is_simulated: bool = False) -> None:
        """`is_simulated`: a dialog hides the header, and the mark with it."""
        super().__init__()
        self._dialog = Vertical(classes="dialog")
        self._dialog.border_title = f"{title} · {SIMULATED}" if is_simulated else title
        self._dialog.border_subtitle = subtitle

    def compose(self) -> ComposeResult:
        """Mount the dialog."""
        with self._dialog:
            yield from self.compose_page()

    def compose_page(self) -> ComposeResult:
        """Yield what the dialog holds: one empty page, where a screen does not say more."""
        yield Page()

    def lay_out(self, width: int) -> None:
        """Fill the page, which has so many columns."""

    def on_mount(self) -> None:
        """Lay out before anything is drawn."""
        if self.app.has_class("-ascii"):
            title, subtitle = self._dialog.border_title, self._dialog.border_subtitle
            self._dialog.border_title = as_ascii(title or "")
            self._dialog.border_subtitle = as_ascii(subtitle or "")
        self._fit(self.app.size.width, self.app.size.height)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out at the new size."""
        self._fit(event.size.width, event.size.height)

    def _fit(self, width: int, height: int) -> None:
        is_small = width < _SMALL_BELOW[0] or height < _SMALL_BELOW[1]
        self._dialog.set_class(is_small, "-small")
        outer = width if is_small else min(104, int(width * 0.96))
        # Two columns of border; one that a scrollbar may take.
        self.lay_out(max(1, outer - 3))

    def action_scroll_page(self, step: int) -> None:
        """Scroll by lines."""
        for page in self.query(Page):
            page.scroll_relative(y=step, animate=False)
