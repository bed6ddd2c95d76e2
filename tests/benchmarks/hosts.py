"""`gpudash check HOST` beside `ssh HOST nvidia-smi …` against the same sshd; and 32 hosts at once.

The sshd, the hosts' probes and the client share this machine's cores, so the many-hosts figures
are mostly those of the far end.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.benchmarks.check import time_once
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings
from tests.benchmarks.stage import base_env, gpudash_argv
from tests.fake_driver import FakeDriver
from tests.ssh.sshd import SSH, SSHD, Home, Sshd, session_env

METRICS = (Metric("wall_ms", "wall ms", 0), Metric("cpu_ms", "CPU ms, here", 0))
CHECK = "gpudash check HOST"
SMI = "ssh HOST nvidia-smi --query-gpu"
TRUE = "ssh HOST true"
MANY = 32
CHECK_MANY = f"gpudash check, {MANY} hosts"
SMI_MANY = f"{MANY} × ssh HOST nvidia-smi, 4 at a time"
_QUERY = "nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader"


def measure(settings: Settings) -> list[Comparison]:
    """Measure it over loopback, on the fake driver."""
    if not (SSH and SSHD):
        raise RuntimeError("OpenSSH's sshd and ssh are needed")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        driver = FakeDriver.h200(8, root / "driver").write()
        home = Home(root / "home")
        sshd = Sshd(root / "gpu-a", home.public, env=session_env(driver, smi=True)).start()
        try:
            home.knows(sshd)
            names = [f"node{number:02}" for number in range(MANY)]
            for name in ("gpu-a", *names):
                home.name(name, sshd.port)
            return [_one(home, settings), _many(home, names, settings)]
        finally:
            sshd.stop()


def _one(home: Home, settings: Settings) -> Comparison:
    commands = {
        CHECK: gpudash_argv("check", "gpu-a"),
        SMI: [str(home.bin / "ssh"), "gpu-a", _QUERY],
        TRUE: [str(home.bin / "ssh"), "gpu-a", "true"],
    }
    return _compare(
        f"one host over SSH, {settings.one_shots} runs in turns",
        commands,
        home,
        settings.one_shots,
        ((CHECK, SMI), (CHECK, TRUE)),
    )


def _many(home: Home, names: list[str], settings: Settings) -> Comparison:
    each = f"printf '%s\\n' {' '.join(names)} | xargs -P 4 -I H ssh H '{_QUERY}'"
    commands = {CHECK_MANY: gpudash_argv("check", *names), SMI_MANY: ["sh", "-c", each]}
    return _compare(
        f"{MANY} hosts over SSH, {settings.runs} runs in turns",
        commands,
        home,
        settings.runs,
        ((CHECK_MANY, SMI_MANY),),
    )


def _compare(
    title: str,
    commands: dict[str, list[str]],
    home: Home,
    runs: int,
    ratios: tuple[tuple[str, str], ...],
) -> Comparison:
    env = home.env(base_env(home.folder))
    comparison = Comparison(title, METRICS, ratios=ratios)
    for turn in range(runs + 1):
        for name, argv in commands.items():
            wall_ms, cpu_ms, status = time_once(argv, env)
            if status:
                raise RuntimeError(f"{name} ended with exit code {status}")
            if turn:
                comparison.add(name, {"wall_ms": wall_ms, "cpu_ms": cpu_ms})
    return comparison
