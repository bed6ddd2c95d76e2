"""A widget that shows painted rows and repaints only those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpudash.ui.paint.spans import Row
from gpudash.ui.strips import Ink


class Rows(Widget):
    """Shows rows by the Line API; `show` compares them with what is on the screen."""

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, ink: Ink, *, id: str | None = None, blank: str = "text") -> None:
        """`blank`: style key of what no row covers."""
        super().__init__(id=id)
        self._blank = blank
        self._ink = ink
        self._rows: tuple[Row, ...] = ()
        self._width = 0

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return what is shown."""
        return self._rows

    def set_ink(self, ink: Ink) -> None:
        """Draw in another theme's colours."""
        self._ink = ink
        self.refresh()

    def show(self, rows: Sequence[Row], width: int) -> None:
        """Show these rows, each exactly `width` cells wide."""
        new = tuple(rows)
        old, self._rows = self._rows, new
        if width != self._width or len(old) != len(new):
            self._width = width
            self.refresh()
            return
        changed = [y for y, row in enumerate(new) if row != old[y]]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def render_line(self, y: int) -> Strip:
        """Return one line; below the last row and beside a row that is too narrow it is blank."""
        width = self.size.width
        row = self._rows[y] if y < len(self._rows) else ()
        if not row:
            return Strip.blank(width, self._ink.style(self._blank))
        strip = self._ink.strip(row, self._width)
        if width == self._width:
            return strip
        return strip.adjust_cell_length(width, self._ink.style(self._blank))
