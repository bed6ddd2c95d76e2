"""A whole day, simulated: hosts that stall, lose their link, reboot and come back at random."""

from __future__ import annotations

import asyncio
import random

import pytest

from gpudash.core.events import Event
from gpudash.core.model import Host, Link
from gpudash.core.verify import Verdict, judge_fleet
from gpudash.services import leap
from gpudash.services.attempts import STALE_INTERVALS
from gpudash.services.monitor import FleetMonitor
from tests.core.making import hello, reading, roster, sample
from tests.services.virtual import ScriptedSource, ScriptedStream, Step, VirtualClock, down, run

DAY_S = 24 * 3600.0
INTERVAL_S = 60.0


class Restless(ScriptedSource):
    """Each stream lives for a while, stalls at times, and ends; some attempts fail."""

    def __init__(self, name: str, chance: random.Random) -> None:
        super().__init__(name=name)
        self._chance = chance

    async def open_sampler(self, interval_s: float) -> ScriptedStream:
        chance = self._chance
        await asyncio.sleep(chance.uniform(0, 3))
        if chance.random() < 0.2:
            raise down("refused")
        steps: list[Step] = [(0.1, hello(*roster(1), interval_s=INTERVAL_S))]
        steps.append((0.1, sample(1, reading(0))))
        for seq in range(2, chance.randint(2, 400)):
            wait_s = INTERVAL_S if chance.random() > 0.002 else chance.uniform(200, 900)
            steps.append((wait_s, sample(seq, reading(0))))
        self.streams.append(ScriptedStream([*steps, (0.0, down("link lost"))]))
        return self.streams[-1]


def test_a_day_of_eight_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leap, "LOOK_S", 300.0)
    seen: dict[Link, int] = dict.fromkeys(Link, 0)
    zeros = 0

    async def test() -> None:
        nonlocal zeros
        sources = tuple(Restless(f"gpu-{n}", random.Random(n)) for n in range(8))

        def look(event: Event, before: Host, after: Host) -> None:
            nonlocal zeros
            seen[after.link] += 1
            now = clock.now()
            for host in monitor.fleet.hosts:
                if host.link is Link.LIVE and host.received_s is not None:
                    assert now - host.received_s <= STALE_INTERVALS * INTERVAL_S + 0.001
            if judge_fleet(monitor.fleet).verdict is Verdict.ZERO:
                zeros += 1
                assert all(host.link is Link.LIVE for host in monitor.fleet.hosts)

        clock = VirtualClock()
        monitor = FleetMonitor(sources, clock, interval_s=INTERVAL_S, listener=look)
        monitor.start()
        await asyncio.sleep(DAY_S)
        await monitor.stop()
        assert all(source.is_all_closed for source in sources)

    run(test())
    assert zeros
    assert min(seen[link] for link in (Link.LIVE, Link.STALE, Link.DOWN, Link.CONNECTING))
