"""The app over a simulated host that is really cleaned; tests look at the orders of its hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from gpudash.core.cleanup.phases import Phase
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.past import seed
from gpudash.services.recorder import Recorder
from gpudash.services.startup.past import Past
from gpudash.sources.demo import prehistory
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from gpudash.sources.demo.source import DemoSource, Pace
from gpudash.ui.app import GpudashApp
from gpudash.ui.cleanways import CleanWays
from gpudash.ui.keystrokes import PAINTED_S, QUIET_S
from gpudash.ui.scene import Scene
from gpudash.ui.screens.plan import PlanScreen
from gpudash.ui.theme import load_theme

PATIENCE_S = 30.0


class Skipping:
    """The system's clock, which can be set forward, and may go `speed` times as fast."""

    def __init__(self, *, shows_time: bool = False, speed: float = 1.0) -> None:
        self._system = SystemClock()
        self._began_s = self._at_s = self._system.now()
        self._shows_time = shows_time
        self._speed = speed
        self.ahead_s = 0.0

    def now(self) -> float:
        return self._at_s + (self._system.now() - self._began_s) * self._speed + self.ahead_s

    def unix(self) -> float:
        return self._system.unix() + self.now() - self._system.now()

    def wall(self, at_s: float) -> str:
        past_s = self.now() - at_s
        return self._system.wall(self._system.now() - past_s) if self._shows_time else "12:06:24"

    def go(self, speed: float) -> None:
        """Go so many times as fast from now on."""
        now_s = self.now() - self.ahead_s
        self._began_s = self._system.now()
        self._at_s = now_s
        self._speed = speed

    async def sleep(self, seconds: float) -> None:
        """Sleep so long by this clock."""
        await asyncio.sleep(seconds / self._speed)


@dataclass
class Cleaned:
    """A running app, the simulated hosts behind it and their hands."""

    app: GpudashApp
    pilot: Pilot[None]
    clock: Skipping
    machines: tuple[Machine, ...]
    records: Path
    pace: Pace

    def demo_s(self) -> float:
        """Return demo time."""
        return self.pace.now_s()

    @property
    def orders(self) -> list[dict[str, Any]]:
        """Return every order that any hand took."""
        return [order for machine in self.machines for order in machine.deeds.orders]

    @property
    def plan(self) -> PlanScreen:
        screen = self.app.screen
        assert isinstance(screen, PlanScreen), self.text()
        return screen

    @property
    def is_planning(self) -> bool:
        return isinstance(self.app.screen, PlanScreen)

    def phase(self, host: str = "gpu-a") -> Phase:
        round_ = self.app._cleanups._round
        assert round_ is not None
        return round_.cleanings[host].state.phase

    def rows(self) -> list[str]:
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows())

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def burst(self, text: str) -> None:
        """Let characters come as a terminal gives what was pasted or typed ahead: all at once."""
        for char in text:
            name = {"/": "slash", " ": "space", "\n": "enter"}.get(char, char)
            key = events.Key(name, None if char == "\n" else char)
            key.set_sender(self.app)
            self.app.post_message(key)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; it fails where that takes too long."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.01)
        await self.pilot.pause()

    async def opened(self, *keys: str) -> PlanScreen:
        """Press keys and wait for a plan that was painted."""
        await self.press(*keys)
        await self.until(lambda: self.is_planning and self.plan._painted_s is not None)
        return self.plan

    def let_read(self) -> None:
        """Let the time pass in which a dialog takes no key."""
        self.clock.ahead_s += PAINTED_S + QUIET_S

    async def settled(self) -> None:
        """Wait until what the newest key could still do has been done."""
        await self.pilot.pause(0.2)


@asynccontextmanager
async def cleaned(
    folder: Path,
    scenario: str = "leftovers",
    size: tuple[int, int] = (120, 40),
    *,
    is_readonly: bool = False,
    confirms_always: bool = False,
    shows_time: bool = False,
    readonly: frozenset[str] = frozenset(),
    speed: float = 1.0,
    past: Past | None = None,
    theme: str = "gpudash-dark",
) -> AsyncIterator[Cleaned]:
    """Run the app over a demo scenario, with families known."""
    clock = Skipping(shows_time=shows_time, speed=speed)
    hosts = machines(parse_scenario(scenario), 1)
    pace = Pace(clock=clock.now, sleep=clock.sleep, origin_s=clock.now())
    monitor = FleetMonitor(tuple(DemoSource(one, pace) for one in hosts), clock)
    if shows_time:
        for gpu in prehistory(parse_scenario(scenario), 1):
            seed(monitor.history, gpu.host, gpu.gpu, int(clock.now()), gpu.values)
    recorder = Recorder(folder, tell=lambda problem: None)
    ways = CleanWays(recorder=recorder, confirms_always=confirms_always, readonly=readonly)
    app = GpudashApp(
        monitor,
        clock,
        Scene(clock),
        [load_theme(theme)[0]],
        clean=None if is_readonly else ways,
        past=(lambda: past) if past is not None else None,
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        shown = Cleaned(app, pilot, clock, hosts, folder, pace)

        def is_known() -> bool:
            host = monitor.fleet.hosts[0]
            return bool(host.samples) and (is_readonly or not host.listed or bool(host.kin))

        await shown.until(is_known)
        app.repaint()
        await pilot.pause()
        yield shown
    recorder.end(5.0)
