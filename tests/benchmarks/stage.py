"""The driver that everything is measured on, and the environment of what is measured.

`FakeStage`: eight fake GPUs whose readings change every second, and a few processes that hold
memory. `RealStage`: the driver of this machine as it is.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import gpudash
from tests.fake_driver import MIB, FakeDriver, Holder, Process

_LEFT_OUT = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME")
"""Nobody measures what compiling the package at every start takes."""

_ROOT = Path(gpudash.__file__).resolve().parent.parent
_IS_INSTALLED = "site-packages" in _ROOT.parts or "dist-packages" in _ROOT.parts


def python(*arguments: str) -> list[str]:
    """Return how this interpreter is started on a module, without the current folder."""
    return [sys.executable, "-P", *arguments]


def gpudash_argv(*words: str) -> list[str]:
    """Return how the gpudash that this process imports is started."""
    return python("-m", "gpudash", *words)


def console_script() -> Path | None:
    """Return the installed entry point beside this interpreter."""
    script = Path(sys.executable).parent / "gpudash"
    return script if _IS_INSTALLED and script.exists() else None


def base_env(folder: Path) -> dict[str, str]:
    """Return an environment with folders of its own, for gpudash and its peers alike."""
    env = {key: value for key, value in os.environ.items() if key not in _LEFT_OUT}
    if not _IS_INSTALLED:
        env["PYTHONPATH"] = str(_ROOT)
    for name in ("CACHE", "CONFIG", "STATE", "DATA"):
        env[f"XDG_{name}_HOME"] = str(folder / name.lower())
    return env


@dataclass(frozen=True, slots=True)
class RealStage:
    """This machine's driver, untouched."""

    folder: Path

    def env(self) -> dict[str, str]:
        """Return what children run with."""
        return base_env(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeStage:
    """Eight fake GPUs; a context manager that lets their readings move and ends the holders."""

    SENTINEL_BYTES = 79565 * MIB
    SENTINEL = r"77\.70?(?![\d%])"
    """Used on the last GPU, and on no other: where it stands on a screen, readings have arrived."""

    def __init__(self, folder: Path, *, is_held: bool, interval_s: float = 1.0) -> None:
        self.folder = folder
        self.driver = FakeDriver.h200(8, folder / "driver").write()
        self._is_held = is_held
        self._interval_s = interval_s
        self._holders: tuple[Holder, ...] = ()
        self._stack = ExitStack()
        self._stop = threading.Event()
        self._random = random.Random(8)
        self._thread = threading.Thread(target=self._move, daemon=True)

    def env(self) -> dict[str, str]:
        """Return what children run with."""
        return self.driver.env(base_env(self.folder))

    def __enter__(self) -> Self:
        if self._is_held:
            self._hold()
            self._rewrite()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._stack.close()

    def _hold(self) -> None:
        """Two servers over four GPUs each, and one small process."""
        for gpus, gib, title in (
            ((0, 1, 2, 3), 60, "server-a"),
            ((4, 5, 6), 40, "server-b"),
            ((7,), 0, "notebook"),
        ):
            holder = Holder(self.driver, gpus, gib * 1024 * MIB, title=title)
            self._holders += (self._stack.enter_context(holder),)

    def _move(self) -> None:
        while not self._stop.wait(self._interval_s):
            self._rewrite()

    def _rewrite(self) -> None:
        draw = self._random
        driver = self.driver
        for slot in range(7):
            driver = driver.with_gpu(
                slot,
                used=draw.randrange(1, 40) * 512 * MIB,
                util=draw.randrange(20, 100),
                mem_util=draw.randrange(10, 60),
                power_mw=draw.randrange(200_000, 690_000),
                temp=draw.randrange(40, 75),
                clocks=(draw.randrange(1200, 1980), draw.randrange(1200, 1980), 3201, 1545),
            )
        sentinel = self.SENTINEL_BYTES
        driver = driver.with_gpu(7, used=sentinel, util=draw.randrange(20, 100), temp=61)
        driver = driver.with_process(7, Process(self._holders[2].pid, sentinel))
        driver.write()
