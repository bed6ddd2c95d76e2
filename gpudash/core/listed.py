"""Whom the driver lists on a host, and what its lists leave unexplained."""

from __future__ import annotations

from gpudash.core.model import Gpu, GpuState, Host

INITIAL_PID_NAMESPACE = 4026531836
"""Inode of /proc/self/ns/pid outside any container: PROC_PID_INIT_INO in the kernel."""


def pids_are_local(host: Host) -> bool:
    """Tell whether the driver's pids may be looked up in this host's /proc.

    In a pid namespace that is not the host's, NVML lists host pids, and the same number is
    another process there.
    """
    facts = host.facts
    if facts is None or facts.lists_host_pids:
        return False
    return facts.is_simulated or facts.pid_namespace in (None, INITIAL_PID_NAMESPACE)


def listed_pids(host: Host) -> frozenset[int]:
    """Return all pids that the driver lists on this host now."""
    return frozenset(pid for gpu in host.gpus for pid, _ in gpu_processes(gpu))


def gpu_processes(gpu: Gpu) -> tuple[tuple[int, int | None], ...]:
    """Return (pid, bytes) of everybody listed on a GPU, its MIG slices included; largest first."""
    reading = gpu.reading
    if reading is None or gpu.state in (GpuState.LOST, GpuState.MISSING):
        return ()
    listed = reading.processes or ()
    if len(listed) < 2 and not reading.mig:
        # Most GPUs have one holder or none, and every painter asks.
        return tuple((process.pid, process.used_bytes) for process in listed)
    used: dict[int, int | None] = {}
    lists = (reading.processes, *(slice_.processes for slice_ in reading.mig))
    for process in (process for one in lists for process in one or ()):
        before = used.get(process.pid)
        if process.used_bytes is None:
            used.setdefault(process.pid, None)
        else:
            used[process.pid] = max(before or 0, process.used_bytes)
    return tuple(sorted(used.items(), key=lambda row: (-(row[1] or 0), row[0])))


def unexplained_bytes(gpu: Gpu) -> int:
    """Return what is used on a GPU beyond what its listed processes account for.

    0 where nothing can be said: no reading, or a process whose memory is not reported.
    A context's own overhead makes the listed sum fall short: below 64 MiB for each listed
    process nothing is called unexplained.
    """
    reading = gpu.reading
    if gpu.state is not GpuState.READ or reading is None or not reading.used_bytes:
        return 0
    listed = gpu_processes(gpu)
    if any(used is None for _, used in listed):
        return 0
    gap = reading.used_bytes - sum(used or 0 for _, used in listed)
    return gap if gap > len(listed) * (64 << 20) else 0


def is_odd(host: Host) -> bool:
    """Tell, without much ado, whether a listed pid can't be named or memory is unexplained."""
    known = {info.pid for info in host.processes if not info.has_ended}
    return not host.listed <= known or any(unexplained_bytes(gpu) for gpu in host.gpus)
