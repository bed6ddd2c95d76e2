"""All hosts as one widget, a row each; only rows in sight are painted."""

from __future__ import annotations

from textual import events

from gpudash.ui.paint.cell import CellPane
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.view import HostView
from gpudash.ui.widgets.pointed import GpuPointed
from gpudash.ui.widgets.rows import Rows

_TITLE_ROWS = 2


class HostCells(Rows):
    """Shows the heat map; says which host was clicked."""

    _names: tuple[str, ...] = ()

    def show_views(self, views: tuple[HostView, ...], width: int, in_sight: range) -> None:
        """Show all hosts; rows out of sight stay blank until they are scrolled to."""
        self._names = tuple(view.host.name for view in views)
        if not views:
            self.show((), width)
            return
        pane = CellPane(views, width, views[0].glyphs)
        rows: list[Row] = [pane.row(y) if y in in_sight else () for y in range(pane.height)]
        self.show(rows, width)

    def row_of(self, host: str) -> int | None:
        """Return the row of a host."""
        return self._names.index(host) + _TITLE_ROWS if host in self._names else None

    def on_click(self, event: events.Click) -> None:
        """Tell which host was clicked."""
        at = event.y - _TITLE_ROWS
        if 0 <= at < len(self._names):
            self.post_message(GpuPointed(self._names[at], 0))
