"""From bytes to a fleet: decoding lines, and applying their events."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpudash.core.events import Event
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources.oneshot import python_argv
from gpudash.sources.process import Child
from tests.benchmarks import sampler
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings
from tests.benchmarks.stage import FakeStage

METRICS = (
    Metric("us_per_sample", "µs per sample"),
    Metric("samples_s", "samples/s", 0),
    Metric("core_pct_128_hosts", "% of a core, 128 hosts at 1 Hz", 2),
)
TICKS = 50
HOSTS = 128
_TOKEN = "gpudash-benchmark"


def measure(settings: Settings) -> list[Comparison]:
    """Time both steps on what a sampler of eight GPUs really says."""
    token, hello, ticks = recorded(TICKS)
    comparison = Comparison("wire: samples of 8 GPUs, a process on each", METRICS)
    for _ in range(settings.loops):
        comparison.add("decode", _figures(time_decoding(token + hello, ticks)))
        comparison.add("apply, 1 host", _figures(time_applying(hello, ticks, 1)))
        comparison.add(f"apply, {HOSTS} hosts", _figures(time_applying(hello, ticks, HOSTS)))
    size = sum(map(len, ticks)) / len(ticks)
    comparison.notes.append(f"{size:.0f} bytes a sample, {len(hello)} bytes a hello")
    return [comparison]


def recorded(count: int) -> tuple[bytes, bytes, list[bytes]]:
    """Return what a sampler says on the fake driver: token, hello, and so many samples."""
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeStage(Path(folder), is_held=True, interval_s=0.04) as stage,
    ):
        child = Child(python_argv(), stage.env())
        try:
            child.write(sampler.payloads()[sampler.CUT])
            child.write(encode_command(1, "rate", interval=0.05))
            output = b""
            while output.count(b'"t":"sample"') <= count:
                output += sampler.drain(child, 0.5)
        finally:
            child.end()
    lines = output.splitlines(keepends=True)
    hellos = [line for line in lines if b'"t":"hello"' in line]
    ticks = [line for line in lines if b'"t":"sample"' in line and line.endswith(b"\n")]
    return lines[0], hellos[0], ticks[:count]


def events_of(*lines: bytes) -> list[Event]:
    """Decode whole lines."""
    decoder = LineDecoder(_TOKEN)
    decoder.feed(_TOKEN.encode() + b"\n")
    return [event for line in lines for event in decoder.feed(line)]


def time_decoding(opening: bytes, ticks: list[bytes]) -> float:
    """Return seconds per sample."""
    decoder = LineDecoder(_TOKEN)
    decoder.feed(opening)

    def decode() -> None:
        for tick in ticks:
            decoder.feed(tick)

    return seconds_of(decode) / len(ticks)


def fleet_of(hello: bytes, hosts: int) -> Fleet:
    """Return a fleet in which every host has said hello."""
    fleet = new_fleet(tuple(f"node{number:03d}" for number in range(hosts)), 0.0)
    (greeting,) = events_of(hello)
    for host in fleet.hosts:
        fleet = apply(fleet, host.name, greeting, 0.0)
    return fleet


def time_applying(hello: bytes, ticks: list[bytes], hosts: int) -> float:
    """Return seconds per sample when every host of the fleet sends one in turn."""
    fleet = fleet_of(hello, hosts)
    names = [host.name for host in fleet.hosts]
    samples = events_of(*ticks)
    rounds = max(2, len(samples) // hosts)

    def run() -> None:
        nonlocal fleet
        for number, sample in enumerate(samples[:rounds]):
            for name in names:
                fleet = apply(fleet, name, replace(sample, seq=number + 1), float(number))

    return seconds_of(run) / (rounds * len(names))


def seconds_of(work: Callable[[], None]) -> float:
    """Return the CPU seconds of this thread that the work took."""
    started_s = time.thread_time()
    work()
    return time.thread_time() - started_s


def _figures(seconds: float) -> dict[str, float | None]:
    return {
        "us_per_sample": seconds * 1e6,
        "samples_s": 1 / seconds,
        "core_pct_128_hosts": 100 * seconds * HOSTS,
    }
