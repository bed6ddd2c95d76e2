"""`gpudash check` beside the least that a one-shot can cost: in Python, in C, nvidia-smi's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings
from tests.benchmarks.stage import FakeStage, RealStage, console_script, gpudash_argv, python

METRICS = (Metric("wall_ms", "wall ms"), Metric("cpu_ms", "CPU ms"))
CHECK = "gpudash check"
BARE = "bare pynvml"
IN_C = "C one-shot"
SMI = "nvidia-smi --query-gpu"
_SOURCES = Path(__file__).parent
_SMI = ("nvidia-smi", "--query-gpu=index,memory.used,memory.total", "--format=csv,noheader")


def measure(settings: Settings) -> list[Comparison]:
    """Measure it on GPUs that nobody holds; on the fake driver also with holders."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        commands = contenders(root, settings)
        if settings.is_real:
            with RealStage(root) as real:
                return [compare("this machine's driver", commands, real.env(), settings.one_shots)]
        found = []
        for is_held, what in ((False, "nothing held"), (True, "3 holders")):
            with FakeStage(root / what, is_held=is_held, interval_s=3600) as fake:
                title = f"fake driver, 8 GPUs, {what}"
                found.append(compare(title, commands, fake.env(), settings.one_shots))
        return found


def contenders(folder: Path, settings: Settings) -> dict[str, list[str]]:
    """Return the commands that can be run here."""
    commands = {CHECK: gpudash_argv("check")}
    if (script := console_script()) is not None:
        commands["gpudash check (script)"] = [str(script), "check"]
    commands[BARE] = python(str(_SOURCES / "one_shot.py"))
    if (compiled := compile_one_shot(folder)) is not None:
        commands[IN_C] = [str(compiled)]
    if settings.is_real and shutil.which(_SMI[0]):
        commands[SMI] = list(_SMI)
    commands["python -c pass"] = python("-c", "pass")
    return commands


def compile_one_shot(folder: Path) -> Path | None:
    """Compile the one-shot in C; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    target = folder / "one_shot"
    source = str(_SOURCES / "one_shot.c")
    subprocess.run([compiler, "-std=gnu11", "-O2", "-o", str(target), source, "-ldl"], check=True)
    return target


def compare(
    title: str, commands: Mapping[str, list[str]], env: Mapping[str, str], runs: int
) -> Comparison:
    """Run the commands in turns; the first turn warms caches and does not count."""
    comparison = Comparison(
        f"check: {title}, {runs} runs in turns", METRICS, ratios=tuple(_pairs(commands))
    )
    for turn in range(runs + 1):
        for name, argv in commands.items():
            wall_ms, cpu_ms, status = time_once(argv, env)
            if status not in _EXPECTED.get(name, (0,)):
                raise RuntimeError(f"{name} ended with exit code {status}")
            if turn:
                comparison.add(name, {"wall_ms": wall_ms, "cpu_ms": cpu_ms})
    return comparison


_EXPECTED = {
    CHECK: (0, 1),
    "gpudash check (script)": (0, 1),
}


def _pairs(commands: Iterable[str]) -> list[tuple[str, str]]:
    known = set(commands)
    return [(CHECK, other) for other in (BARE, IN_C, SMI) if other in known]


def time_once(argv: list[str], env: Mapping[str, str]) -> tuple[float, float, int]:
    """Run a command to its end; return wall ms, CPU ms of it and its children, and its status."""
    with open(os.devnull, "r+b") as null:
        actions = [(os.POSIX_SPAWN_DUP2, null.fileno(), fd) for fd in (0, 1, 2)]
        started_s = time.perf_counter()
        pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        wall_s = time.perf_counter() - started_s
    cpu_s = usage.ru_utime + usage.ru_stime
    return wall_s * 1000, cpu_s * 1000, os.waitstatus_to_exitcode(status)
