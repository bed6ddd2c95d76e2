"""The app: an assembly of monitor, scene and screens; it routes keys and ticks, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType

from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.ui.actions import ACTIONS
from gpudash.ui.paint.frame import is_nothing_to_watch
from gpudash.ui.scene import Scene
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.screens.errors import ErrorsScreen
from gpudash.ui.screens.help import HelpScreen
from gpudash.ui.strips import Ink
from gpudash.ui.theme import Theme
from gpudash.ui.theming import textual_theme
from gpudash.ui.widgets.hostpane import HostPane
from gpudash.ui.widgets.keyed import KeyedRows

TICK_S = 0.25
"""Arriving samples only mark hosts; this often the screen looks whether any did."""
REPAINT_S = 1.0
"""Without news the screen is repainted this often, for clocks and ages."""


class GpudashApp(App[None]):
    """The dashboard."""

    CSS_PATH = "app.tcss"
    TITLE = "gpudash"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(one.keys, one.action, one.label, id=one.id, tooltip=one.help, priority=False)
        for one in ACTIONS
    ]

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        scene: Scene,
        themes: Sequence[Theme],
        *,
        demo: Callable[[], FleetMonitor] | None = None,
    ) -> None:
        """`themes`: the first is shown. `demo` makes the fleet that the first screen opens."""
        super().__init__()
        self._monitor = monitor
        self._clock = clock
        self._scene = scene
        self._themes = tuple(themes)
        self._make_demo = demo
        self._seen = -1
        self._painted_s = float("-inf")
        self._dashboard = DashboardScreen(Ink(self._themes[0]))
        for theme in self._themes:
            self.register_theme(textual_theme(theme))
        self.theme = self._themes[0].name

    def get_default_screen(self) -> DashboardScreen:
        """Return the dashboard: it is what the app begins with."""
        return self._dashboard

    def on_mount(self) -> None:
        """Paint first, connect after."""
        self.set_interval(TICK_S, self._tick)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self.repaint()
        self._monitor.start()

    async def on_unmount(self) -> None:
        """Leave no probe behind."""
        await self._monitor.stop()

    def on_resize(self, _event: events.Resize) -> None:
        """Divide the screen anew."""
        self.call_after_refresh(self.repaint)

    def _tick(self) -> None:
        is_due = self._clock.now() - self._painted_s >= REPAINT_S
        if self._monitor.version != self._seen or is_due:
            self.repaint()

    def repaint(self) -> None:
        """Show what is known now."""
        self._seen = self._monitor.version
        self._painted_s = self._clock.now()
        self._dashboard.show(self._scene.view(self._monitor))
        self._scene.stands(self._dashboard.word)

    # -- actions -----------------------------------------------------------------------------

    def action_cursor_move(self, step: int) -> None:
        """Move the cursor by GPUs."""
        self._scene.move(self._monitor.fleet, step)
        self._show_cursor()

    def action_host_move(self, step: int) -> None:
        """Move the cursor by hosts."""
        self._scene.move_host(self._monitor.fleet, step)
        self._show_cursor()

    def _show_cursor(self) -> None:
        self.repaint()
        self._dashboard.keep_in_sight(self._scene.focus, self._scene.cursor)

    def action_density(self) -> None:
        """Show the next density; on the first screen `d` opens the demo."""
        if is_nothing_to_watch(self._monitor.fleet):
            self.run_worker(self._open_demo(), exclusive=True)
            return
        self._scene.next_density(self._dashboard.shown_density)
        self.repaint()

    async def _open_demo(self) -> None:
        if self._make_demo is None:
            return
        await self._monitor.stop()
        self._monitor = self._make_demo()
        self._monitor.start()
        self.repaint()

    def action_next_theme(self) -> None:
        """Show the next theme."""
        names = [theme.name for theme in self._themes]
        theme = self._themes[(names.index(self.theme) + 1) % len(names)]
        self.theme = theme.name
        self._dashboard.set_ink(Ink(theme))
        self.notify(theme.name, timeout=1.5)

    def action_pause(self) -> None:
        """Pause the host under the cursor, or go on with it."""
        host = self._scene.focus
        if host is None:
            return
        if self._monitor.paused_for(host) is None:
            self._monitor.pause(host)
        else:
            self._monitor.resume(host)
        self.repaint()

    def action_reconnect(self) -> None:
        """Try the host under the cursor again now."""
        if self._scene.focus is not None:
            self._monitor.reconnect(self._scene.focus)

    def action_errors(self) -> None:
        """Show everything that went wrong."""
        self.push_screen(ErrorsScreen(self._monitor.fleet, self._clock))

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen())

    # -- the mouse ---------------------------------------------------------------------------

    def on_host_pane_gpu_clicked(self, message: HostPane.GpuClicked) -> None:
        """Move the cursor to where the click was."""
        self._scene.focus = message.host
        self._scene.cursor = message.position or 0
        self._show_cursor()

    async def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does."""
        for entry in ACTIONS:
            if entry.shown == message.key:
                await self.run_action(entry.action)
                return
