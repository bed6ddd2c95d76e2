"""What a fake GPU reports, as frozen values, and the state file that says so.

The grammar is in README.md; the C library reads it. Equal values render to equal text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MIB = 1024 * 1024
H200_TOTAL = 143771 * MIB
H200_RESERVED = 644_939_776
FOREVER = "forever"
"""A delay that ends only when the state file says otherwise."""


@dataclass(frozen=True, slots=True)
class Process:
    """One row of a GPU's process lists."""

    pid: int
    used: int | None = 0
    """Bytes; None = the driver does not say."""
    kind: str = "C"
    """Letters C, G and M (MPS): the lists that name the process; "-" = none."""
    sm_percent: int | None = None
    """None = not in the utilisation samples."""
    gi: int | None = None
    ci: int | None = None

    def row(self) -> str:
        parts = (self.pid, self.kind, _cell(self.used), self.sm_percent, self.gi, self.ci)
        return "proc " + " ".join("-" if part is None else str(part) for part in parts)


@dataclass(frozen=True, slots=True)
class Instance:
    """One MIG device: a compute instance of a GPU instance. Sizes in bytes."""

    gi: int
    ci: int
    uuid: str
    profile: str = "1g.18gb"
    used: int = 0
    total: int = 16 * 1024 * MIB

    def row(self) -> str:
        return f"instance {self.gi} {self.ci} {self.uuid} {self.used} {self.total} {self.profile}"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. A value of None reads as NVML code 3, not supported."""

    uuid: str
    bus: str
    name: str = "NVIDIA H200"
    total: int = H200_TOTAL
    reserved: int = H200_RESERVED
    used: int = 0
    """Bytes, without the reserve and without what holders add."""
    util: int | None = 0
    mem_util: int | None = 0
    power_mw: int | None = 75_000
    power_limit_mw: int | None = 700_000
    temp: int | None = 30
    clocks: tuple[int, int, int, int] | None = (345, 345, 3201, 1545)
    """Graphics, SM, memory, video; MHz."""
    throttle: int | None = 1
    pstate: int | None = 0
    ecc: tuple[int, int, int, int] | None = (0, 0, 0, 0)
    """Volatile corrected and uncorrected, aggregate corrected and uncorrected."""
    remapped: tuple[int, int, int, int] | None = (0, 0, 0, 0)
    """Corrected, uncorrected, pending, failed."""
    recovery: int | None = 0
    recovery_code: int = 0
    """The field's own NVML code."""
    fan: int | None = None
    persistence: int | None = 1
    mig: tuple[int, int] | None = (0, 0)
    """Current and pending mode."""
    instances: tuple[Instance, ...] = ()
    processes: tuple[Process, ...] = ()
    unified: bool = False
    """No memory of its own: memory reads answer code 3."""
    lost: bool = False
    """Every call on the GPU answers code 15; its handle can still be had."""
    vanished: bool = False
    """Gone from the count; the indices above it move down."""
    rows: tuple[str, ...] = ()
    """Further rows of the grammar; a later row wins over an earlier one."""

    def lines(self) -> Iterator[str]:
        """Yield the GPU's rows without the slot number in front."""
        yield from (f"uuid {self.uuid}", f"bus {self.bus}", f"name {self.name}")
        yield f"total {0 if self.unified else self.total}"
        yield from (f"reserved {self.reserved}", f"used {self.used}")
        yield f"util {_cell(self.util)} {_cell(self.mem_util)}"
        yield f"recovery {_cell(self.recovery)} {self.recovery_code}"
        for key in _ONE_WORD:
            yield f"{key} {_cell(getattr(self, key))}"
        for key in _SEVERAL_WORDS:
            words = getattr(self, key)
            yield f"{key} na" if words is None else f"{key} {' '.join(map(str, words))}"
        yield from (flag for flag in ("unified", "lost", "vanished") if getattr(self, flag))
        yield from (instance.row() for instance in self.instances)
        yield from (process.row() for process in self.processes)
        yield from self.rows


_ONE_WORD = (
    "power_mw",
    "power_limit_mw",
    "temp",
    "throttle",
    "pstate",
    "fan",
    "persistence",
)
_SEVERAL_WORDS = ("clocks", "ecc", "remapped", "mig")


@dataclass(frozen=True, slots=True)
class State:
    """Everything the fake library knows: the system's versions and its GPUs, in slot order."""

    gpus: tuple[Gpu, ...] = ()
    driver: str = "580.159.04"
    nvml: str = "13.580.159.04"
    cuda: int = 13000
    rows: tuple[str, ...] = ()
    """Further system rows, errors and delays of calls on no GPU among them."""

    def render(self) -> str:
        lines = [f"driver {self.driver}", f"nvml {self.nvml}", f"cuda {self.cuda}", *self.rows]
        for slot, gpu in enumerate(self.gpus):
            lines += (f"{slot} {line}" for line in gpu.lines())
        return "\n".join(lines) + "\n"


def idle_h200(slot: int) -> Gpu:
    """Return an idle H200 as the machine of eight names them."""
    return Gpu(
        uuid=f"GPU-00000000-0000-0000-0000-{slot:012d}",
        bus=f"00000000:{0x19 + 0x11 * slot:02X}:00.0",
    )


def _cell(value: int | None) -> str:
    return "na" if value is None else str(value)
