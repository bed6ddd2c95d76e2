"""MIG slices: one for each GPU instance, and what one reading says of each.

A slice may be at zero while its GPU is held by the others; what is doubtful of the GPU is so of
each of its slices.
"""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.model import Gpu, GpuProcess, GpuReading, GpuState, MigReading
from gpudash.core.units import known_sum
from gpudash.core.verify import GpuVerdict, judge_gpu


def slices_of(gpu: Gpu) -> tuple[MigReading, ...]:
    """Return one entry for each GPU instance: its compute instances share the memory."""
    found: dict[int, MigReading] = {}
    for slice_ in gpu.reading.mig if gpu.reading else ():
        known = found.get(slice_.gpu_instance)
        found[slice_.gpu_instance] = slice_ if known is None else _joined(known, slice_)
    return tuple(found.values())


def _joined(one: MigReading, other: MigReading) -> MigReading:
    """Join two compute instances: one memory, which one of them may not tell, and two lists."""
    used = [value for value in (one.used_bytes, other.used_bytes) if value is not None]
    lists = (one.processes, other.processes)
    listed = [process for processes in lists for process in processes or ()]
    return replace(
        one,
        used_bytes=max(used) if used else None,
        processes=None if lists == (None, None) else tuple(listed),
    )


def slice_bytes(slice_: MigReading) -> int | None:
    """Return what a slice holds: what its processes hold counts where its sum says less."""
    if slice_.used_bytes is None:
        return None
    return max(slice_.used_bytes, known_sum(one.used_bytes for one in slice_.processes or ())[0])


def judge_slice(gpu: Gpu, slice_: MigReading) -> GpuVerdict:
    """Judge one slice of `slices_of` by itself; the reading must belong to a live link."""
    reading = gpu.reading
    if reading is None or gpu.state is not GpuState.READ:
        return judge_gpu(gpu)
    alone = replace(
        reading,
        used_bytes=slice_.used_bytes,
        processes=_perhaps_on(slice_, reading),
        mig=(slice_,),
        memory_code=slice_.fault_code,
    )
    return judge_gpu(replace(gpu, reading=alone))


def _perhaps_on(slice_: MigReading, reading: GpuReading) -> tuple[GpuProcess, ...] | None:
    """Return who of the GPU's own list may be on a slice: of no known size, and on no other."""
    others = {
        process.pid
        for other in reading.mig
        if other.gpu_instance != slice_.gpu_instance
        for process in other.processes or ()
    }
    return reading.processes and tuple(
        process
        for process in reading.processes
        if process.used_bytes is None and process.pid not in others
    )
