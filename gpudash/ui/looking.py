"""The part of the app that looks: where the cursor is, what is marked, how it is drawn."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from textual import events
from textual.app import App

from gpudash.config.folders import state_folder
from gpudash.core.names import printable_lines
from gpudash.core.query.language import Query, parse
from gpudash.services.recorder import utc_now
from gpudash.ui.acting import ActingApp
from gpudash.ui.giving import copy_out, save_out
from gpudash.ui.paint.frame import is_nothing_to_watch
from gpudash.ui.paint.spans import as_ascii
from gpudash.ui.paint.view import Density
from gpudash.ui.palette import Command, PaletteScreen, action_command
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.screens.filter import FilterScreen
from gpudash.ui.strips import Ink
from gpudash.ui.theme import Theme

_FILTERS = ("state=leftover", "state=held", "state=zero", "state!=zero", "user=me", "mem>50%")
"""What the palette offers."""


class LookingApp(ActingApp):
    """Moves over what is shown, and changes how it is."""

    _dashboard: DashboardScreen
    _themes: list[Theme]
    theme_faults: tuple[str, ...] = ()
    """What is wrong with theme files that were left out."""

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

    def action_next_problem(self) -> None:
        """Move the cursor to the next thing that is wrong."""
        if not self._scene.next_problem(self._monitor.fleet):
            self.notify("nothing is wrong on what is shown", timeout=3, markup=False)
        self._show_cursor()

    def action_mark(self) -> None:
        """Mark the GPU under the cursor, a whole host where each is one row."""
        by_host = self._dashboard.shown_density is Density.CELL
        self._scene.toggle_mark(self._monitor.fleet, by_host=by_host)
        self.repaint()

    def action_mark_all(self) -> None:
        """Mark everything, or nothing."""
        self._scene.toggle_all(self._monitor.fleet)
        self.repaint()

    def tell_faults(self, faults: tuple[str, ...]) -> None:
        """Say in one toast which themes were left out, and why."""
        if faults:
            lines = (*faults[:4], *([f"and {len(faults) - 4} more"] if faults[4:] else []))
            self.notify(
                "\n".join(map(printable_lines, lines)),
                title="themes left out",
                severity="warning",
                markup=False,
            )

    def action_filter(self) -> None:
        """Ask for a filter."""
        if not is_nothing_to_watch(self._monitor.fleet):
            scene = self._scene
            self.push_screen(FilterScreen(self._ink, scene.glyphs, scene.filter, self._show_filter))

    def on_key(self, event: events.Key) -> None:
        """Give the prompt what was typed before it was there; else it would be nobody's."""
        if isinstance(self.screen, FilterScreen):
            self.screen.take(event)

    def _show_filter(self, text: str, query: Query) -> str:
        """Show what a filter finds; return how much that is."""
        self._scene.set_filter(self._monitor.fleet, text, query)
        self._show_cursor()
        return f"{self._scene.chosen.counted(self._monitor.fleet)} match"

    def _filter_by(self, text: str) -> None:
        self._show_filter(text, parse(text)[0])

    def action_show_all(self) -> None:
        """Hide nothing any more."""
        self._filter_by("")

    def action_sort(self) -> None:
        """Sort hosts by the next thing."""
        if len(self._monitor.fleet.hosts) > 1:
            self._scene.next_sort(self._monitor.fleet)
            self._show_cursor()

    def action_next_theme(self) -> None:
        """Show the next theme."""
        names = [theme.name for theme in self._themes]
        theme = self._themes[(names.index(self.theme) + 1) % len(names)]
        self._show_theme(theme)
        self.notify(theme.name, timeout=1.5, markup=False)

    def _show_theme(self, theme: Theme) -> None:
        if self.theme == theme.name:
            # The same name in other colours: only told so does Textual look again.
            self.mutate_reactive(App.theme)
        self.theme = theme.name
        self._ink = Ink(theme, self._ink.depth)
        self._dashboard.set_ink(self._ink)

    # -- for other eyes ----------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy the GPU under the cursor, or what is marked."""
        text = self._scene.told_text(self._monitor.fleet)
        if text:
            self.run_worker(copy_out(self, text))
        else:
            self.notify("there is no GPU to copy", markup=False)

    def action_export_picture(self) -> None:
        """Save a picture of the screen."""
        svg = self.export_screenshot(title="gpudash")
        self.run_worker(save_out(self, self.export_folder(), ".svg", svg))

    def action_export_data(self) -> None:
        """Save what is shown as JSON."""
        found = self._scene.document(self._monitor.fleet, utc_now())
        text = json.dumps(found, ensure_ascii=False, indent=2) + "\n"
        self.run_worker(save_out(self, self.export_folder(), ".json", text))

    def export_folder(self) -> Path:
        """Return where exports go."""
        return Path(state_folder(), "exports")

    def action_palette(self) -> None:
        """Search what there is to do."""
        if not isinstance(self.screen, PaletteScreen):
            self.push_screen(PaletteScreen(self._commands))

    def _commands(self) -> tuple[Command, ...]:
        fleet = self._monitor.fleet
        situation = self._scene.situation(fleet, is_cleaning=self._cleanups.is_running)
        actions = self._scene.actions.available(situation)
        found = (
            *(action_command(one, partial(self.run_action, one.action)) for one in actions),
            *(
                Command(f"filter {text}", "Show only what matches.", partial(self._filter_by, text))
                for text in _FILTERS
                if fleet.hosts
            ),
            *(
                Command(f"theme {theme.name}", "Show this theme.", partial(self._show_theme, theme))
                for theme in self._themes
            ),
        )
        if not self._scene.glyphs.is_ascii:
            return found
        return tuple(one._replace(title=as_ascii(one.title)) for one in found)
