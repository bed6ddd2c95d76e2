"""Joins what the driver lists with what a scan saw: who it is, and who keeps what.

The driver attributes memory and names pids; a scan knows who lives and who has a GPU open. A dead
pid in the driver's list is a lead, never dropped: its memory is kept by the living who inherited
its handle. A hidden one lives. A pid of the host's namespace is looked up in ours only where
that very process has the same GPU open.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.holding import Device, Existence, Handle, Process, Reach, Scan, is_probe, reach_of
from gpudash.core.listed import gpu_processes, listed_pids, pids_are_local, unexplained_bytes
from gpudash.core.model import Ancestor, Gpu, Host, ProcessInfo
from gpudash.core.scope import normal_bus_id

OUTSIDE = "processes outside this container not visible"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanNeed:
    """What a scan would explain."""

    pids: tuple[int, ...]
    has_maps: bool
    """Open handles explained it not: look at what is mapped too."""


# -- what the scan says of a pid or a GPU ------------------------------------------------------


def fate_of(host: Host, pid: int) -> Existence | None:
    """Return what became of a listed pid, as far as the newest scan knows; None: it lives."""
    scan = host.scan
    if scan is None:
        return None
    fate = next((fate for listed, fate in scan.listed if listed == pid), None)
    info = _asked(host, pid)
    if info is not None and not info.has_ended and info.known_at_s > host.scanned_s:
        return None  # a pid that was dead then is somebody's again
    return fate


def is_dead(host: Host, pid: int) -> bool:
    """Tell whether a listed pid exists no more."""
    return pid in host.gone_pids or fate_of(host, pid) is Existence.DEAD


def is_hidden(host: Host, pid: int) -> bool:
    """Tell whether a listed pid lives and /proc does not show it."""
    return pid not in host.gone_pids and fate_of(host, pid) is Existence.HIDDEN


def is_of(handle: Handle, gpu: Gpu) -> bool:
    """Tell whether a handle is of this GPU."""
    if handle.gpu is None:
        return False
    if handle.gpu == f"index-{gpu.info.index}":
        return True
    return gpu.info.bus_id is not None and (
        normal_bus_id(handle.gpu) == normal_bus_id(gpu.info.bus_id)
    )


def open_on(host: Host, gpu: Gpu) -> tuple[Process, ...]:
    """Return whoever has a GPU open, by pid, but for probes: who started one may hold memory."""
    scan = host.scan
    if scan is None:
        return ()
    return tuple(
        process
        for process in scan.processes
        if any(is_of(handle, gpu) for handle in process.handles) and not is_probe(process)
    )


def can_compute(process: Process) -> bool:
    """Tell whether it can run CUDA.

    A handle of unified memory alone says little: NVML opens that node too (seen with driver 580 on
    an H200), so who only watches is told by libcuda, which it does not load.
    """
    has_node = any(handle.device is Device.UVM for handle in process.handles)
    return has_node and process.has_cuda is not False


# -- who it is ---------------------------------------------------------------------------------


def living(host: Host, pid: int) -> ProcessInfo | None:
    """Return who a listed pid is; None for the dead, the hidden and whoever can't be named."""
    info = _asked(host, pid)
    scan = host.scan
    if scan is None or (info is not None and fate_of(host, pid) is not Existence.DEAD):
        return info
    process = scan.process(pid)
    if process is None or pid in host.gone_pids or process.threads < 1:
        return None
    if not pids_are_local(host) and not _has_listed_gpu(host, process):
        return None
    return info_of(process, host)


def _asked(host: Host, pid: int) -> ProcessInfo | None:
    return next((info for info in host.processes if info.pid == pid), None)


def _has_listed_gpu(host: Host, process: Process) -> bool:
    """Tell whether a process has a GPU open on which its pid is listed."""
    return any(
        is_of(handle, gpu)
        for gpu in host.gpus
        if any(pid == process.pid for pid, _ in gpu_processes(gpu))
        for handle in process.handles
    )


def info_of(process: Process, host: Host) -> ProcessInfo:
    """Return a scanned process as an answer about a pid, with the way up from it."""
    return ProcessInfo(
        pid=process.pid,
        start_ticks=process.identity.start_ticks,
        uid=process.identity.uid,
        user=process.user,
        comm=process.comm,
        argv=process.argv,
        state=process.state,
        age_s=process.age_s,
        known_at_s=host.scanned_s,
        ancestors=_ancestors(process, host.scan),
    )


