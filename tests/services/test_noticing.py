"""What begins on a watched host is followed by itself, told once, and let go of at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gpudash.core.startup.model import Outcome
from gpudash.services.monitor import FleetMonitor
from gpudash.services.startup.noticing import Noticing
from gpudash.services.startup.past import Past
from gpudash.sources.demo.earlier import KEY, earlier_runs
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from gpudash.sources.demo.source import DemoSource, Pace
from tests.ui.cleaning import Skipping

SPEED = 12.0
PATIENCE_S = 30.0


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def noticing(
    scenario: str, past: Past | None = None, said: list[None] | None = None
) -> AsyncIterator[tuple[Noticing, FleetMonitor]]:
    clock = Skipping(speed=SPEED)
    pace = Pace(clock=clock.now, sleep=clock.sleep, origin_s=clock.now())
    hosts = machines(parse_scenario(scenario), 1)
    monitor = FleetMonitor(tuple(DemoSource(one, pace) for one in hosts), clock)
    heard = said if said is not None else []
    one = Noticing(
        monitor, clock, lambda: heard.append(None), (lambda: past) if past is not None else None
    )
    monitor.start()
    one.start()
    try:
        yield one, monitor
    finally:
        await one.close()
        await monitor.stop()


def words(monitor: FleetMonitor) -> list[str]:
    return [one.words for one in monitor.fleet.happenings]


async def test_a_start_up_is_followed_told_and_kept_for_the_next_one(tmp_path: Path) -> None:
    past = Past(tmp_path / "startups.jsonl")
    for run in earlier_runs():
        past.add(run)
    said: list[None] = []
    async with noticing("startup:ready", past, said) as (one, monitor):
        await until(lambda: bool(one.all))
        (noticed,) = one.all
        assert said
        await until(lambda: noticed.followed.startup.outcome is Outcome.READY)
        await until(lambda: any("is ready, after" in line for line in words(monitor)))
        assert noticed.followed.earlier is not None
        assert noticed.is_running  # It may fail a moment later.
        assert noticed.book.newest(1)[0].text
        assert len([line for line in words(monitor) if "is ready" in line]) == 1
    assert not noticed.is_running
    kept = [run for run in past.load() if run.key == KEY]
    assert len(kept) == 2
    assert kept[-1].memory
    assert kept[-1].outcome == "ready"


async def test_a_failure_is_told_with_its_cause() -> None:
    async with noticing("startup:failed") as (one, monitor):
        await until(lambda: any("failed after" in line for line in words(monitor)))
        assert any("CUDA out of memory" in line for line in words(monitor))
        assert one.all[0].followed.startup.failure is not None


async def test_what_has_no_log_to_read_is_let_go_of() -> None:
    """The hand of another scenario knows no log."""
    async with noticing("busy") as (one, monitor):
        await until(lambda: monitor.fleet.hosts[0].samples > 20)
        assert one.all == ()
