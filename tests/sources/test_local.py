"""This machine as a host: streams over real probes and the fake driver."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudash.core.events import Ack, Event, Fault, Hello, LinkDown, Sample
from gpudash.core.wire import LineDecoder
from gpudash.sources import oneshot, shipping
from gpudash.sources.base import SourceError
from gpudash.sources.local import ChildStream, LocalSource
from gpudash.sources.process import Child, abandoned
from tests.fake_driver import FOREVER, MIB, FakeDriver

PATIENCE_S = 30


@pytest.fixture
def driver(fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """The fake driver, for what this process starts."""
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    return fake_driver


async def events_until(stream: ChildStream, is_done: Callable[[Event], bool]) -> list[Event]:
    events: list[Event] = []
    async with asyncio.timeout(PATIENCE_S):
        while not any(is_done(event) for event in events):
            events += await stream.read()
    return events


async def read_to_end(stream: ChildStream) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await stream.read()


async def sampler(interval_s: float = 0.05) -> ChildStream:
    stream = await LocalSource().open_sampler(interval_s)
    assert isinstance(stream, ChildStream)
    return stream


async def test_samples(driver: FakeDriver) -> None:
    stream = await sampler()
    events = await events_until(stream, lambda event: isinstance(event, Sample) and event.seq == 3)
    await stream.close()
    assert isinstance(events[0], Hello)
    assert events[0].interval_s == 0.05
    assert stream._child.reap() == 0


async def test_a_command(driver: FakeDriver) -> None:
    stream = await sampler(3600)
    await events_until(stream, lambda event: isinstance(event, Sample))
    stream.send(7, "once", {})
    await events_until(stream, lambda event: event == Ack(id=7, is_ok=True))
    await stream.close()


async def test_the_end_is_told_for_ever(driver: FakeDriver) -> None:
    stream = await sampler()
    await events_until(stream, lambda event: isinstance(event, Sample))
    os.kill(stream._child.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(SourceError, match="SIGKILL"):
            await read_to_end(stream)
    await stream.close()
    stream.send(1, "once", {})


async def test_a_fault_comes_before_the_end(driver: FakeDriver) -> None:
    driver.with_init_error(9).write()
    stream = await sampler()
    events = await events_until(stream, lambda event: isinstance(event, Fault))
    fault = events[-1] if isinstance(events[-1], Fault) else events[0]
    assert isinstance(fault, Fault)
    assert (fault.code, fault.is_fatal) == (9, True)
    with pytest.raises(SourceError):
        await read_to_end(stream)
    await stream.close()


async def test_closing_a_hung_one(driver: FakeDriver) -> None:
    driver.with_delay(0, "MemoryInfo*", FOREVER).write()
    stream = await sampler()
    async with asyncio.timeout(PATIENCE_S):
        await stream.close()
    assert stream._child.reap() is not None
    assert not os.path.exists(f"/proc/{stream._child.pid}")


async def test_the_hand(driver: FakeDriver) -> None:
    hand = await LocalSource().open_hand()
    assert isinstance(hand, ChildStream)
    hand.send(3, "process", {"pids": [os.getpid()]})
    (answer,) = await events_until(hand, lambda event: isinstance(event, Ack))
    assert isinstance(answer, Ack)
    assert answer.processes[0].pid == os.getpid()
    await hand.close()


async def test_garbage_for_ever_is_given_up() -> None:
    child = Child([sys.executable, "-ISBc", "while True: print('y' * 1000)"])
    stream = ChildStream(child, LineDecoder("token"))
    with pytest.raises(SourceError) as error:
        async with asyncio.timeout(PATIENCE_S):
            await stream.read()
    assert "ssh" not in error.value.message
    await stream.close()
    assert child.reap() is not None


async def test_last_words_are_kept() -> None:
    script = "import sys; sys.stderr.write('x' * 100000 + 'last words'); sys.exit(99)"
    stream = ChildStream(Child([sys.executable, "-ISBc", script]), LineDecoder("token"))
    with pytest.raises(SourceError) as error:
        async with asyncio.timeout(PATIENCE_S):
            await stream.read()
    assert error.value.problem.title == "probe failed"
    assert error.value.problem.detail.endswith("last words")
    await stream.close()


async def test_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python3")
    for opened in (LocalSource().open_sampler(1.0), LocalSource().open_hand()):
        with pytest.raises(SourceError) as error:
            await opened
        assert error.value.problem.title == "probe not started"


async def test_while_one_hangs_for_good_no_other_is_started(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Child(["/bin/sleep", "1000"])
    with monkeypatch.context() as patch:
        patch.setattr(Child, "kill", lambda self: None)
        stuck.end(patience_s=0.01)
    with pytest.raises(SourceError) as error:
        await LocalSource().open_sampler(1.0)
    assert error.value.problem.title == "driver hangs"
    os.kill(stuck.pid, signal.SIGKILL)
    os.waitid(os.P_PID, stuck.pid, os.WEXITED | os.WNOWAIT)
    stream = await sampler()
    await stream.close()
    assert abandoned() == 0


# -- without asyncio ---------------------------------------------------------------------------


def test_a_one_shot(driver: FakeDriver) -> None:
    driver.with_used(2, MIB).write()
    probe = oneshot.begin()
    try:
        hello, sample = oneshot.finish(probe)[:2]
    finally:
        probe.end()
    assert isinstance(hello, Hello)
    assert isinstance(sample, Sample)
    assert sample.readings[2].used_bytes == MIB


def test_a_one_shot_that_hangs(driver: FakeDriver) -> None:
    driver.with_delay(0, "MemoryInfo*", FOREVER).write()
    probe = oneshot.Probe(shipping.sampler_payload(), '"once":true,"hung":0.1')
    try:
        events = oneshot.finish(probe)
    finally:
        probe.end()
    assert isinstance(events[-1], Fault)
    assert events[-1].code is None


def test_a_one_shot_out_of_patience(driver: FakeDriver) -> None:
    driver.with_delay(0, "MemoryInfo*", FOREVER).write()
    probe = oneshot.begin()
    try:
        events = oneshot.finish(probe, patience_s=0.01)
    finally:
        probe.end()
    assert isinstance(events[-1], LinkDown)
    assert events[-1].problem.title == "no answer"


def test_a_one_shot_that_dies() -> None:
    document = b'{"bootstrap":"def start(d):\\n    raise SystemExit(99)","modules":[]}'
    probe = oneshot.Probe(document, "")
    try:
        events = oneshot.finish(probe)
    finally:
        probe.end()
    assert isinstance(events[-1], LinkDown)
    assert events[-1].problem.title == "probe failed"


def test_a_question() -> None:
    events = oneshot.ask_processes(frozenset({os.getpid(), 4_194_304}))
    (answer,) = events
    assert isinstance(answer, Ack)
    assert answer.gone == {4_194_304}
    assert [info.pid for info in answer.processes] == [os.getpid()]


def test_probes_start_isolated() -> None:
    argv = oneshot.python_argv()
    assert argv[:2] == [sys.executable, "-ISBc"]
    assert len({oneshot.new_token() for _ in range(100)}) == 100
    assert Path(argv[0]).exists()
