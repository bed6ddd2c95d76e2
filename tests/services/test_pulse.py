"""Round trips: when a host is pinged, and what an answer tells."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpudash.core.distance import clock_words, round_trip_words
from gpudash.core.events import Ack, Event, LinkMeasured, LinkUp
from gpudash.core.fleet import step
from gpudash.core.model import Host, Link
from gpudash.services.pulse import EVERY_S, Pulse
from tests.core.making import HOST, facts, hello, reading, roster, sample
from tests.services.virtual import ScriptedSource, ScriptedStream, Step, Watched, run

FAR = Host(name=HOST, link=Link.LIVE, transport="ssh", facts=facts())


class Answering(ScriptedStream):
    """Answers a ping after some time, by a clock that is off."""

    def __init__(self, steps: list[Step], trip_s: float, offset_s: float) -> None:
        super().__init__(steps)
        self._trip_s = trip_s
        self._offset_s = offset_s
        self._answer: tuple[float, Ack] | None = None

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        super().send(command_id, do, arguments)
        now = asyncio.get_running_loop().time()
        wall = 1e9 + now + self._trip_s / 2 + self._offset_s
        self._answer = (now + self._trip_s, Ack(id=command_id, is_ok=True, wall_s=wall))

    async def read(self) -> list[Event]:
        if self._answer is not None:
            at, answer = self._answer
            self._answer = None
            await asyncio.sleep(at - asyncio.get_running_loop().time())
            return [answer]
        return await super().read()


class Far(ScriptedSource):
    def __init__(self, *first: Event, trip_s: float = 0.04, offset_s: float = 3.0) -> None:
        super().__init__()
        self.first = first
        self.far = (trip_s, offset_s)

    async def open_sampler(self, interval_s: float) -> ScriptedStream:
        begun: list[Step] = [(0.0, event) for event in self.first]
        begun += [(0.0, hello(*roster(1)))]
        ticks: list[Step] = [(1.0, sample(seq, reading(0))) for seq in range(1, 60)]
        self.streams.append(Answering([*begun, *ticks], *self.far))
        return self.streams[-1]


def pings(stream: ScriptedStream) -> int:
    return [do for _, do, _ in stream.sent].count("ping")


def test_a_remote_host_is_measured_by_the_monitor() -> None:
    async def test() -> None:
        source = Far(LinkUp(transport="ssh"))
        async with Watched(source) as monitor:
            await asyncio.sleep(1.5)
            host = monitor.fleet.host(HOST)
            assert host.round_trip_s == pytest.approx(0.04)
            assert host.clock_offset_s == pytest.approx(3.0)
            assert (round_trip_words(host), clock_words(host)) == ("40 ms", "clock 3.0 s ahead")
            await asyncio.sleep(3 * EVERY_S)
            assert pings(source.streams[0]) == 4
            monitor.reconnect(HOST)
            await asyncio.sleep(0.5)
            # The new link is not measured yet; what its clock says is kept for records.
            host = monitor.fleet.host(HOST)
            assert (host.round_trip_s, host.clock_offset_s) == (None, pytest.approx(3.0))

    run(test())


def test_this_machine_is_no_distance_away() -> None:
    async def test() -> None:
        source = Far()
        async with Watched(source) as monitor:
            await asyncio.sleep(5.0)
            assert monitor.fleet.host(HOST).link is Link.LIVE
            assert pings(source.streams[0]) == 0

    run(test())


def test_only_the_newest_ping_is_heard() -> None:
    now = [0.0]
    stream = ScriptedStream(())
    pulse = Pulse(lambda: now[0], lambda: 1e9 + now[0])
    assert pulse.beat(FAR, stream)
    first = stream.sent[0][0]
    now[0] = EVERY_S
    assert pulse.beat(FAR, stream)
    assert pulse.hear(Ack(id=first, is_ok=True, wall_s=0.0)) is None
    now[0] += 0.5
    answer = Ack(id=first + 1, is_ok=True, wall_s=1e9 + EVERY_S + 0.25)
    assert pulse.hear(answer) == LinkMeasured(round_trip_s=0.5, clock_offset_s=0.0)
    assert pulse.hear(answer) is None
    assert not pulse.beat(FAR, stream)


def test_an_answer_over_the_old_link_is_none_of_the_new() -> None:
    stream = ScriptedStream(())
    pulse = Pulse(lambda: 0.0, lambda: 1e9)
    pulse.beat(FAR, stream)
    pulse.forget()
    assert pulse.hear(Ack(id=stream.sent[0][0], is_ok=True, wall_s=1e9)) is None
    assert pulse.beat(FAR, stream)
    assert len(stream.sent) == 2


def test_who_answers_no_ping_is_not_asked() -> None:
    stream = ScriptedStream(())
    pulse = Pulse(lambda: 0.0, lambda: 1e9)
    through_smi = replace(FAR, facts=facts(source="nvidia-smi"))
    for host in (through_smi, replace(FAR, facts=None), replace(FAR, transport="")):
        assert not pulse.beat(host, stream)
    assert not stream.sent


@pytest.mark.parametrize(
    ("offset_s", "trip_s", "words"),
    [
        (None, None, ""),
        (0.9, 0.01, ""),
        (-1.0, 0.0, ""),
        (1.4, 1.0, ""),  # half a round trip could explain it
        (1.6, 1.0, "clock 1.6 s ahead"),
        (-75.0, 0.02, "clock 1m 15s behind"),
    ],
)
def test_a_clock_is_told_when_it_is_off(
    offset_s: float | None, trip_s: float | None, words: str
) -> None:
    host = replace(FAR, round_trip_s=trip_s, clock_offset_s=offset_s)
    assert clock_words(host) == words


def test_a_round_trip_is_told_of_a_live_link_only() -> None:
    near = replace(FAR, round_trip_s=0.0004)
    assert round_trip_words(near) == "<1 ms"
    for link in set(Link) - {Link.LIVE}:
        assert not round_trip_words(replace(near, link=link))


def test_another_boot_has_another_clock() -> None:
    host = replace(FAR, clock_offset_s=3.0, round_trip_s=0.1)
    again = step(host, hello(*roster(1), boot_id="boot-2"), 1.0)
    assert (again.clock_offset_s, again.round_trip_s) == (None, None)
