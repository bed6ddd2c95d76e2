"""Cleanups of simulated hosts without a screen: the cleaner over a demo, as a command drives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gpudash.services.cleaner import Cleaner
from gpudash.services.clock import SystemClock
from gpudash.services.ground import Wish
from gpudash.services.monitor import FleetMonitor
from gpudash.services.proof_record import first_line
from gpudash.services.recorder import Recorder, Run
from gpudash.services.scanning import scanner
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from gpudash.sources.demo.source import DemoSource, Pace

PATIENCE_S = 30.0


@dataclass
class Fleet:
    """Simulated hosts that outlive whoever watches them."""

    machines: tuple[Machine, ...]
    pace: Pace
    clock: SystemClock

    @classmethod
    def of(cls, scenario: str) -> Fleet:
        clock = SystemClock()
        pace = Pace(clock=clock.now, sleep=asyncio.sleep, origin_s=clock.now())
        return cls(machines(parse_scenario(scenario), 1), pace, clock)

    def monitor(self) -> FleetMonitor:
        """Return a new monitor of these hosts."""
        return FleetMonitor(tuple(DemoSource(one, self.pace) for one in self.machines), self.clock)


@dataclass
class Begun:
    """A cleanup under way."""

    cleaner: Cleaner
    monitor: FleetMonitor
    run: Run


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; it fails where that takes too long."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def planned(fleet: Fleet, folder: Path, wish: Wish | None = None) -> AsyncIterator[Begun]:
    """Bring a cleanup to where every host waits for consent."""
    monitor = fleet.monitor()
    recorder = Recorder(folder, tell=lambda problem: None)
    run = recorder.begin("clean")
    run.write(first_line(("gpudash", "clean"), tuple(one.name for one in fleet.machines)))
    cleaner = Cleaner(wish or Wish(), monitor, fleet.clock, scanner(monitor), run)
    monitor.start()
    try:
        await until(lambda: len(cleaner.waiting) == len(fleet.machines))
        yield Begun(cleaner, monitor, run)
    finally:
        await cleaner.close()
        await monitor.stop()
        recorder.end(5.0)
