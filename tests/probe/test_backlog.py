"""A reader that stalls: no write waits for it, nothing is torn, and what is dropped is old."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

import gpudash.probe.backlog as module
from gpudash.probe.backlog import KEPT_BYTES, KEPT_S, Backlog
from tests.fake_driver import FakeDriver
from tests.probe.running import Program, cut_sampler


class Stalled(Backlog):
    """A backlog over a pipe whose other end the test holds."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        keep = os.dup(1), os.dup(self.writer)
        try:
            # The wire takes stdout for its own: give it the pipe, and back what was there.
            os.dup2(keep[1], 1)
            super().__init__("token")
        finally:
            os.dup2(keep[0], 1)
            for fd in (*keep, self.writer):
                os.close(fd)
        assert os.read(self.reader, 100) == b"token\n"

    def close(self) -> None:
        os.close(self._fd)
        os.close(self.reader)

    def tick(self, seq: int, fill: int = 900) -> None:
        self.send(t="sample", seq=seq, gpus="x" * fill)

    def read_all(self) -> list[dict[str, object]]:
        """Read as a reader that woke up: take, let it flush, until nothing waits."""
        got = b""
        os.set_blocking(self.reader, False)
        while True:
            self.flush()
            try:
                got += os.read(self.reader, 1 << 16)
            except BlockingIOError:
                if not self.is_pending:
                    return [json.loads(line) for line in got.splitlines()]


@pytest.fixture
def wire() -> Iterator[Stalled]:
    stalled = Stalled()
    yield stalled
    stalled.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    at = [1000.0]
    monkeypatch.setattr(module, "now", lambda: at[0])
    return at


def numbers(lines: list[dict[str, object]]) -> list[object]:
    return [line["seq"] for line in lines if line["t"] == "sample"]


def test_what_a_reader_takes_at_once_does_not_wait(wire: Stalled) -> None:
    wire.tick(1)
    assert not wire.is_pending


def test_what_waits_comes_whole_and_in_order(wire: Stalled, clock: list[float]) -> None:
    """120 ticks of 900 B, four a second, are more than a pipe holds."""
    for seq in range(120):
        clock[0] += 0.25
        wire.tick(seq)
    assert wire.is_pending
    assert numbers(wire.read_all()) == list(range(120))


def test_samples_older_than_30_s_are_dropped_and_their_numbers_show_it(
    wire: Stalled, clock: list[float]
) -> None:
    for seq in range(400):
        clock[0] += 0.25
        wire.tick(seq)
    got = numbers(wire.read_all())
    kept = int(KEPT_S / 0.25)
    # First what the pipe took before it was full, then the last 30 s.
    first_kept = 399 - kept
    assert got[-kept - 1 :] == list(range(first_kept, 400))
    assert got[: -kept - 1] == list(range(len(got) - kept - 1))
    assert len(got) < 400


def test_the_newest_comes_after_any_stall(wire: Stalled, clock: list[float]) -> None:
    for seq in range(200):
        wire.tick(seq)
    clock[0] += 3600.0
    wire.tick(200)
    got = numbers(wire.read_all())
    assert got[-1] == 200
    wire.tick(201)
    assert numbers(wire.read_all()) == [201]


def test_what_waits_is_bounded_in_bytes(wire: Stalled, clock: list[float]) -> None:
    for seq in range(100):
        wire.tick(seq, fill=60_000)
        assert wire._size <= KEPT_BYTES + 61_000
    got = numbers(wire.read_all())
    assert got[-1] == 99
    assert len(got) < 30


def test_only_samples_are_dropped(wire: Stalled, clock: list[float]) -> None:
    for seq in range(150):
        wire.tick(seq)
    wire.send(t="hello", seq=150)
    wire.ack({"id": 7})
    clock[0] += 60.0
    wire.tick(151)
    told = wire.read_all()
    assert [line["t"] for line in told[-3:]] == ["hello", "ack", "sample"]
    assert 149 not in numbers(told)


def test_a_line_that_is_partly_written_is_never_torn(wire: Stalled, clock: list[float]) -> None:
    for seq in range(3):
        wire.tick(seq, fill=60_000)
    assert wire._begun
    clock[0] += 60.0
    wire.tick(3)
    assert numbers(wire.read_all())[-1] == 3


def test_a_sampler_whose_reader_wakes_up_tells_every_tick(fake_driver: FakeDriver) -> None:
    with Program(cut_sampler(), fake_driver.env(), interval=3600) as program:
        program.of("sample")
        for number in range(1, 201):
            program.send(number, "once")
        program.send(201, "bye")
        lines = program.to_end()
        assert program.status() == 0
    seqs = [line["seq"] for line in lines if line["t"] == "sample"]
    assert seqs == list(range(1, 202))
    assert lines[-1]["t"] == "bye"
