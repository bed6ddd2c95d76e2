"""`s`: start-ups, one of them or the list; it shows a view and asks the app for everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from gpudash.ui.paint.startupframe import frame_rows
from gpudash.ui.paint.startupview import StartupsView
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.keyed import KeyedRows

_ACTIONS = {
    "L": "app.log",
    "c": "app.startup_clean",
    "y": "app.startup_copy",
    "tab": "app.startup_next(1)",
    "enter": "app.startup_open",
    "esc": "app.startup_back",
    "t": "app.next_theme",
    "?": "app.help",
    "q": "app.quit",
}


class StartupsScreen(Screen[None]):
    """Shows a StartupsView; keeps nothing but its rows."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,s", "app.startup_back", "back"),
        Binding("up,k", "app.startup_move(-1)", "up"),
        Binding("down,j", "app.startup_move(1)", "down"),
        Binding("enter", "app.startup_open", "open"),
        Binding("tab", "app.startup_next(1)", "next"),
        Binding("shift+tab", "app.startup_next(-1)", "before"),
        Binding("L", "app.log", "log"),
        Binding("y", "app.startup_copy", "copy"),
        Binding("c", "app.startup_clean", "clean"),
        Binding("e", "app.errors", "errors"),
        Binding("t", "app.next_theme", "theme"),
        Binding("question_mark", "app.help", "help"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, ink: Ink, repaint: Callable[[], None]) -> None:
        """`repaint` is called when the screen needs a view."""
        super().__init__(id="startups")
        self._rows = KeyedRows(ink, id="startup-rows")
        self._repaint = repaint

    def compose(self) -> ComposeResult:
        """Mount the rows."""
        yield self._rows

    def on_mount(self) -> None:
        """Ask for the first view before anything is drawn."""
        self._repaint()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw at the new size."""
        self._repaint()

    def set_ink(self, ink: Ink) -> None:
        """Draw in another theme's colours."""
        self._rows.set_ink(ink)

    def show(self, view: StartupsView, size: Size) -> None:
        """Show this."""
        width, height = size
        if width < 1 or height < 1 or not self._rows.is_attached:
            return
        self._rows.styles.height = height
        self._rows.show(frame_rows(view, width, height), width)

    async def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does."""
        message.stop()
        action = _ACTIONS.get(message.key)
        if action is not None:
            await self.run_action(action)
