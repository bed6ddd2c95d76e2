"""Slower answers laid onto each tick while they are fresh: processes, recovery actions, slices.

A tick is newer than what is laid on it. Where memory has come down to 0 since, an old list says
nothing any more: it is left out and asked for anew, never held against the newer zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gpudash.core.model import GpuInfo, GpuProcess, GpuReading, Kind, MigReading
from gpudash.core.smi.cells import UNKNOWN_ERROR
from gpudash.core.smi.processes import ProcessList
from gpudash.core.smi.ticks import Tick

_OLD_HEALTH = "its health was not read for a while"
TYPED_FOR_S = 11.0
"""So long a graphics process counts that only the document lists: it is asked for every 10 s."""
STALE_AFTER_S = 20.0
"""So long a slower answer counts; each is asked for at least every ten seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    at_s: float
    uuids: tuple[str | None, ...]
    used: tuple[int | None, ...]
    """Used memory by GPU when the list was taken."""
    processes: ProcessList | None
    """None when it was asked for and not answered."""


@dataclass(slots=True)
class Overlay:
    """What the slower commands said last."""

    has_outdated: bool = False
    """A list was left out of the newest tick because memory has changed to 0 since."""
    _listed: _Listed | None = None
    _recovery: dict[str, tuple[int | None, float]] = field(default_factory=dict)
    _slices: dict[str, tuple[tuple[MigReading, ...], float]] = field(default_factory=dict)
    _typed: dict[str, tuple[tuple[GpuProcess, ...], float]] = field(default_factory=dict)

    def list_processes(
        self, answer: ProcessList | None, roster: tuple[GpuInfo, ...], tick: Tick, now_s: float
    ) -> None:
        """Take a process list, or note that there was no answer."""
        self._listed = _Listed(
            at_s=now_s,
            uuids=tuple(info.uuid for info in roster),
            used=tuple(reading.used_bytes for reading in tick),
            processes=answer,
        )

    def recovery(self, uuid: str, action: int | None, now_s: float) -> None:
        """Take the recovery action that the driver recommends for a GPU."""
        self._recovery[uuid] = (action, now_s)

    def slices(self, uuid: str, slices: tuple[MigReading, ...], now_s: float) -> None:
        """Take the MIG devices of a GPU."""
        self._slices[uuid] = (slices, now_s)

    def kinds(self, uuid: str, processes: tuple[GpuProcess, ...], now_s: float) -> None:
        """Take how each process uses a GPU; the short list names only those that compute."""
        self._typed[uuid] = (processes, now_s)

    def lay(self, tick: Tick, roster: tuple[GpuInfo, ...], now_s: float) -> Tick:
        """Return the tick with everything that is fresh."""
        self.has_outdated = False
        tick = self._with_processes(tick, roster, now_s)
        return tuple(
            self._with_rest(reading, info.uuid or "", now_s)
            for reading, info in zip(tick, roster, strict=True)
        )

    def _with_processes(self, tick: Tick, roster: tuple[GpuInfo, ...], now_s: float) -> Tick:
        listed = self._listed
        if listed is None or listed.uuids != tuple(info.uuid for info in roster):
            return tick
        if now_s - listed.at_s > STALE_AFTER_S:
            return tick
        if listed.processes is None:
            return tuple(replace(reading, processes_code=UNKNOWN_ERROR) for reading in tick)
        laid = listed.processes.onto(tick)
        return tuple(
            self._unless_outdated(before, after, used)
            for before, after, used in zip(tick, laid, listed.used, strict=True)
        )

    def _unless_outdated(
        self, before: GpuReading, after: GpuReading, used_then: int | None
    ) -> GpuReading:
        is_anybody = bool(after.processes) or after.hidden_processes > 0
        if is_anybody and before.used_bytes == 0 and used_then != 0:
            self.has_outdated = True
            return before
        return after

    def _with_rest(self, reading: GpuReading, uuid: str, now_s: float) -> GpuReading:
        action, asked_s = self._recovery.get(uuid, (None, 0.0))
        if action is not None:
            # An old answer is kept, for a needed reset does not go away by itself, and doubted.
            is_old = now_s - asked_s > STALE_AFTER_S
            doubt = reading.doubt or (_OLD_HEALTH if is_old else "")
            reading = replace(reading, recovery_action=action, doubt=doubt)
        typed, told_s = self._typed.get(uuid, ((), 0.0))
        if typed and reading.used_bytes and now_s - told_s <= STALE_AFTER_S:
            reading = _with_kinds(reading, typed, is_new=now_s - told_s <= TYPED_FOR_S)
        slices, read_s = self._slices.get(uuid, ((), 0.0))
        if slices and now_s - read_s <= STALE_AFTER_S and reading.used_bytes != 0:
            reading = replace(reading, mig=slices)
        return reading


def _with_kinds(reading: GpuReading, typed: tuple[GpuProcess, ...], *, is_new: bool) -> GpuReading:
    """Say how each listed process uses the GPU, and add who only draws: others don't list them."""
    if reading.processes is None:
        return reading
    told = {process.pid: process for process in typed}
    listed = tuple(
        replace(one, kinds=told[one.pid].kinds | one.kinds) if one.pid in told else one
        for one in reading.processes
    )
    pids = {one.pid for one in listed}
    drawing = (one for one in typed if one.kinds == {Kind.GRAPHICS} and one.pid not in pids)
    return replace(reading, processes=(*listed, *(drawing if is_new else ())))
