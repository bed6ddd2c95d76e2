"""The part of the app that tells by itself: alerts as toasts and by the bell, and the event log."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from gpudash.core.alert_levels import Bounds
from gpudash.core.alert_toasts import MOST_LINES, Toasts, gathered, notification, toast_text
from gpudash.core.alerts import Told
from gpudash.services.alarm import Alarm
from gpudash.services.clipboard import is_in_tmux
from gpudash.services.monitor import FleetMonitor
from gpudash.ui.giving import save_out
from gpudash.ui.paint.frame import FrameView
from gpudash.ui.starting import StartingApp
from gpudash.ui.theme import Theme
from gpudash.ui.voice import Voice, voiced

ERRORS = "errors"
"""Id of the event log's screen."""
_TOAST_S = 10.0
_SMALL_BELOW = (60, 16)
"""Columns and rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertWays:
    """What is told by itself, and how loudly."""

    bounds: Bounds = field(default_factory=Bounds)
    has_bell: bool = True
    has_osc9: bool = False


class AlarmingApp(StartingApp):
    """Keeps the alerts over one monitor, and shows what happened."""

    alert_ways = AlertWays()
    _alarm: Alarm | None = None
    _toasts = Toasts()
    _told: tuple[Told, ...] = ()
    """By one look."""
    _voice: Voice | None = None

    def heed(self) -> None:
        """Look for alerts; tell what is new."""
        if self._alarm is None:
            bounds = self.alert_ways.bounds
            self._alarm = Alarm(self._monitor, self._clock, bounds, self._take_told)
        self._told = ()
        self._alarm.heed()
        self._toasts, told = gathered(self._toasts, self._told, self._clock.now())
        if told:
            self._tell_alerts(told)

    def _take_told(self, told: Told) -> None:
        self._told = (*self._told, told)

    def use_alerts(self, ways: AlertWays) -> None:
        """Let other bounds and other ways to tell count from now on."""
        self.alert_ways = ways
        if self._alarm is not None:
            self._alarm.bounds = ways.bounds
            self._alarm.look_again()

    async def act_on(self, monitor: FleetMonitor) -> None:
        """Watch another fleet: its alerts are its own."""
        await super().act_on(monitor)
        if self._alarm is not None:
            self._alarm.close()
        self._alarm, self._toasts = None, Toasts()

    def _tell_alerts(self, told: tuple[Told, ...]) -> None:
        fleet = self._monitor.fleet
        simulated = {host.name for host in fleet.hosts if host.is_simulated}
        title = "alert" if len(told) == 1 else f"{len(told)} alerts"
        if any(one.happening.host in simulated for one in told):
            title += " · SIMULATED"
        # The banner stays in sight, however small the screen is.
        is_small = self.size.width < _SMALL_BELOW[0] or self.size.height < _SMALL_BELOW[1]
        most = MOST_LINES if not is_small else 1 if len(told) == 1 else 0
        key = self._scene.actions.key_of("e")
        text = toast_text(told, key, has_hosts=len(fleet.hosts) > 1, most=most)
        self.notify(text, title=title, severity="warning", markup=False, timeout=_TOAST_S)
        # What is made up calls nobody to the screen.
        real = tuple(one for one in told if one.happening.host not in simulated)
        if real and self.alert_ways.has_bell:
            self.bell()
        if real and self.alert_ways.has_osc9 and self._voice is not None:
            self._voice.say(notification(real, is_in_tmux=is_in_tmux(os.environ)))

    def speak_through_driver(self) -> None:
        """Let notifications go out through the driver that the app will make."""
        self._voice = Voice()
        self.driver_class = voiced(self.driver_class, self._voice)

    # -- painting ------------------------------------------------------------------------------

    def framed(self, frame: FrameView) -> FrameView:
        """Return the frame with the count of alerts."""
        count = len(self._alarm.raised) if self._alarm is not None else 0
        return super().framed(frame)._replace(alerts=count)

    def paint_events(self) -> None:
        """Show the event log where it is open."""
        if not self._is_open(ERRORS) or self._alarm is None:
            return
        from gpudash.ui.screens.errors import ErrorsScreen

        for screen in self.screen_stack:
            if isinstance(screen, ErrorsScreen):
                screen.show(self._monitor.fleet, self._alarm.raised, self._clock)

    def _show_theme(self, theme: Theme) -> None:
        super()._show_theme(theme)
        if self._is_open(ERRORS):
            from gpudash.ui.screens.errors import ErrorsScreen

            for screen in self.screen_stack:
                if isinstance(screen, ErrorsScreen):
                    screen.set_ink(self._ink)

    # -- actions -------------------------------------------------------------------------------

    def action_errors(self) -> None:
        """Show what is wrong, and all that happened."""
        if self._is_open(ERRORS):
            return
        from gpudash.ui.screens.errors import ErrorsScreen, Ways

        ways = Ways(self.repaint, self._copy_text, self._save_events)
        self.push_screen(ErrorsScreen(self._ink, self._scene.glyphs, self._scene.actions, ways))

    def _save_events(self, text: str) -> None:
        self.run_worker(save_out(self, self.export_folder(), ".txt", text))
