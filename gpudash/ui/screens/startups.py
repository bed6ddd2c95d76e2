"""`s`: start-ups, one of them or the list; it shows a view and asks the app for everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from gpudash.core.action import STARTUPS
from gpudash.ui.actions import Actions
from gpudash.ui.bindings import bound
from gpudash.ui.paint.startupframe import frame_rows
from gpudash.ui.paint.startupview import StartupsView
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.keyed import KeyedRows

_ACTIONS = {
    "log.open": "app.log",
    "cleanup.start": "app.startup_clean",
    "text.copy": "app.startup_copy",
    "startup.next": "app.startup_next(1)",
    "startup.previous": "app.startup_next(-1)",
    "startup.open": "app.startup_open",
    "startups.open": "app.startup_back",
    "cursor.up": "app.startup_move(-1)",
    "cursor.down": "app.startup_move(1)",
    "view.theme": "app.next_theme",
    "errors.open": "app.errors",
    "app.help": "app.help",
    "app.quit": "app.quit",
}
"""What each action does here."""


class StartupsScreen(Screen[None]):
    """Shows a StartupsView; keeps nothing but its rows."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.startup_back", "back"),
        *(bound(id_, action) for id_, action in _ACTIONS.items()),
    ]

    def __init__(self, ink: Ink, actions: Actions, repaint: Callable[[], None]) -> None:
        """`repaint` is called when the screen needs a view."""
        super().__init__(id="startups")
        self._rows = KeyedRows(ink, id="startup-rows")
        self._actions = actions
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
        id_ = self._actions.id_of(message.key, STARTUPS)
        action = "app.startup_back" if id_ == "esc" else _ACTIONS.get(id_)
        if action is not None:
            await self.run_action(action)
