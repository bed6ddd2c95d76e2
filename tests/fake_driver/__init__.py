"""A fake NVIDIA driver: a libnvidia-ml.so.1 in C and an nvidia-smi, told what to say by a file.

A `FakeDriver` is a value; the `with_…` methods return changed ones and `write()` makes one of them
true for every process that runs under `env()`. Holders (see `Holder`) stand in for GPU processes:
their memory is freed when the last handle closes, not when the test says so.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.fake_driver.build import SONAME, CompilerMissing, library_folder
from tests.fake_driver.holding import Holder
from tests.fake_driver.state import FOREVER, MIB, Gpu, Instance, Process, State, idle_h200

__all__ = [
    "FOREVER",
    "MIB",
    "CompilerMissing",
    "FakeDriver",
    "Gpu",
    "Holder",
    "Instance",
    "Process",
    "State",
    "library_folder",
]

_NVIDIA_SMI = Path(__file__).with_name("nvidia_smi.py")


@dataclass(frozen=True, slots=True)
class FakeDriver:
    """A state and the folder in which it is written. A GPU is named by its slot, from 0."""

    folder: Path
    state: State = field(default_factory=State)
    old_450: bool = False
    """Use the library without the symbols that a 450 driver lacks."""

    @classmethod
    def h200(cls, count: int, folder: Path) -> FakeDriver:
        """Return `count` idle H200 GPUs; nothing is written yet."""
        return cls(folder, State(gpus=tuple(idle_h200(slot) for slot in range(count))))

    @property
    def state_file(self) -> Path:
        return self.folder / "state"

    @property
    def library(self) -> Path:
        """The shared library, for a test that loads it by its path."""
        return library_folder(self.old_450) / SONAME

    def write(self) -> FakeDriver:
        """Replace the state file in one step and return self."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".state-{os.getpid()}"
        temporary.write_text(self.state.render())
        os.replace(temporary, self.state_file)
        return self

    def env(self, base: dict[str, str] | None = None, *, smi: bool = False) -> dict[str, str]:
        """Return `base` (or this process's environment) so that a child sees the fake driver.

        With `smi`, a folder with an `nvidia-smi` stands first in PATH.
        """
        env = dict(os.environ if base is None else base)
        env["FAKE_NVML_STATE"] = str(self.state_file)
        _prepend(env, "LD_LIBRARY_PATH", library_folder(self.old_450))
        if smi:
            _prepend(env, "PATH", self._smi_folder())
        return env

    def _smi_folder(self) -> Path:
        folder = self.folder / "bin"
        folder.mkdir(parents=True, exist_ok=True)
        script = folder / "nvidia-smi"
        command = shlex.join([sys.executable, "-ESsB", str(_NVIDIA_SMI)])
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
        return folder

    # Changed copies.

    def with_state(self, **changes: Any) -> FakeDriver:
        """Return a copy with some of the `State` fields changed."""
        return replace(self, state=replace(self.state, **changes))

    def with_rows(self, *rows: str) -> FakeDriver:
        """Return a copy with further system rows."""
        return self.with_state(rows=(*self.state.rows, *rows))

    def with_gpu(self, gpu: int, **changes: Any) -> FakeDriver:
        """Return a copy with some of one GPU's `Gpu` fields changed."""
        gpus = list(self.state.gpus)
        gpus[gpu] = replace(gpus[gpu], **changes)
        return self.with_state(gpus=tuple(gpus))

    def with_gpu_rows(self, gpu: int, *rows: str) -> FakeDriver:
        """Return a copy with further rows for one GPU."""
        return self.with_gpu(gpu, rows=(*self.state.gpus[gpu].rows, *rows))

    def with_used(self, gpu: int, used: int) -> FakeDriver:
        """Return a copy in which one GPU uses `used` bytes besides what holders add."""
        return self.with_gpu(gpu, used=used)

    def with_process(self, gpu: int, process: Process) -> FakeDriver:
        """Return a copy with one more process row; the row adds nothing to `used`."""
        return self.with_gpu(gpu, processes=(*self.state.gpus[gpu].processes, process))

    def with_error(self, gpu: int | None, call: str, code: int) -> FakeDriver:
        """Return a copy in which a call answers an NVML code; `gpu` None = a system call.

        `call` is the function's name without `nvmlDeviceGet`, `nvmlDevice`, `nvmlSystemGet` or
        `nvml`, and may end in a star: `MemoryInfo_v2`, `MemoryInfo*`, `Init*`.
        """
        return self._with_told(gpu, f"err.{call} {code}")

    def with_delay(self, gpu: int | None, call: str, delay_us: int | str) -> FakeDriver:
        """Return a copy in which a call first waits; `FOREVER` hangs until the state changes."""
        return self._with_told(gpu, f"delay.{call} {delay_us}")

    def _with_told(self, gpu: int | None, row: str) -> FakeDriver:
        return self.with_rows(row) if gpu is None else self.with_gpu_rows(gpu, row)

    def with_init_error(self, code: int) -> FakeDriver:
        """Return a copy in which NVML cannot be initialised."""
        return self.with_error(None, "Init*", code)

    def lose(self, gpu: int) -> FakeDriver:
        """Return a copy in which the GPU has fallen off the bus."""
        return self.with_gpu(gpu, lost=True)

    def vanish(self, gpu: int) -> FakeDriver:
        """Return a copy in which the GPU is gone from the count."""
        return self.with_gpu(gpu, vanished=True)

    def unify(self, gpu: int) -> FakeDriver:
        """Return a copy in which the GPU shares the system's memory."""
        return self.with_gpu(gpu, unified=True)


def _prepend(env: dict[str, str], name: str, folder: Path) -> None:
    env[name] = os.pathsep.join(filter(None, (str(folder), env.get(name, ""))))
