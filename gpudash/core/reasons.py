"""Why a reading proves nothing, or is no baseline: clauses that follow from codes and states."""

from __future__ import annotations

from gpudash.core import nvml
from gpudash.core.model import Gpu, GpuProcess, GpuReading, GpuState
from gpudash.core.rosters import EXPECTED, is_placeholder

_STATE_REASON = {
    GpuState.LOST: "lost: the GPU does not answer any more",
    GpuState.NO_PERMISSION: "not allowed to read its memory here",
    GpuState.UNIFIED: "shares the system's memory: zero can't be proven",
    GpuState.MISSING: "was here before and is gone",
    GpuState.UNREAD: "not read yet",
}


def is_anybody_listed(reading: GpuReading | None) -> bool:
    """Tell whether a process is listed at all: whoever is listed has a context, which costs."""
    if reading is None:
        return False
    return bool(reading.processes) or reading.hidden_processes > 0 or any(_lists(reading))


def _lists(reading: GpuReading) -> tuple[tuple[GpuProcess, ...], ...]:
    """Return all process lists of a GPU, its slices' included."""
    if not reading.mig:
        # Nearly all GPUs, and every verdict asks.
        return (reading.processes,) if reading.processes else ()
    return tuple(
        listed or () for listed in (reading.processes, *(part.processes for part in reading.mig))
    )


def why_no_baseline(reading: GpuReading, *, is_strict: bool) -> str:
    """Return what makes memory within its baseline held all the same, as the end of a sentence."""
    if is_anybody_listed(reading):
        return ": not idle, a process is listed"
    if reading.processes is None:
        return ": within its baseline, and whether anybody holds it can't be read"
    if why := reading.doubt or _unread_slice(reading):
        return f": within its baseline, but {why}"
    return ": its accepted baseline, which --strict counts as held" if is_strict else ""


def why_zero_is_open(reading: GpuReading) -> str:
    """Return what keeps 0 bytes from being ZERO, as a clause; empty when nothing does."""
    if reading.doubt:
        return reading.doubt
    unsized = any(process.used_bytes is None for rows in _lists(reading) for process in rows)
    if unsized or reading.hidden_processes:
        return "a process is listed and what it holds is not reported"
    return _unread_slice(reading) if reading.mig else ""


def _unread_slice(reading: GpuReading) -> str:
    is_unread = any(part.used_bytes is None for part in reading.mig)
    return "the memory of a MIG slice can't be read" if is_unread else ""


def why_unproven(gpu: Gpu) -> str:
    """Return why a GPU in its state can't be proven, as a clause."""
    reading = gpu.reading
    if is_placeholder(gpu):
        return EXPECTED
    if gpu.state is GpuState.NEEDS_RESET:
        action = reading.recovery_action if reading else None
        if action:
            return f"the driver recommends: {nvml.recovery_words(action)}"
        if gpu.info.is_remap_pending:
            return "a broken memory row waits to be replaced: the GPU needs a reset"
        return nvml.meaning(nvml.RESET_REQUIRED).words
    if gpu.state is GpuState.NEEDS_ATTENTION and reading and reading.recovery_action:
        return f"the driver recommends: {nvml.recovery_words(reading.recovery_action)}"
    if gpu.state is GpuState.NEEDS_ATTENTION and gpu.info.has_remap_failed:
        return "a broken memory row could not be replaced: its memory can't be trusted"
    if gpu.state is GpuState.UNREADABLE:
        return _unreadable_reason(reading)
    return _STATE_REASON.get(gpu.state, "unknown")


def _unreadable_reason(reading: GpuReading | None) -> str:
    if reading is None or reading.memory_code is None:
        return "its used memory can't be read"
    return f"its used memory can't be read: {nvml.meaning(reading.memory_code).words}"
