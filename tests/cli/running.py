"""Run gpudash as its user does: another process, its exit code, stdout and stderr apart."""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gpudash
from tests.fake_driver import FakeDriver

PACKAGE_ROOT = Path(gpudash.__file__).parents[1]
PATIENCE_S = 120


@dataclass(frozen=True, slots=True)
class Done:
    """What one command gave."""

    code: int
    out: str
    err: str


def environment(driver: FakeDriver | None, folder: Path, **changes: str) -> dict[str, str]:
    """Return an environment with this driver and no other, and with nothing of the user's."""
    env = {
        "PATH": str(folder / "empty"),
        "PYTHONPATH": str(PACKAGE_ROOT),
        "PYTHONWARNINGS": "error",
        "XDG_CACHE_HOME": str(folder / "cache"),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    if driver is not None:
        env = driver.env(env)
    else:
        # A library that can't be loaded stands before whatever this machine has.
        broken = folder / "no-driver"
        broken.mkdir(exist_ok=True)
        (broken / "libnvidia-ml.so.1").touch()
        env["LD_LIBRARY_PATH"] = str(broken)
    return env | changes


def command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "gpudash", *words]


class Runner:
    """Runs commands with one cache folder for all of a test session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def env(self, driver: FakeDriver | None, **changes: str) -> dict[str, str]:
        return environment(driver, self.folder, **changes)

    def __call__(self, driver: FakeDriver | None, *words: str, **changes: str) -> Done:
        done = subprocess.run(
            command(*words),
            env=self.env(driver, **changes),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        assert b"\x1b" not in done.stdout + done.stderr
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def wait_for(is_so: Callable[[], bool]) -> None:
    """Look until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "it never came to be so"
        select.select([], [], [], 0.01)


def children_of(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    """Tell whether a process of that pid runs; a zombie that nobody waits for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
