"""A simulated host: its boards, who uses them, and what is wrong with it.

`Machine.instants(t)` is a pure function of the machine and demo time, also for times before the
launch; everything that the demo says comes from it.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from gpudash.sources.demo.deeds import MIB_A_SECOND, Deeds
from gpudash.sources.demo.noise import key_of, smooth
from gpudash.sources.demo.playing import Dying
from gpudash.sources.demo.tasks import Task

MIB = 1 << 20
CONTEXT_MIB = 2
"""What one context takes beyond what the driver lists for its process."""
RESET = 1
"""NVML's recovery action `reset`."""
THROTTLE_IDLE = 0x1
THROTTLE_HEAT = 0x20
"""nvmlClocksEventReasonSwThermalSlowdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One kind of GPU."""

    name: str
    driver: str
    nvml: str
    total_mib: int
    reserved_mib: int
    limit_w: int
    idle_w: float
    ready_w: float
    """With a context and no work."""
    full_w: float
    idle_c: float
    full_c: float
    idle_mhz: int
    full_mhz: int


RTX_PRO_6000 = Board(
    name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
    driver="575.57.08",
    nvml="12.575.57.08",
    total_mib=97_887,
    reserved_mib=641,
    limit_w=600,
    idle_w=33,
    ready_w=86,
    full_w=410,
    idle_c=34,
    full_c=61,
    idle_mhz=180,
    full_mhz=1980,
)
H200 = Board(
    name="NVIDIA H200",
    driver="580.159.04",
    nvml="13.580.159.04",
    total_mib=143_771,
    reserved_mib=615,
    limit_w=700,
    idle_w=73,
    ready_w=116,
    full_w=655,
    idle_c=32,
    full_c=62,
    idle_mhz=345,
    full_mhz=1980,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One process on one GPU at one moment."""

    gpu: int
    task: Task
    mib: int
    load: float = 0.0
    """0 to 1: how busy it keeps the GPU."""
    heat: float = 0.0
    """0 to 1: the same, as slow as temperature is."""
    instance: int | None = None
    """MIG GPU instance."""


class Tenant(Protocol):
    """Somebody who uses GPUs."""

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return what is held at a time; a pure function."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bystander:
    """A process with GPUs open that the driver lists for no memory."""

    task: Task
    gpus: tuple[int, ...] = ()
    can_compute: bool = False
    """It has unified memory open too: a child of somebody who computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One MIG device with the whole of its GPU instance."""

    gpu: int
    instance: int
    profile: str
    total_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ailment:
    """What is wrong with one GPU from some time on."""

    gpu: int
    since_s: float
    what: str
    """`lost`, `reset` or `stray` (memory that no process accounts for)."""
    mib: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """When a host says nothing, again and again."""

    first_s: float
    length_s: float
    period_s: float

    def left_s(self, at_s: float) -> float:
        """Return for how long it stays silent; 0 when it speaks."""
        into_s = (at_s - self.first_s) % self.period_s
        if at_s < self.first_s or into_s >= self.length_s:
            return 0.0
        return self.length_s - into_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """One GPU at one moment, as the driver would tell it."""

    used_bytes: int
    utilisation_pct: int
    power_mw: int
    temperature_c: int
    sm_clock_mhz: int
    throttle_bits: int
    pstate: int
    recovery_action: int
    holdings: tuple[Holding, ...]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One simulated host."""

    name: str
    seed: int
    boards: tuple[Board, ...]
    tenants: tuple[Tenant, ...] = ()
    ailments: tuple[Ailment, ...] = ()
    slices: tuple[Slice, ...] = ()
    silence: Silence | None = None
    hangs_from_s: float | None = None
    """From then on the driver does not return from reading GPU 2."""
    driver_code: int | None = None
    """NVML code that starting the driver session ends with."""
    hot_gpu: int | None = None
    """Slowed by heat for 4 s in every 3 minutes."""
    bystanders: tuple[Bystander, ...] = ()
    deeds: Deeds = field(default_factory=Deeds, compare=False)
    """What was done here by orders."""

    def identity(self, what: str, place: int = 0) -> str:
        """Return a UUID that belongs to a part of this host, the same in every run."""
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{what}.{place}.{self.name}.gpudash.invalid"))

    def gpu_uuid(self, gpu: int) -> str:
        """Return a GPU's UUID in NVML's form."""
        return f"GPU-{self.identity('gpu', gpu)}"

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return everything that is held on this host at a time."""
        return tuple(
            replace(held, mib=left, load=0.0) if left < held.mib else held
            for tenant in self.tenants
            for held in tenant.holdings(at_s)
            if (left := self.deeds.left_mib(held.task, held.mib, at_s))
        )

    def tasks(self, at_s: float) -> dict[int, Task]:
        """Return the processes that exist, by pid: holders, who is above them, and bystanders."""
        held = [one.task for one in self.holdings(at_s) if not one.task.is_dead]
        every = [*held, *(one.task for one in self.bystanders)]
        known = {task.pid: task for task in every}
        known.update((above.pid, above) for task in every for above in task.ancestors())
        return {pid: task for pid, task in known.items() if not self.deeds.is_gone(task, at_s)}

    def dying(self, at_s: float) -> dict[int, Dying]:
        """Return who exists, and how long each takes to give its memory back when it ends."""
        held: dict[int, int] = {}
        for one in self.holdings(at_s):
            pid = one.task.keeper or one.task.pid
            held[pid] = max(held.get(pid, 0), one.mib)
        return {
            pid: Dying(task, held.get(pid, 0) / MIB_A_SECOND)
            for pid, task in self.tasks(at_s).items()
        }

    def parent_of(self, task: Task, at_s: float) -> int:
        """Return the pid above a process: init's, once its parent is gone."""
        parent = task.parent
        return parent.pid if parent and not self.deeds.is_gone(parent, at_s) else 1

    def silent_left_s(self, at_s: float) -> float:
        """Return for how long this host stays silent; 0 when it speaks."""
        return self.silence.left_s(at_s) if self.silence else 0.0

    def instants(self, at_s: float) -> tuple[Instant | None, ...]:
        """Return all GPUs at a time; None for a lost one."""
        shares: list[list[Holding]] = [[] for _ in self.boards]
        for holding in self.holdings(at_s):
            shares[holding.gpu].append(holding)
        ailing: list[list[Ailment]] = [[] for _ in self.boards]
        for ailment in self.ailments:
            if at_s >= ailment.since_s:
                ailing[ailment.gpu].append(ailment)
        return tuple(
            self._instant(gpu, tuple(shares[gpu]), ailing[gpu], at_s)
            for gpu in range(len(self.boards))
        )

    def _instant(
        self, gpu: int, held: tuple[Holding, ...], ailments: list[Ailment], at_s: float
    ) -> Instant | None:
        wrong = {ailment.what for ailment in ailments}
        if "lost" in wrong:
            return None
        board = self.boards[gpu]
        load = max([holding.load for holding in held]) if held else 0.0
        used_mib = sum([holding.mib + CONTEXT_MIB for holding in held])
        used_mib += sum([ailment.mib for ailment in ailments])
        is_hot = load > 0 and gpu == self.hot_gpu and 100 <= at_s % 180 < 104
        busy = load > 0.005
        return Instant(
            used_bytes=used_mib * MIB,
            utilisation_pct=round(100 * load),
            power_mw=self._power_mw(gpu, board, load, bool(held), at_s),
            temperature_c=self._temperature_c(gpu, board, held, at_s) + (9 if is_hot else 0),
            sm_clock_mhz=board.full_mhz - 225 * is_hot if held else board.idle_mhz,
            throttle_bits=THROTTLE_HEAT if is_hot else 0 if busy else THROTTLE_IDLE,
            pstate=0 if held else 8,
            recovery_action=RESET if "reset" in wrong else 0,
            holdings=held,
        )

    @cached_property
    def _keys(self) -> tuple[int, ...]:
        return tuple(key_of(self.seed, self.name, gpu) for gpu in range(len(self.boards)))

    def _power_mw(self, gpu: int, board: Board, load: float, ready: bool, at_s: float) -> int:
        least = board.ready_w if ready else board.idle_w
        wobble = (smooth(self._keys[gpu], at_s, 5.0) - 0.5) * (2 + 14 * load)
        return round(1000 * (least + load * (board.full_w - least) + wobble))

    def _temperature_c(self, gpu: int, board: Board, held: tuple[Holding, ...], at_s: float) -> int:
        heat = max([holding.heat for holding in held]) if held else 0.0
        warm = 5.0 if held else 0.0
        place = gpu * 5 % 4
        drift = smooth(self._keys[gpu] + 1, at_s, 45.0) * 1.5
        span = board.full_c - board.idle_c - warm
        return round(board.idle_c + warm + place + heat * span + drift)
