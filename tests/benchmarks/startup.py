"""Following a start-up's log: CPU per line, and the memory of one endless line."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

from gpudash.config.markers import load_catalog
from gpudash.core.startup.model import Arrived, LogEnded
from gpudash.core.startup.tracker import Tracker, step
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings

LINE = (Metric("us_per_line", "µs a line"), Metric("lines_s", "lines/s", 0))
ENDLESS = (Metric("held_kib", "held KiB", 0), Metric("us_per_kib", "µs a KiB", 2))
BUDGET_US = 50
FOLDER = Path(__file__).parent.parent / "data" / "startup-logs"
_CHUNK_BYTES = 1 << 16
_ENDLESS_BYTES = 8_000_000


def measure(settings: Settings) -> list[Comparison]:
    """Time every recorded log, one after the other, in big pieces and line by line."""
    logs = [path.read_bytes() for path in sorted(FOLDER.glob("*.log"))]
    lines = Comparison(f"startup: {len(logs)} recorded logs (budget {BUDGET_US} µs a line)", LINE)
    endless = Comparison("startup: 8 MB of one bar that never ends", ENDLESS)
    longest = max(logs, key=len)
    for _ in range(settings.loops):
        lines.add("all, in 64 KiB pieces", _per_line(b"".join(logs) * 3, _CHUNK_BYTES))
        lines.add("the longest, again and again", _per_line(longest * 20, _CHUNK_BYTES))
        lines.add("the longest, in 80 B pieces", _per_line(longest * 4, 80))
        endless.add("carriage returns", _endless(b"\r 40%|####      | 40/100 [00:40<01:00, 1it/s]"))
        endless.add("no break at all", _endless(b"................"))
    lines.notes.append(f"here one look for a word in a line takes {_look_ns():.0f} ns")
    return [lines, endless]


def _look_ns() -> float:
    """A yardstick: what this machine takes now for the work that a line is made of."""
    line, count = "[2026-01-14 03:22:08 TP3] Load weight end. type=DeepseekV3ForCausalLM", 200_000
    started_s = time.thread_time()
    for _ in range(count):
        "Capture " in line  # noqa: B015
    return (time.thread_time() - started_s) / count * 1e9


def _per_line(data: bytes, chunk: int) -> dict[str, float | None]:
    state = Tracker(catalog=load_catalog())
    started_s = time.thread_time()
    for at in range(0, len(data), chunk):
        state, _ = step(state, Arrived(data=data[at : at + chunk], at_s=0.0))
    step(state, LogEnded(at_s=0.0))
    seconds = (time.thread_time() - started_s) / data.count(b"\n")
    return {"us_per_line": seconds * 1e6, "lines_s": 1 / seconds}


def _endless(part: bytes) -> dict[str, float | None]:
    state = Tracker(catalog=load_catalog())
    chunk = part * (_CHUNK_BYTES // len(part))
    started_s = time.thread_time()
    for _ in range(_ENDLESS_BYTES // len(chunk)):
        state, _ = step(state, Arrived(data=chunk, at_s=0.0))
    seconds = time.thread_time() - started_s
    tracemalloc.start()
    try:
        state = Tracker(catalog=load_catalog())
        for _ in range(16):
            state, _ = step(state, Arrived(data=chunk, at_s=0.0))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return {"held_kib": held / 1024, "us_per_kib": seconds * 1e6 / (_ENDLESS_BYTES / 1024)}
