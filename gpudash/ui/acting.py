"""The part of the app that acts: proofs and cleanups, and the keys that lead to them."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from functools import partial

from textual import events
from textual.app import App
from textual.driver import Driver

from gpudash.core.actions import ACTIONS
from gpudash.core.baselines import Baselines
from gpudash.core.cleanup.planner import Request
from gpudash.services.clock import Clock
from gpudash.services.earlier import Earlier
from gpudash.services.monitor import FleetMonitor
from gpudash.services.outlook import Outlook
from gpudash.services.recorder import Recorder
from gpudash.ui.cleanups import Cleanups
from gpudash.ui.cleanways import CleanWays
from gpudash.ui.keystrokes import Keystrokes
from gpudash.ui.paint.frame import is_nothing_to_watch
from gpudash.ui.proofs import ScreenProof
from gpudash.ui.scene import Scene
from gpudash.ui.strips import Ink
from gpudash.ui.targets import Target

_ACTING = frozenset(one.action for one in ACTIONS if one.acts)


class ActingApp(App[None]):
    """Keeps the proof and the cleanups over one monitor."""

    _ink: Ink

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        scene: Scene,
        clean: CleanWays | None,
        *,
        driver_class: type[Driver] | None,
        baselines: Baselines,
        recorder: Recorder | None,
    ) -> None:
        """Without `clean` nothing can be done to a host."""
        # Rows come in the colours that the terminal has: no filter needs to look at them again.
        super().__init__(ansi_color=True, driver_class=driver_class)
        self._monitor = monitor
        self._clock = clock
        self._scene = scene
        self._seen = -1
        self._keys = Keystrokes()
        self._newest_input: events.Event | None = None
        self._clean = clean
        self._baselines = baselines
        self._recorder = recorder
        self._scene.is_readonly = clean is None
        self._proof = self._proving(monitor)
        self._cleanups = self._cleaning(monitor)
        self._outlook = self._foreseeing(monitor)
        self._earlier = self._remembering(monitor)

    def watch_on(self) -> None:
        """Prove, and keep up who belongs together, from now on."""
        self._proof.start()
        if self._clean is not None:
            loop = asyncio.get_running_loop()

            def tell(problem: str) -> None:
                loop.call_soon_threadsafe(partial(self._tell_trouble, problem))

            self._clean.teller.to = tell
            self._outlook.start()
        if self._earlier is not None:
            self._earlier.start()

    def _tell_trouble(self, problem: str) -> None:
        """Say that a record can't be written: a cleanup goes without it then."""
        self.notify(problem, severity="warning", markup=False)

    async def watch_no_more(self) -> None:
        """Let go of everything but the monitor."""
        if self._earlier is not None:
            await self._earlier.close()
        await self._outlook.close()
        await self._cleanups.close()
        await self._proof.close()

    def repaint(self) -> None:
        """Show what is known now."""
        raise NotImplementedError

    def action_show_all(self) -> None:
        """Hide nothing any more."""
        raise NotImplementedError

    def action_leave_demo(self) -> None:
        """Go back to where the demo was opened from."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave out what acts where nothing may: its keys are nobody's then."""
        if action in _ACTING and not self._cleanups.is_possible:
            return False
        return super().check_action(action, parameters)

    async def act_on(self, monitor: FleetMonitor) -> None:
        """Watch another fleet from now on; what the hosts of this one carry goes on there."""
        await self.watch_no_more()
        await self._monitor.stop()
        self._monitor = monitor
        self._proof = self._proving(monitor)
        self._cleanups = self._cleaning(monitor)
        self._outlook = self._foreseeing(monitor)
        self._earlier = self._remembering(monitor)

    async def on_event(self, event: events.Event) -> None:
        """Take note of when keys were pressed, before anybody gets them."""
        is_input = isinstance(event, events.Key | events.Paste)
        # What nobody took on a screen comes by here again.
        if is_input and event is not self._newest_input:
            self._newest_input = event
            lag_s = max(0.0, time.monotonic() - event.time) if sys.platform != "win32" else 0.0
            self._keys.note(self._clock.now() - lag_s)
        await super().on_event(event)

    def _proving(self, monitor: FleetMonitor) -> ScreenProof:
        return ScreenProof(monitor, self._clock, self.bell, self._baselines, self._recorder)

    def action_verify(self) -> None:
        """Prove what is marked, or everything, from now on; the marks end with it."""
        if is_nothing_to_watch(self._monitor.fleet):
            return
        self._proof.verify(self._scene.marks)
        self._scene.marks = frozenset()
        self.repaint()

    def _cleaning(self, monitor: FleetMonitor) -> Cleanups:
        make = self._clean.maker(monitor, self._clock) if self._clean else None
        confirms_always = self._clean is not None and self._clean.confirms_always
        return Cleanups(
            self,
            self._clock,
            self._keys,
            make,
            self.repaint_soon,
            monitor.note,
            self.repaint,
            confirms_always=confirms_always,
        )

    def _foreseeing(self, monitor: FleetMonitor) -> Outlook:
        request = self._clean.request if self._clean else Request()
        return Outlook(monitor, self._clock, request)

    def _remembering(self, monitor: FleetMonitor) -> Earlier | None:
        """Return what asks for earlier orders; a read-only screen asks for none.

        What is made up has no past, though its hosts may be called like real ones.
        """
        if self._clean is None or monitor.fleet.is_simulated:
            return None
        return Earlier(monitor, self._clock, self._clean.recorder, known=self._cleanups.remember)

    def repaint_soon(self) -> None:
        """Let the next tick paint, whatever else happened."""
        self._seen = -1

    def action_clean(self) -> None:
        """Plan the cleanup of what is marked, or of the host under the cursor."""
        self._begin_cleanup(self._scene.target(self._monitor.fleet), is_shown_first=False)

    def action_clean_all(self) -> None:
        """Plan the cleanup of all hosts with a mark."""
        target = self._scene.marked(self._monitor.fleet)
        if target is None and self._cleanups.is_possible:
            self.notify("nothing is marked: space marks a GPU, a all of them", markup=False)
        self._begin_cleanup(target, is_shown_first=True)

    def _begin_cleanup(self, target: Target | None, *, is_shown_first: bool) -> None:
        locked = self._clean.readonly if self._clean else frozenset()
        if target is not None and (names := [one for one in target.hosts if one in locked]):
            self.notify(f"{names[0]} is read-only: the configuration says so", markup=False)
            target = None
        if target is not None:
            used = replace(target, glyphs=self._scene.glyphs, done=self._scene.unmark)
            fleet = self._monitor.fleet
            is_always = self._clean is not None and self._clean.confirms_always
            self._cleanups.begin(used, fleet, self._ink, is_shown_first=is_shown_first or is_always)

    def lock(self) -> None:
        """Begin no cleanup any more on any host; one that runs goes its way."""
        self._scene.is_readonly = True
        if self._clean is not None:
            every = frozenset(host.name for host in self._monitor.fleet.hosts)
            self._clean = replace(self._clean, readonly=every)

    def action_force(self) -> None:
        """End at once whoever was asked to end; only while that is on the screen."""
        self._cleanups.force()

    def action_stop_proof(self) -> None:
        """Stop a cleanup or a hold that runs; on the first screen's demo, go back."""
        if self._cleanups.stop():
            self.repaint()
        elif self._scene.arrangement.is_filtered:
            self.action_show_all()
        elif self._proof.is_holding:
            self._proof.stop()
            self.repaint()
        else:
            self.action_leave_demo()
