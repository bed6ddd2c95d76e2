"""Paced streams of the demo, on a clock that only sleeping moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gpudash.core.errors import ExitCode
from gpudash.core.events import Ack, Bye, Fault, Hello, Sample, Scanned
from gpudash.core.holding import Existence
from gpudash.sources.base import HostSource, SourceError, Stream
from gpudash.sources.demo import demo_sources, parse_scenario


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 5000.0

    def clock(self) -> float:
        return self.now_s

    async def sleep(self, left_s: float) -> None:
        self.now_s += left_s


async def never(left_s: float) -> None:
    await asyncio.Event().wait()


def sources_of(text: str) -> tuple[tuple[HostSource, ...], FakeTime]:
    time = FakeTime()
    return demo_sources(parse_scenario(text), clock=time.clock, sleep=time.sleep), time


@asynccontextmanager
async def opened(stream: Stream) -> AsyncIterator[Stream]:
    try:
        yield stream
    finally:
        await stream.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def read_many(stream: Stream, count: int) -> list[object]:
    return [event for _ in range(count) for event in await stream.read()]


async def test_a_sampler_is_paced_by_its_interval() -> None:
    (source,), time = sources_of("busy")
    async with opened(await source.open_sampler(2.0)) as stream:
        hello, *samples = await read_many(stream, 4)
        assert isinstance(hello, Hello)
        assert hello.interval_s == 2.0
        assert [sample.seq for sample in samples if isinstance(sample, Sample)] == [1, 2, 3]
        assert time.now_s == 5004.0


async def test_ticks_stand_on_a_grid_and_those_slept_through_are_skipped() -> None:
    (source,), time = sources_of("busy")
    time.now_s += 3.4
    async with opened(await source.open_sampler(1.0)) as stream:
        _, first, second = await read_many(stream, 3)
        time.now_s += 60.0
        third, fourth = await read_many(stream, 2)
    seen = [event.host_monotonic_s for event in (first, second, third, fourth)
            if isinstance(event, Sample)]  # fmt: skip
    assert [later - seen[0] for later in seen] == pytest.approx([0.0, 1.0, 61.0, 62.0])
    assert time.now_s == pytest.approx(5065.0)


async def test_commands_are_answered_and_obeyed() -> None:
    (source,), time = sources_of("idle")
    async with opened(await source.open_sampler(1.0)) as stream:
        await read_many(stream, 2)
        stream.send(1, "rate", {"interval": 0.25})
        stream.send(2, "once", {})
        rate, once, extra = await stream.read()
        assert rate == Ack(id=1, is_ok=True)
        assert once == Ack(id=2, is_ok=True)
        assert isinstance(extra, Sample)
        await stream.read()
        assert time.now_s == 5000.25


@pytest.mark.parametrize(
    ("do", "arguments"),
    [("sing", {}), ("process", {}), ("scan", {"pids": 1}), ("rate", {}), ("rate", {"interval": 0}),
     ("rate", {"interval": True}), ("rate", {"interval": "1"})],
)  # fmt: skip
async def test_a_wrong_command_is_an_error_ack(do: str, arguments: dict[str, object]) -> None:
    (source,), _ = sources_of("idle")
    async with opened(await source.open_sampler(1.0)) as stream:
        await stream.read()
        stream.send(9, do, arguments)
        (ack,) = await stream.read()
        assert isinstance(ack, Ack)
        assert (ack.id, ack.is_ok) == (9, False)
        assert ack.error


@pytest.mark.parametrize("do", ["bye", "release"])
async def test_bye_and_release_end_the_sampler(do: str) -> None:
    (source,), _ = sources_of("idle")
    async with opened(await source.open_sampler(1.0)) as stream:
        await stream.read()
        stream.send(1, do, {})
        ack, bye = await stream.read()
        assert isinstance(ack, Ack)
        assert isinstance(bye, Bye)
        stream.send(2, "once", {})
        for _ in range(2):
            with pytest.raises(SourceError):
                await stream.read()


async def test_the_hand_answers_and_refuses_what_it_does_not_know() -> None:
    (source,), _ = sources_of("busy")
    async with opened(await source.open_hand()) as stream:
        assert await stream.read() == []
        stream.send(1, "process", {"pids": [48213, 99]})
        stream.send(2, "rate", {"interval": 1})
        stream.send(3, "process", {"pids": "all"})
        stream.send(4, "bye", {})
        told, *refused, last, bye = await stream.read()
        assert isinstance(told, Ack)
        assert [info.pid for info in told.processes] == [48213]
        assert told.gone == {99}
        assert [ack.is_ok for ack in refused if isinstance(ack, Ack)] == [False, False]
        assert last == Ack(id=4, is_ok=True)
        assert isinstance(bye, Bye)


async def test_the_hand_scans_what_it_is_asked_about() -> None:
    (source,), _ = sources_of("busy")
    async with opened(await source.open_hand()) as stream:
        await stream.read()
        stream.send(1, "process", {"pids": [48213]})
        stream.send(2, "scan", {"pids": [48213, 99]})
        told, scanned, ack = await stream.read()
        assert isinstance(told, Ack)
        assert isinstance(scanned, Scanned)
        assert isinstance(ack, Ack)
        assert scanned.scan.is_simulated
        assert scanned.scan.listed == ((99, Existence.DEAD),)
        process = scanned.scan.process(48213)
        assert process is not None
        assert process.identity.start_ticks == told.processes[0].start_ticks
        assert process.parent == told.processes[0].ancestors[0].pid
        assert any(handle.gpu for handle in process.handles)


async def test_close_ends_a_waiting_read_at_once() -> None:
    (source,) = demo_sources(parse_scenario("busy"), clock=lambda: 0.0, sleep=never)
    for stream, first_reads in ((await source.open_sampler(1.0), 2), (await source.open_hand(), 1)):
        await read_many(stream, first_reads)
        waiting = asyncio.ensure_future(stream.read())
        await asyncio.sleep(0)
        await stream.close()
        with pytest.raises(SourceError):
            await waiting
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_read_leaves_no_task_and_loses_nothing() -> None:
    gate = asyncio.Event()

    async def sleep(left_s: float) -> None:
        await gate.wait()

    (source,) = demo_sources(parse_scenario("busy"), clock=lambda: 0.0, sleep=sleep)
    async with opened(await source.open_sampler(1.0)) as stream:
        await read_many(stream, 2)
        waiting = asyncio.ensure_future(stream.read())
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert asyncio.all_tasks() == {asyncio.current_task()}
        gate.set()
        (sample,) = await stream.read()
        assert isinstance(sample, Sample)
        assert sample.seq == 2


async def test_a_host_without_driver_ends_with_its_problem() -> None:
    sources, _ = sources_of("trouble")
    async with opened(await sources[-1].open_sampler(1.0)) as stream:
        (fault,) = await stream.read()
        assert isinstance(fault, Fault)
        with pytest.raises(SourceError) as caught:
            await stream.read()
        assert caught.value.problem.code == 9


async def test_a_silent_host_keeps_its_stream_and_refuses_new_ones() -> None:
    sources, time = sources_of("trouble")
    silent = sources[1]
    async with opened(await silent.open_sampler(1.0)) as stream:
        await read_many(stream, 9)
        assert time.now_s == 5007.0
        time.now_s = 5020.0
        with pytest.raises(SourceError) as caught:
            await silent.open_sampler(1.0)
        assert caught.value.exit_code is ExitCode.UNREACHABLE
        stream.send(1, "once", {})
        (sample,) = await stream.read()
        assert isinstance(sample, Sample)
        assert time.now_s == 5038.0
