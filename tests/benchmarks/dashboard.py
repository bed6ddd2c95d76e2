"""The dashboard beside nvitop (and nvtop) in a terminal of 200×50, one reading a second."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.processes import Cost, cost_of_tree
from tests.benchmarks.settings import Settings
from tests.benchmarks.stage import FakeStage, RealStage, gpudash_argv, python
from tests.benchmarks.terminal import Terminal

METRICS = (
    Metric("first_paint_s", "first paint s", 2),
    Metric("first_readings_s", "first readings s", 2),
    Metric("start_cpu_s", "CPU s to steady", 2),
    Metric("cpu_pct", "CPU %", 2),
    Metric("rss_mb", "RSS MB"),
    Metric("pss_mb", "PSS MB"),
    Metric("output_bytes_s", "bytes/s", 0),
    Metric("processes", "processes", 0),
)

_WARM_S = 3.0


@dataclass(frozen=True, slots=True)
class Program:
    """A dashboard and how a reading looks on its screen."""

    name: str
    argv: tuple[str, ...]
    reading: str
    """A pattern for memory in use on a real GPU; on the fake driver the sentinel is looked for."""


def programs() -> list[Program]:
    """Return gpudash and the peers that are installed here."""
    found = []
    if find_spec("gpudash.cli.commands.dashboard") is not None:
        found.append(Program("gpudash", tuple(gpudash_argv()), r"\d+\.\d ?/ ?\d+|\d+ ?°"))
    if find_spec("nvitop") is not None:
        argv = python("-m", "nvitop", "-m", "full", "--interval", "1")
        found.append(Program("nvitop", tuple(argv), r"\d[MG]iB / \d"))
    if (nvtop := shutil.which("nvtop")) is not None:
        found.append(Program("nvtop", (nvtop, "-d", "10"), r"\d[MG]i?B? ?/ ?\d|\d+ ?°C"))
    return found


def measure(settings: Settings) -> list[Comparison]:
    """Run each program in turn, several times."""
    where = "this machine's driver" if settings.is_real else "fake driver, 8 GPUs, 3 holders"
    comparison = Comparison(
        f"dashboard: 200×50, 1 s, {where}, {settings.window_s:.0f} s after "
        f"{settings.settle_s:.0f} s",
        METRICS,
        ratios=(("gpudash", "nvitop"), ("gpudash", "nvtop")),
    )
    known = programs()
    if all(program.name != "gpudash" for program in known):
        comparison.notes.append("this gpudash has no dashboard command yet")
    with tempfile.TemporaryDirectory() as folder:
        is_real = settings.is_real
        stage = RealStage(Path(folder)) if is_real else FakeStage(Path(folder), is_held=True)
        with stage:
            for program in known:
                warm(program, stage.env())
            for _ in range(settings.runs):
                for program in known:
                    pattern = program.reading if is_real else FakeStage.SENTINEL
                    comparison.add(program.name, run_once(program, stage.env(), pattern, settings))
    return [comparison]


def warm(program: Program, env: Mapping[str, str]) -> None:
    """Run a program for a moment, so that files are cached and modules compiled."""
    with Terminal(program.argv, env):
        time.sleep(_WARM_S)


def run_once(
    program: Program, env: Mapping[str, str], pattern: str, settings: Settings
) -> dict[str, float | None]:
    """Start a program, let it settle, watch it, end it; return what it cost."""
    with Terminal(program.argv, env) as terminal:
        time.sleep(settings.settle_s)
        before, bytes_before, started_s = cost_now(terminal)
        time.sleep(settings.window_s)
        after, bytes_after, ended_s = cost_now(terminal)
        has_ended = terminal.has_ended
    recording = terminal.recording
    if has_ended:
        raise RuntimeError(f"{program.name} ended by itself:\n{recording.screen_text()}")
    seconds = ended_s - started_s
    return {
        "first_paint_s": recording.first_paint_s(),
        "first_readings_s": recording.first_match_s(pattern),
        "start_cpu_s": before.cpu_s,
        "cpu_pct": 100 * (after.cpu_s - before.cpu_s) / seconds,
        "rss_mb": after.rss_mb,
        "pss_mb": after.pss_mb,
        "output_bytes_s": (bytes_after - bytes_before) / seconds,
        "processes": after.processes,
    }


def cost_now(terminal: Terminal) -> tuple[Cost, int, float]:
    """Return what the tree has used until this moment, and what it has written."""
    return cost_of_tree(terminal.pid), terminal.recording.total_bytes, time.monotonic()
