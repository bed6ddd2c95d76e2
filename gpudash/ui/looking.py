"""The part of the app that looks: where the cursor is, what is marked, how it is drawn."""

from __future__ import annotations

from functools import partial

from textual.command import CommandPalette

from gpudash.ui.acting import ActingApp
from gpudash.ui.paint.view import Density
from gpudash.ui.palette import Command, action_command, command_palette
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.strips import Ink
from gpudash.ui.theme import Theme


class LookingApp(ActingApp):
    """Moves over what is shown, and changes how it is."""

    _dashboard: DashboardScreen
    _themes: list[Theme]

    def action_cursor_move(self, step: int) -> None:
        """Move the cursor by GPUs; by hosts where each is one row."""
        by_host = self._dashboard.shown_density is Density.CELL
        self._scene.move(self._monitor.fleet, step, by_host=by_host)
        self._show_cursor()

    def action_host_move(self, step: int) -> None:
        """Move the cursor by hosts."""
        self._scene.move_host(self._monitor.fleet, step)
        self._show_cursor()

    def _show_cursor(self) -> None:
        self.repaint()
        self._dashboard.keep_in_sight(self._scene.focus, self._scene.cursor)

    def action_mark(self) -> None:
        """Mark the GPU under the cursor, a whole host where each is one row."""
        by_host = self._dashboard.shown_density is Density.CELL
        self._scene.toggle_mark(self._monitor.fleet, by_host=by_host)
        self.repaint()

    def action_mark_all(self) -> None:
        """Mark everything, or nothing."""
        self._scene.toggle_all(self._monitor.fleet)
        self.repaint()

    def action_next_theme(self) -> None:
        """Show the next theme."""
        names = [theme.name for theme in self._themes]
        self._show_theme(self._themes[(names.index(self.theme) + 1) % len(names)])

    def _show_theme(self, theme: Theme) -> None:
        self.theme = theme.name
        self._ink = Ink(theme, self._ink.depth)
        self._dashboard.set_ink(self._ink)
        self.notify(theme.name, timeout=1.5, markup=False)

    def action_palette(self) -> None:
        """Search what there is to do."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(command_palette(self._commands))

    def _commands(self) -> tuple[Command, ...]:
        fleet = self._monitor.fleet
        situation = self._scene.situation(fleet, is_cleaning=self._cleanups.is_running)
        actions = self._scene.actions.available(situation)
        return (
            *(action_command(one, partial(self.run_action, one.action)) for one in actions),
            *(
                Command(f"theme {theme.name}", "Show this theme.", partial(self._show_theme, theme))
                for theme in self._themes
            ),
        )
