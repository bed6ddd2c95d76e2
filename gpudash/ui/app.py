"""The app: an assembly of monitor, scene and screens; it routes keys and ticks, nothing else."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import Screen

from gpudash.core.arranging import PATIENCE_S
from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.keymap import changed_keys
from gpudash.services.clock import Clock
from gpudash.services.door import Door
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Recorder
from gpudash.ui.cleanways import CleanWays
from gpudash.ui.detailing import chosen_by
from gpudash.ui.leaving import LastResort, heed_signals
from gpudash.ui.paint.ansi import Depth
from gpudash.ui.paint.frame import is_nothing_to_watch
from gpudash.ui.paint.view import Density
from gpudash.ui.persons import Persons
from gpudash.ui.reloading import ReloadingApp
from gpudash.ui.scene import Scene
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.screens.details import DetailsScreen
from gpudash.ui.screens.help import HelpScreen
from gpudash.ui.strips import Ink
from gpudash.ui.theme import Theme
from gpudash.ui.theming import textual_theme
from gpudash.ui.touring import Guide
from gpudash.ui.widgets.keyed import KeyedRows
from gpudash.ui.widgets.pointed import GpuPointed

if TYPE_CHECKING:
    from gpudash.services.startup.past import Past

TICK_S = 0.25
"""Arriving samples only mark hosts; this often the screen looks whether any did."""
CLEANING_TICK_S = 0.1
REPAINT_S = 1.0
"""Without news the screen is repainted this often, for clocks and ages."""


class GpudashApp(ReloadingApp):
    """The dashboard."""

    guide: Guide | None = None
    """Of the demo's tour."""
    CSS_PATH = "app.tcss"
    TITLE = "gpudash"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        # On every screen and before any widget: nothing may keep the user here.
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
    ]

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        scene: Scene,
        themes: Sequence[Theme],
        *,
        depth: Depth = Depth.TRUE,
        demo: Callable[[], FleetMonitor] | None = None,
        door: Door | None = None,
        driver_class: type[Driver] | None = None,
        last_resort: LastResort | None = None,
        baselines: Baselines = NO_BASELINES,
        recorder: Recorder | None = None,
        clean: CleanWays | None = None,
        past: Callable[[], Past] | None = None,
    ) -> None:
        """`themes`: the first is shown. `demo` makes the fleet that the first screen opens.

        Without `clean` the screen is read-only.
        """
        super().__init__(
            monitor,
            clock,
            scene,
            clean,
            driver_class=driver_class,
            baselines=baselines,
            recorder=recorder,
        )
        self._make_past = past
        self._themes = list(themes)
        self._make_demo = demo
        self._before_demo: FleetMonitor | None = None
        self._persons = Persons(self, door)
        self._last_resort = last_resort
        self._painted_s = float("-inf")
        self._waiting: asyncio.TimerHandle | None = None
        self._ink = Ink(self._themes[0], depth)
        self._dashboard = DashboardScreen(self._ink, self.repaint)
        for theme in self._themes:
            self.register_theme(textual_theme(theme, depth))
        self.theme = self._themes[0].name
        self.animation_level = "none"
        self.set_class(scene.glyphs.is_ascii, "-ascii")
        self.set_keymap(changed_keys(scene.actions.entries))

    def get_default_screen(self) -> DashboardScreen:
        """Return the dashboard: it is what the app begins with."""
        return self._dashboard

    def on_mount(self) -> None:
        """Paint first, connect after."""
        self._heed_signals()
        self._wait()
        self._persons.attend()
        self.tell_faults(self.theme_faults)
        self.keep_up()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        # All that is here stays: the collector need not walk over it again. What comes later are
        # values without cycles, so it need not look for them every 700.
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        self._monitor.start()
        self.watch_on()

    def _heed_signals(self) -> None:
        """Leave in order when asked to from outside: the terminal is restored, probes end."""
        if not self.is_headless:
            heed_signals(asyncio.get_running_loop(), self._leave_by, self._last_resort)

    def _leave_by(self, number: int) -> None:
        self.exit(return_code=128 + number)

    async def on_unmount(self) -> None:
        """Leave no probe behind."""
        if self._waiting is not None:
            self._waiting.cancel()
        self.keep_up_no_more()
        await self.watch_no_more()
        await self._monitor.stop()
        if self._recorder is not None:
            await self._recorder.close()

    def on_resize(self, _event: events.Resize) -> None:
        """Divide the screen anew; the first size comes before there is a screen."""
        if self._dashboard.is_mounted:
            self.repaint()

    def _wait(self) -> None:
        # A bare call of the loop: Textual's own timer costs ten times as much, 4 times a second.
        tick_s = CLEANING_TICK_S if self._cleanups.view() is not None else TICK_S
        self._waiting = asyncio.get_running_loop().call_later(tick_s, self._tick)

    def _tick(self) -> None:
        self._wait()
        is_due = self._clock.now() - self._painted_s >= REPAINT_S or self._cleanups.is_running
        if self._monitor.version != self._seen or is_due:
            self.repaint()

    def repaint(self) -> None:
        """Show what is known now, under a dialog too: what is old must look old."""
        self.heed()
        self._seen = self._monitor.version
        self._painted_s = self._clock.now()
        is_quiet = self._painted_s - self._keys.last_s >= PATIENCE_S
        view = self._scene.view(
            self._monitor,
            self._proof.view(),
            self._cleanups.view(),
            self._cleanups.formers(self._monitor.fleet),
            is_quiet=is_quiet,
        )
        view = self.framed(view)
        self._dashboard.show(view, self.size, self._scene.ledger)
        self._scene.stands(self._dashboard.word)
        self.paint_startups()
        self.paint_events()
        if self.guide is not None:
            place = (self._scene.focus or "", self._scene.cursor)
            self.guide.look(self._dashboard.word, place, self._scene.actions)
        for screen in self.screen_stack:
            if isinstance(screen, DetailsScreen):
                screen.show_now()

    # -- actions -----------------------------------------------------------------------------

    def action_density(self) -> None:
        """Show the next density; on the first screen `d` opens the demo."""
        if is_nothing_to_watch(self._monitor.fleet):
            self.run_worker(self._open_demo(), exclusive=True)
            return
        self._scene.next_density(self._dashboard.shown_density)
        self._show_cursor()

    async def _open_demo(self) -> None:
        if self._make_demo is None:
            return
        before = self._monitor
        await self._watch(self._make_demo())
        self._before_demo = before
        self.notify("esc goes back", timeout=4, markup=False)

    async def _watch(self, monitor: FleetMonitor) -> None:
        await self.act_on(monitor)
        self._scene.stand = None
        monitor.start()
        self.watch_on()
        self.repaint()

    def action_leave_demo(self) -> None:
        """Go back to the first screen, where the demo was opened from it."""
        before, self._before_demo = self._before_demo, None
        if before is not None:
            self.run_worker(self._watch(before), exclusive=True)

    def action_pause(self) -> None:
        """Pause the host under the cursor, or go on with it."""
        host = self._scene.focus
        if host is None or is_nothing_to_watch(self._monitor.fleet):
            return
        if self._monitor.paused_for(host) is None:
            self._monitor.pause(host)
        else:
            self._monitor.resume(host)
        self.repaint()

    def action_reconnect(self) -> None:
        """Try the host under the cursor again now; one that needs a person asks in a dialog."""
        if self._scene.focus is not None:
            host = self._monitor.fleet.host(self._scene.focus)
            self._persons.reconnect(host, self._monitor.reconnect)

    def action_details(self) -> None:
        """Show the GPU under the cursor, or the host where each is one row, in full."""
        if self._shows(DetailsScreen) or self._scene.focus is None:
            return
        by_host = self._dashboard.shown_density is Density.CELL
        chosen = chosen_by(self._scene, self._monitor.fleet, by_host=by_host)
        self.push_screen(
            DetailsScreen(self._monitor, self._clock, self._scene, lambda: self._ink, chosen)
        )

    def action_help(self) -> None:
        """Show all keys."""
        if self._shows(HelpScreen):
            return
        is_simulated = self._monitor.fleet.is_simulated
        self.push_screen(
            HelpScreen(
                self._ink,
                self._scene.glyphs,
                self._scene.actions.offered(is_readonly=self._scene.is_readonly),
                is_simulated=is_simulated,
            )
        )

    def _shows(self, kind: type[Screen[None]]) -> bool:
        """Tell whether a page is open: a key that is held comes again before it is on top."""
        return any(isinstance(screen, kind) for screen in self.screen_stack)

    # -- the mouse ---------------------------------------------------------------------------

    def on_gpu_pointed(self, message: GpuPointed) -> None:
        """Move the cursor to where the click was."""
        self._scene.point_at(message.host, message.position)
        self._show_cursor()

    async def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does."""
        action = self._scene.actions.action_of(message.key, is_readonly=self._scene.is_readonly)
        if action is not None:
            await self.run_action(action)
