"""A machine with a scripted nvidia-smi, and a viewer of what a stream says of it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpudash.core.events import Event
from gpudash.core.fleet import step
from gpudash.core.model import Host
from gpudash.core.verify import Clear, judge_host
from gpudash.sources.base import Stream
from gpudash.sources.smi import SmiSource

FAKE = Path(__file__).parents[1] / "data" / "fake_smi.py"
LIMIT_S = 20.0


def gpu(index: int, used: object = 0, **cells: object) -> dict[str, object]:
    return {
        "uuid": f"GPU-0000000{index}-0000",
        "index": index,
        "pci.bus_id": f"00000000:0{index + 1}:00.0",
        "memory.used": used,
        "memory.total": 24576,
        "pstate": "P0",
        "utilization.gpu": 0,
        "temperature.gpu": 40,
        "power.draw": "60.50",
        "clocks.sm": 1410,
        "clocks_throttle_reasons.active": "0x0000000000000001",
        "gpu_recovery_action": "None",
        "mig.mode.current": "Disabled",
        "memory.reserved": 316,
        "power.limit": "350.00",
        "driver_version": "590.48.01",
        "name": "NVIDIA Test, rev. 2",
        **cells,
    }


class Machine:
    """A folder with the stand-in, and what it shall print."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source = FAKE.read_text()
        program = folder / "nvidia-smi"
        program.write_text(f"#!{sys.executable} -ISB\n{source}")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.says(gpus=[gpu(0), gpu(1)])

    def says(self, **state: Any) -> None:
        new = self.folder / "smi.json.new"
        new.write_text(json.dumps(state))
        new.replace(self.folder / "smi.json")

    def source(self, **more: Any) -> SmiSource:
        return SmiSource("local", path=f"{self.folder}:{os.environ['PATH']}", **more)

    def living(self) -> list[int]:
        pids = (self.folder / "pids").read_text().split()
        return [int(pid) for pid in pids if Path(f"/proc/{pid}/cmdline").exists()]


class Viewer:
    """Applies what a stream says to a host."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.host = Host(name="local")
        self.seen: list[Event] = []

    async def until(self, wanted: Callable[[Host], bool]) -> Host:
        async with asyncio.timeout(LIMIT_S):
            while True:
                for event in await self.stream.read():
                    self.seen.append(event)
                    self.host = step(self.host, event, 0.0)
                    if wanted(self.host):
                        return self.host


def is_clear(host: Host) -> bool:
    return judge_host(host).clear is Clear.YES
