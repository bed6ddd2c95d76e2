"""One host as one widget: all its GPU lines by the Line API, no widget per GPU."""

from __future__ import annotations

from textual import events
from textual.message import Message

from gpudash.ui.paint.hostpane import HostPane as Painter
from gpudash.ui.paint.view import HostView
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.rows import Rows


class HostPane(Rows):
    """Shows a host; says which GPU was clicked."""

    class GpuClicked(Message):
        """A GPU row was clicked."""

        def __init__(self, host: str, position: int | None) -> None:
            super().__init__()
            self.host = host
            self.position = position

    def __init__(self, host: str, ink: Ink) -> None:
        super().__init__(ink)
        self.host = host
        self._painter: Painter | None = None

    @property
    def is_painted(self) -> bool:
        """Tell whether it was ever shown."""
        return self._painter is not None

    def show_view(self, view: HostView, width: int) -> None:
        """Show a host as it is now."""
        self._painter = Painter(view, width)
        self.show(self._painter.rows(), width)

    def rows_of(self, position: int) -> range:
        """Return the rows of a GPU within this widget; empty before the first paint."""
        if self._painter is None or position >= len(self._painter.view.host.gpus):
            return range(0)
        return self._painter.rows_of(position)

    def on_click(self, event: events.Click) -> None:
        """Tell which GPU was clicked."""
        position = self._painter.gpu_at(event.y) if self._painter else None
        self.post_message(self.GpuClicked(self.host, position))
