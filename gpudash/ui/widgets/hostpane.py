"""One host as one widget: all its GPU lines by the Line API, no widget per GPU."""

from __future__ import annotations

from textual import events

from gpudash.ui.paint.hostpane import HostPane as Painter
from gpudash.ui.paint.view import HostView
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.pointed import GpuPointed
from gpudash.ui.widgets.rows import Rows


class HostPane(Rows):
    """Shows a host; says which GPU was clicked."""

    def __init__(self, host: str, ink: Ink) -> None:
        super().__init__(ink)
        self.host = host
        self._painter: Painter | None = None

    def show_view(self, view: HostView, width: int, *, is_in_sight: bool) -> None:
        """Show a host as it is now; out of sight it is only kept, and nothing is painted."""
        self._painter = Painter(view, width)
        if is_in_sight:
            self.show(self._painter.rows(), width)

    def rows_of(self, position: int) -> range:
        """Return the rows of a GPU within this widget; empty before the first view."""
        if self._painter is None or position >= len(self._painter.view.host.gpus):
            return range(0)
        return self._painter.rows_of(position)

    def on_click(self, event: events.Click) -> None:
        """Tell which GPU was clicked; a border stands for the first."""
        position = self._painter.gpu_at(event.y) if self._painter else None
        self.post_message(GpuPointed(self.host, position or 0))
