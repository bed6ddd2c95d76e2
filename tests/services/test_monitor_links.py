"""The monitor and links: who waits for a person, who is let through, and a machine that slept."""

from __future__ import annotations

import asyncio

from gpudash.core.events import Event, LinkUp
from gpudash.core.model import Link, Problem
from gpudash.core.verify import Verdict, judge_fleet
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.base import SourceError
from tests.core.making import HOST, hello, reading, roster, sample
from tests.services.virtual import ScriptedSource, Step, VirtualClock, Watched, run


def refused(gate: str = "") -> SourceError:
    return SourceError(
        Problem(title="needs you", sentence="It asks for a code.", needs_person=True, gate=gate)
    )


def begun(*steps: Step) -> list[Step]:
    return [(0.0, hello(*roster(1))), (0.0, sample(1, reading(0))), *steps]


def reached(*steps: Step) -> list[Step]:
    return [(0.0, LinkUp(transport="ssh", notes=("host key not checked",))), *begun(*steps)]


def test_nobody_is_tried_again_for_ten_minutes() -> None:
    async def test() -> None:
        sources = [ScriptedSource(refused("jump"), name=f"node{n}") for n in range(60)]
        async with Watched(*sources) as monitor:
            await asyncio.sleep(600.0)
            assert [len(source.opened_s) for source in sources] == [1] * 60
            assert {host.link for host in monitor.fleet.hosts} == {Link.DOWN}

    run(test())


def test_one_who_is_let_through_a_gate_wakes_those_behind_it() -> None:
    async def test() -> None:
        behind = [ScriptedSource(refused("jump"), reached(), name=f"node{n}") for n in range(3)]
        other = ScriptedSource(refused("another"), name="other")
        async with Watched(*behind, other) as monitor:
            await asyncio.sleep(60.0)
            monitor.reconnect("node1")
            await asyncio.sleep(1.0)
            assert [host.link for host in monitor.fleet.hosts] == [Link.LIVE] * 3 + [Link.DOWN]
            assert len(other.opened_s) == 1

    run(test())


def test_transport_and_notes_are_known_while_the_link_lasts() -> None:
    async def test() -> None:
        async with Watched(ScriptedSource(reached())) as monitor:
            await asyncio.sleep(0.5)
            host = monitor.fleet.host(HOST)
            assert (host.transport, host.link_notes) == ("ssh", ("host key not checked",))

    run(test())


class Slow(ScriptedSource):
    """A host whose login takes for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = 0

    async def open_sampler(self, interval_s: float) -> object:  # type: ignore[override]
        self.opened_s.append(asyncio.get_running_loop().time())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def test_a_login_can_be_called_off() -> None:
    async def test() -> None:
        source = Slow()
        async with Watched(source) as monitor:
            await asyncio.sleep(100.0)
            monitor.reconnect(HOST)
            await asyncio.sleep(1.0)
            assert (len(source.opened_s), source.cancelled) == (2, 1)
        assert source.cancelled == 2

    run(test())


class SleepyClock(VirtualClock):
    """A clock that counts the machine's sleep; the loop's does not."""

    def __init__(self) -> None:
        self.slept_s = 0.0

    def now(self) -> float:
        return super().now() + self.slept_s


def test_after_a_sleep_all_is_old_and_begun_anew_at_once() -> None:
    async def test() -> None:
        clock = SleepyClock()
        ticks: list[Step] = [(1.0, sample(seq, reading(0))) for seq in range(2, 100)]
        source = ScriptedSource(begun(*ticks), begun(*ticks))
        waiting = ScriptedSource(refused(), name="waiting")
        seen: list[tuple[type[Event], Link]] = []
        monitor = FleetMonitor(
            (source, waiting),
            clock,
            listener=lambda event, _before, after: seen.append((type(event), after.link)),
        )
        monitor.start()
        await asyncio.sleep(10.5)
        assert judge_fleet(monitor.fleet).hosts[0].verdict is Verdict.ZERO
        del seen[:]
        clock.slept_s = 3600.0
        await asyncio.sleep(0.6)
        # What waited in the pipe while the machine slept was not taken for news.
        assert next(link for _, link in seen) is Link.STALE
        await asyncio.sleep(1.0)
        assert len(source.opened_s) == 2
        assert monitor.fleet.host(HOST).link is Link.LIVE
        assert len(waiting.opened_s) == 1
        clock.slept_s += 4.0
        await asyncio.sleep(5.0)
        assert len(source.opened_s) == 2
        await monitor.stop()

    run(test())
