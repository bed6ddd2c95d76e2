"""The main screen: header, banner, hosts, holders, what happened, footer."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from gpudash.ui.paint.cell import CellPane
from gpudash.ui.paint.frame import FrameView, Parts, compose
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.view import Density
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.hostpane import HostPane
from gpudash.ui.widgets.keyed import KeyedRows
from gpudash.ui.widgets.rows import Rows


class DashboardScreen(Screen[None]):
    """Shows a FrameView; keeps nothing but its widgets."""

    def __init__(self, ink: Ink) -> None:
        super().__init__(id="dashboard")
        self._ink = ink
        self._header = Rows(ink, id="header")
        self._banner = KeyedRows(ink, id="banner")
        self._hosts = VerticalScroll(id="hosts", can_focus=False)
        self._welcome = Rows(ink, id="welcome")
        self._holders = Rows(ink, id="holders")
        self._events = Rows(ink, id="events")
        self._footer = KeyedRows(ink, id="footer")
        self._cells = Rows(ink, id="cells")
        self._panes: dict[str, HostPane] = {}
        self._heights: dict[Widget, int] = {}
        self.shown_density = Density.LINE
        self.word = ""

    def compose(self) -> ComposeResult:
        """Mount the parts; their heights come with the first view."""
        yield self._header
        yield self._banner
        with self._hosts:
            yield self._cells
        yield self._welcome
        yield self._holders
        yield self._events
        yield Rows(self._ink, id="gap")
        yield self._footer

    def set_ink(self, ink: Ink) -> None:
        """Draw everything in another theme's colours."""
        self._ink = ink
        for rows in self.query(Rows):
            rows.set_ink(ink)

    def show(self, view: FrameView) -> None:
        """Show all of a view; hosts that are not in sight are not painted."""
        width, height = self.size
        if width < 1 or height < 1:
            return
        parts = compose(view, width, height)
        self.shown_density = parts.layout.density
        self.word = parts.word
        for widget, rows in (
            (self._header, parts.header),
            (self._banner, parts.banner),
            (self._welcome, parts.welcome),
            (self._holders, parts.holders),
            (self._events, parts.events),
            (self._footer, parts.footer),
        ):
            self._set_height(widget, len(rows))
            widget.show(rows, width)
        self._show_hosts(parts, width)

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
        self._show_cells(parts, width if is_cells else 0)
        self._mount_panes([] if is_cells else [view.host.name for view in parts.views])
        if is_cells:
            return
        top = 0
        for view, height in zip(parts.views, layout.panes, strict=False):
            pane = self._panes[view.host.name]
            self._set_height(pane, height)
            if self._is_in_sight(top, height, viewport) or not pane.is_painted:
                pane.show_view(view, width)
            top += height

    def _is_in_sight(self, top: int, height: int, viewport: int) -> bool:
        scroll = int(self._hosts.scroll_y)
        return top < scroll + viewport and top + height > scroll

    def _show_cells(self, parts: Parts, width: int) -> None:
        rows: tuple[Row, ...] = ()
        if width:
            rows = tuple(CellPane(parts.views, width, parts.views[0].glyphs).rows())
        self._set_height(self._cells, len(rows))
        self._cells.show(rows, width)

    def _mount_panes(self, names: list[str]) -> None:
        for name in [name for name in self._panes if name not in names]:
            pane = self._panes.pop(name)
            self._heights.pop(pane, None)
            pane.remove()
        for name in names:
            if name not in self._panes:
                self._panes[name] = HostPane(name, self._ink)
                self._hosts.mount(self._panes[name])

    def keep_in_sight(self, host: str | None, position: int) -> None:
        """Scroll so that a GPU's rows are seen, and its pane's title where it is the first."""
        pane = self._panes.get(host or "")
        if pane is None:
            return
        rows = pane.rows_of(position)
        if not len(rows):
            return
        start = 0 if position == 0 else rows.start
        top = pane.virtual_region.y + start
        region = Region(0, top, self.size.width, rows.stop - start + 1)
        self._hosts.scroll_to_region(region, animate=False)