def _ancestors(process: Process, scan: Scan | None) -> tuple[Ancestor, ...]:
    up: dict[int, Ancestor] = {}
    parent = scan.process(process.parent) if scan else None
    while parent is not None and parent.pid > 1 and parent.pid not in up:
        up[parent.pid] = Ancestor(
            pid=parent.pid,
            start_ticks=parent.identity.start_ticks,
            uid=parent.identity.uid,
            comm=parent.comm,
            argv=parent.argv,
        )
        parent = scan.process(parent.parent) if scan else None
    return tuple(up.values())


# -- who keeps the memory of the dead ----------------------------------------------------------


def keepers(host: Host, gpu: Gpu, pid: int) -> tuple[Process, ...]:
    """Return the living who keep a dead pid's memory on a GPU: they inherited its handle.

    Whoever the driver lists there has memory of its own. Among the others the dead one's own
    group or session comes first, then those that can run CUDA.
    """
    if not is_dead(host, pid) or not pids_are_local(host):
        return ()
    here = open_on(host, gpu)
    listed = {other for other, _ in gpu_processes(gpu)}
    unlisted = tuple(process for process in here if process.pid not in listed)
    for group in (unlisted, here):
        related = tuple(process for process in group if was_started_by(process, pid))
        if related:
            return related
    able = tuple(process for process in unlisted if can_compute(process))
    return able or tuple(process for process in unlisted if not _only_watches(process))


def _only_watches(process: Process) -> bool:
    """Tell whether it is the driver's own service or a known monitor: nobody forks their ranks."""
    from gpudash.core.cleanup.protection import is_observer_by_name, protecting_rule

    return is_observer_by_name(process) or (
        protecting_rule(process, (), frozenset({"shells and tools"})) is not None
    )


def was_started_by(process: Process, pid: int) -> bool:
    """Tell whether a process is of a dead pid's own group or session, or its child."""
    return pid in (process.parent, process.group, process.session)


def suspects(host: Host, gpu: Gpu) -> tuple[Process, ...]:
    """Return who may hold a GPU's unexplained memory: it is open there, and nobody lists them."""
    listed = {pid for pid, _ in gpu_processes(gpu)}
    return tuple(process for process in open_on(host, gpu) if process.pid not in listed)


# -- when to look ------------------------------------------------------------------------------


def odd_pids(host: Host) -> tuple[int, ...]:
    """Return listed pids that are gone, ended, hidden or not to be looked up."""
    known = {info.pid for info in host.processes if not info.has_ended}
    return tuple(pid for pid in sorted(listed_pids(host)) if pid not in known)


def scan_need(host: Host) -> ScanNeed | None:
    """Return what a scan would explain that the newest one does not; None: nothing."""
    odd = odd_pids(host)
    gaps = [gpu for gpu in host.gpus if unexplained_bytes(gpu)]
    if not odd and not gaps:
        return None
    pids = tuple(sorted(listed_pids(host)))
    scan = host.scan
    if scan is None:
        return ScanNeed(pids=pids, has_maps=False)
    told = {pid for pid, _ in scan.listed} | {process.pid for process in scan.processes}
    if set(odd) - told:
        return ScanNeed(pids=pids, has_maps=scan.has_maps)
    if scan.has_maps or all(_is_explained(host, gpu) for gpu in host.gpus):
        return None
    return ScanNeed(pids=pids, has_maps=True)


def _is_explained(host: Host, gpu: Gpu) -> bool:
    """Tell whether somebody was found for everything on a GPU."""
    if unexplained_bytes(gpu) and not suspects(host, gpu):
        return False
    dead = [pid for pid, _ in gpu_processes(gpu) if is_dead(host, pid)]
    return all(keepers(host, gpu, pid) for pid in dead)


def reach_on(host: Host) -> Reach:
    """Return how far what is known of a host's processes reaches."""
    facts = host.facts
    why = list(reach_of(host.scan).why)
    is_inside = facts is not None and not pids_are_local(host)
    if is_inside and OUTSIDE not in why:
        why.append(OUTSIDE)
    return Reach(why=tuple(why))
