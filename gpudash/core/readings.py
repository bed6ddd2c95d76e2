"""From raw numbers to a reading that can be trusted, and to what can be said of a GPU.

Everything that a source delivers passes here: sentinels become None, an impossible process
list is dropped, and the state follows from NVML codes alone, never from texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from gpudash.core import nvml
from gpudash.core.model import Gpu, GpuInfo, GpuProcess, GpuReading, GpuState, Kind

PID_MAX = 4_194_304
"""PID_MAX_LIMIT of a 64-bit Linux kernel."""

NOT_AVAILABLE_U32 = 0xFFFF_FFFF
"""NVML_VALUE_NOT_AVAILABLE as an unsigned 32-bit number."""
PSTATE_MAX = 15
"""NVML_PSTATE_UNKNOWN is 32 (nvml.h)."""

_DRIVER = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def driver_version(text: str | None) -> tuple[int, int, int] | None:
    """Parse `580.159.04` to (580, 159, 4); None for anything else."""
    match = _DRIVER.match(text or "")
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0)


def has_scrambled_process_lists(driver: str | None) -> bool:
    """Tell whether this driver mixes up fields of process lists with some bindings.

    535.43 to 535.86 changed the struct's size; rolled back in 535.98 and 535.104.05
    (gpuopenanalytics/pynvml#50, nvitop#75, gpustat#161).
    """
    version = driver_version(driver)
    return version is not None and (535, 43, 0) <= version < (535, 98, 0)


def merge_processes(
    rows: list[tuple[int, int | None, Kind]],
) -> tuple[GpuProcess, ...]:
    """Merge the compute, graphics and MPS lists of one GPU by pid, in ascending order.

    A pid in two lists has one context: its memory is the larger figure, not the sum.
    """
    merged: dict[int, tuple[int | None, frozenset[Kind]]] = {}
    for pid, used, kind in rows:
        old_used, old_kinds = merged.get(pid, (None, frozenset()))
        known = [value for value in (old_used, used) if value is not None]
        merged[pid] = (max(known) if known else None, old_kinds | {kind})
    return tuple(
        GpuProcess(pid=pid, used_bytes=used, kinds=kinds)
        for pid, (used, kinds) in sorted(merged.items())
    )


_NO_VOTE = frozenset({2, 3, 4, 6, 13, 25, 26})
"""Codes of a health field that this driver does not have, or not for us: no vote (design §7)."""


_GONE = frozenset({nvml.GPU_IS_LOST, nvml.GPU_NOT_FOUND})
"""Said by the state already."""


def doubt_of(recovery_code: int | None, list_code: int | None) -> str:
    """Return what keeps a 0 from being proven beside memory itself, from two NVML codes."""
    if recovery_code is not None and recovery_code not in _NO_VOTE:
        return f"its recovery action can't be read: {nvml.meaning(recovery_code).words}"
    if list_code == nvml.INSUFFICIENT_SIZE:
        return "its process list is too long to be read"
    return ""


def doubt_of_health(mig_code: int | None, remap_code: int | None) -> str:
    """Return what keeps any 0 of a GPU from being proven, from the codes of what changes seldom."""
    for what, code in (("MIG mode", mig_code), ("count of replaced memory rows", remap_code)):
        if code is not None and code not in _NO_VOTE | _GONE:
            return f"its {what} can't be read: {nvml.meaning(code).words}"
    return ""


def with_twins_named(roster: tuple[GpuInfo, ...]) -> tuple[GpuInfo, ...]:
    """Return a roster in which GPUs that say they have one UUID are in doubt.

    One may be read twice and the other never: what is known by its UUID can't be told apart.
    """
    counts: Counter[str | None] = Counter(info.uuid for info in roster if info.uuid is not None)
    if len(counts) == len(roster) or max(counts.values(), default=1) == 1:
        return roster
    return tuple(
        replace(info, doubt="another GPU has the same UUID") if counts[info.uuid] > 1 else info
        for info in roster
    )


def trusted(reading: GpuReading, info: GpuInfo, driver: str | None) -> GpuReading:
    """Return the reading without what can't be true; never adds anything.

    Used memory above the total, a process list with impossible pids or sums and NVML's own
    words for "unknown" are dropped: they become None. A dropped list was wrong about who, not
    about whether somebody is there: its rows stay as hidden processes.
    """
    reading = _without_sentinels(reading)
    if info.doubt and not reading.doubt:
        reading = replace(reading, doubt=info.doubt)
    used = reading.used_bytes
    if used is not None and info.total_bytes and used > info.total_bytes:
        reading = replace(reading, used_bytes=None)
    processes = reading.processes
    if processes and not _is_plausible(processes, info, driver):
        hidden = reading.hidden_processes + len(processes)
        reading = replace(reading, processes=None, hidden_processes=hidden)
    return reading


def _without_sentinels(reading: GpuReading) -> GpuReading:
    if reading.pstate is not None and reading.pstate > PSTATE_MAX:
        reading = replace(reading, pstate=None)
    if NOT_AVAILABLE_U32 not in (reading.power_mw, reading.temperature_c, reading.sm_clock_mhz):
        return reading
    return replace(
        reading,
        power_mw=_available(reading.power_mw),
        temperature_c=_available(reading.temperature_c),
        sm_clock_mhz=_available(reading.sm_clock_mhz),
    )


def _available(value: int | None) -> int | None:
    return None if value == NOT_AVAILABLE_U32 else value


def _is_plausible(processes: tuple[GpuProcess, ...], info: GpuInfo, driver: str | None) -> bool:
    if has_scrambled_process_lists(driver):
        return False
    if any(not 0 < process.pid <= PID_MAX for process in processes):
        return False
    listed = sum(process.used_bytes or 0 for process in processes)
    return not info.total_bytes or listed <= info.total_bytes


def state_of(info: GpuInfo, reading: GpuReading | None) -> GpuState:
    """Tell what can be said of a GPU from the codes of one reading."""
    if reading is None:
        return GpuState.UNREAD
    codes = reading.codes
    if reading.mig:
        codes = codes | {part.fault_code for part in reading.mig if part.fault_code is not None}
    if codes and codes & {nvml.GPU_IS_LOST, nvml.GPU_NOT_FOUND}:
        return GpuState.LOST
    if nvml.RESET_REQUIRED in codes:
        return GpuState.NEEDS_RESET
    if reading.recovery_action:
        if nvml.recovery_needs_reset(reading.recovery_action):
            return GpuState.NEEDS_RESET
        return GpuState.NEEDS_ATTENTION
    if info.has_remap_failed:
        return GpuState.NEEDS_ATTENTION
    if info.is_remap_pending:
        return GpuState.NEEDS_RESET
    return _memory_state(info, reading)


def _memory_state(info: GpuInfo, reading: GpuReading) -> GpuState:
    if info.total_bytes == 0:
        return GpuState.UNIFIED
    if reading.memory_code == nvml.NOT_SUPPORTED and info.total_bytes is None:
        return GpuState.UNIFIED
    if reading.memory_code == nvml.NO_PERMISSION:
        return GpuState.NO_PERMISSION
    if reading.used_bytes is None:
        return GpuState.UNREADABLE
    return GpuState.READ


def read_gpu(info: GpuInfo, reading: GpuReading, driver: str | None) -> Gpu:
    """Combine roster entry and raw reading into what is known of a GPU now."""
    sound = trusted(reading, info, driver)
    return Gpu(info=info, reading=sound, state=state_of(info, sound))


def listed_bytes(reading: GpuReading) -> int:
    """Return what processes and MIG slices hold for certain; a lower bound of `used`.

    Memory of a MIG slice belongs to its GPU instance and counts once.
    """
    by_process = sum(process.used_bytes or 0 for process in reading.processes or ())
    by_instance: dict[int, int] = {}
    for slice_ in reading.mig:
        held = max(
            slice_.used_bytes or 0,
            sum(process.used_bytes or 0 for process in slice_.processes or ()),
        )
        known = by_instance.get(slice_.gpu_instance, 0)
        by_instance[slice_.gpu_instance] = max(known, held)
    return max(by_process, sum(by_instance.values()))


def held_bytes(reading: GpuReading | None) -> tuple[int, bool]:
    """Return what is held for certain, and whether that is all: an unread GPU may hold more."""
    if reading is None:
        return 0, False
    listed = listed_bytes(reading)
    if reading.used_bytes is None:
        return listed, False
    return max(reading.used_bytes, listed), True


def held_sum(readings: Iterable[GpuReading | None]) -> tuple[int, bool]:
    """Return what several GPUs hold for certain, and whether that is all."""
    held = tuple(held_bytes(reading) for reading in readings)
    return sum(amount for amount, _ in held), bool(held) and all(whole for _, whole in held)
