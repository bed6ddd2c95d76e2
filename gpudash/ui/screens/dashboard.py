"""The main screen: header and banner, hosts, then holders, what happened and the footer.

Three widgets and one for each host: what changes together is one widget, because each one that
changes costs a round through the message pump and the compositor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widget import Widget

from gpudash.ui.bindings import dashboard_bindings
from gpudash.ui.paint.frame import FrameView, Parts, compose
from gpudash.ui.paint.spans import Row, finished
from gpudash.ui.paint.tally import Ledger
from gpudash.ui.paint.view import Density
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.cells import HostCells
from gpudash.ui.widgets.hostpane import HostPane
from gpudash.ui.widgets.keyed import KeyedRows
from gpudash.ui.widgets.rows import Rows


class DashboardScreen(Screen[None]):
    """Shows a FrameView; keeps nothing but its widgets."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = dashboard_bindings()

    def __init__(self, ink: Ink, repaint: Callable[[], None]) -> None:
        """`repaint` is called when the screen needs a view: at first, and after scrolling."""
        super().__init__(id="dashboard")
        self._ink = ink
        self._repaint = repaint
        self._head = KeyedRows(ink, id="head")
        self._hosts = VerticalScroll(id="hosts", can_focus=False)
        self._cells = HostCells(ink, id="cells")
        self._foot = KeyedRows(ink, id="foot")
        self._panes: dict[str, HostPane] = {}
        self._heights: dict[Widget, int] = {}
        self.shown_density = Density.LINE
        self.word = ""

    def compose(self) -> ComposeResult:
        """Mount the parts; their heights come with the first view."""
        yield self._head
        with self._hosts:
            yield self._cells
        yield self._foot

    def on_mount(self) -> None:
        """Ask for the first view before anything is drawn, and for one after scrolling."""
        self._repaint()
        self.watch(self._hosts, "scroll_y", self._on_scrolled, init=False)

    def _on_scrolled(self) -> None:
        self._repaint()

    def set_ink(self, ink: Ink) -> None:
        """Draw everything in another theme's colours."""
        self._ink = ink
        for rows in self.query(Rows):
            rows.set_ink(ink)

    def show(self, view: FrameView, size: Size, ledger: Ledger) -> None:
        """Show all of a view; hosts that are not in sight are not painted."""
        width, height = size
        if width < 1 or height < 1:
            return
        parts = compose(view, width, height, ledger)
        self.shown_density = parts.layout.density
        self.word = parts.word
        head = (*parts.header, *parts.banner)[:height]
        self._set_height(self._head, len(head))
        self._head.show(head, width)
        self._show_hosts(parts, width)
        below = height - len(head) - self._heights[self._hosts]
        self._set_height(self._foot, below)
        self._foot.show(_foot_rows(parts, width, below, view), width)

    def _set_height(self, widget: Widget, height: int) -> None:
        if self._heights.get(widget) != height:
            self._heights[widget] = height
            widget.styles.height = height

    def _show_hosts(self, parts: Parts, width: int) -> None:
        layout = parts.layout
        viewport = layout.hosts if parts.views else 0
        self._set_height(self._hosts, viewport)
        is_cells = layout.density is Density.CELL and bool(parts.views)
        if sum(layout.panes) > viewport and viewport:
            width -= 1
        top = int(self._hosts.scroll_y)
        in_sight = range(top, top + viewport)
        self._set_height(self._cells, layout.panes[0] if is_cells else 0)
        self._cells.show_views(parts.views if is_cells else (), width, in_sight)
        self._mount_panes([] if is_cells else [view.host.name for view in parts.views])
        if not is_cells:
            self._show_panes(parts, width, in_sight)

    def _show_panes(self, parts: Parts, width: int, in_sight: range) -> None:
        top = 0
        for view, height in zip(parts.views, parts.layout.panes, strict=False):
            pane = self._panes[view.host.name]
            self._set_height(pane, height)
            is_in_sight = top < in_sight.stop and top + height > in_sight.start
            pane.show_view(view, width, is_in_sight=is_in_sight)
            top += height

    def _mount_panes(self, names: list[str]) -> None:
        for name in [name for name in self._panes if name not in names]:
            pane = self._panes.pop(name)
            self._heights.pop(pane, None)
            pane.remove()
        new = [name for name in names if name not in self._panes]
        self._panes |= {name: HostPane(name, self._ink) for name in new}
        if new:
            self._hosts.mount_all([self._panes[name] for name in new])
        if [*self._panes] != names:
            self._panes = {name: self._panes[name] for name in names}
            before: Widget = self._cells
            for pane in self._panes.values():
                self._hosts.move_child(pane, after=before)
                before = pane

    def keep_in_sight(self, host: str | None, position: int) -> None:
        """Scroll so that a GPU's rows are seen, and its pane's title where it is the first."""
        region = self._place_of(host or "", position)
        if region is not None:
            self._hosts.scroll_to_region(region, animate=False)

    def _place_of(self, host: str, position: int) -> Region | None:
        width = self.size.width
        row = self._cells.row_of(host)
        if row is not None:
            # The first row brings the head of the table with it, the last one its border.
            start = 0 if row == 2 else row
            return Region(0, start, width, row - start + 2)
        top = 0
        for name, pane in self._panes.items():
            if name == host:
                rows = pane.rows_of(position)
                start = 0 if position == 0 else rows.start
                return Region(0, top + start, width, max(rows.stop - start, 1) + 1)
            top += self._heights.get(pane, 0)
        return None


def _foot_rows(parts: Parts, width: int, height: int, view: FrameView) -> tuple[Row, ...]:
    """Return what stands below the hosts: the footer at the bottom, blank what is left over."""
    rows = (*parts.welcome, *parts.holders, *parts.events)
    room = max(0, height - len(parts.footer))
    blank = finished((), width, view.glyphs)
    return (*(*rows, *[blank] * max(0, room - len(rows)))[:room], *parts.footer)[:height]
