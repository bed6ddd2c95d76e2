"""Every claim on a host's GPUs as one row: with memory, with open handles alone, or unexplained.

Unexplained memory has a row of its own and is never given to anybody; who has that GPU open is
named beside it. Handles without memory hold nothing and only block a reset.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core import holders as seen
from gpudash.core.holding import Device, Process
from gpudash.core.listed import gpu_processes, pids_are_local, unexplained_bytes
from gpudash.core.model import Host, ProcessInfo
from gpudash.core.names import clean_text, process_label
from gpudash.core.units import plural


class Basis(Enum):
    """Why a row is there."""

    LISTED = "listed"
    """The driver lists it, and it lives."""
    INHERITED = "inherited"
    """The driver lists a dead pid; the living keep its handle open."""
    DEAD = "dead"
    """The driver lists a dead pid, and nobody was found who keeps its handle."""
    HIDDEN = "hidden"
    """Another user's: it lives, and /proc does not show it."""
    HOST_PID = "host pid"
    """Of the host's pid namespace, seen from inside another one."""
    UNASKED = "unasked"
    """Nobody said yet who it is."""
    HANDLES = "handles"
    """A GPU is open, and the driver lists no memory for it."""
    UNEXPLAINED = "unexplained"
    """Memory that no listed process accounts for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """One row."""

    basis: Basis
    pid: int | None
    """As the driver lists it, else as /proc shows it; None for unexplained memory."""
    gpus: tuple[tuple[int, int | None], ...]
    """GPU index and bytes; None where nothing is said of its memory there."""
    info: ProcessInfo | None = None
    keepers: tuple[ProcessInfo, ...] = ()
    """Who keeps a dead pid's memory, or has the GPU of unexplained memory open."""
    handles: int = 0
    """Open descriptors of GPUs, by the process or by its keepers."""
    evidence: tuple[str, ...] = ()
    """`nvml`, `fd`, `uvm`, `thread`, `map`, `path`."""


def attributions(host: Host) -> tuple[Attribution, ...]:
    """Return all rows of a host: memory first, then what is unexplained, then handles alone."""
    rows = _listed_rows(host)
    rows += _unexplained_rows(host)
    spoken_for = {row.pid for row in rows} | {one.pid for row in rows for one in row.keepers}
    rows += [row for row in _handle_rows(host) if row.pid not in spoken_for]
    return tuple(rows)


def _listed_rows(host: Host) -> list[Attribution]:
    used: dict[int, dict[int, int | None]] = {}
    keepers: dict[int, dict[int, Process]] = {}
    for gpu in host.gpus:
        for pid, amount in gpu_processes(gpu):
            used.setdefault(pid, {})[gpu.info.index] = amount
            for process in seen.keepers(host, gpu, pid):
                keepers.setdefault(pid, {})[process.pid] = process
    return [
        _listed_row(host, pid, tuple(sorted(amounts.items())), [*keepers.get(pid, {}).values()])
        for pid, amounts in sorted(used.items())
    ]


def _listed_row(
    host: Host, pid: int, gpus: tuple[tuple[int, int | None], ...], keepers: list[Process]
) -> Attribution:
    info = seen.living(host, pid)
    process = host.scan.process(pid) if host.scan and info is not None else None
    witnesses = keepers or ([process] if process else [])
    return Attribution(
        basis=_basis(host, pid, info, is_kept=bool(keepers)),
        pid=pid,
        gpus=gpus,
        info=info,
        keepers=tuple(seen.info_of(one, host) for one in keepers),
        handles=sum(_handles(one) for one in witnesses),
        evidence=("nvml", *_evidence(witnesses)),
    )


def _basis(host: Host, pid: int, info: ProcessInfo | None, *, is_kept: bool) -> Basis:
    if info is not None:
        return Basis.LISTED
    if not pids_are_local(host):
        return Basis.HOST_PID
    if is_kept:
        return Basis.INHERITED
    if seen.is_dead(host, pid):
        return Basis.DEAD
    return Basis.HIDDEN if seen.is_hidden(host, pid) else Basis.UNASKED


def _unexplained_rows(host: Host) -> list[Attribution]:
    gaps = [(gpu, gap) for gpu in host.gpus if (gap := unexplained_bytes(gpu))]
    if not gaps:
        return []
    found = {one.pid: one for gpu, _ in gaps for one in seen.suspects(host, gpu)}
    suspects = [one for _, one in sorted(found.items())]
    row = Attribution(
        basis=Basis.UNEXPLAINED,
        pid=None,
        gpus=tuple((gpu.info.index, gap) for gpu, gap in gaps),
        keepers=tuple(seen.info_of(one, host) for one in suspects),
        handles=sum(_handles(one) for one in suspects),
        evidence=_evidence(suspects),
    )
    return [row]


def _handle_rows(host: Host) -> list[Attribution]:
    if host.scan is None:
        return []
    rows = []
    for process in host.scan.processes:
        if not process.handles or seen.is_ours(process, host.scan):
            continue
        gpus = [
            gpu.info.index
            for gpu in host.gpus
            if any(seen.is_of(handle, gpu) for handle in process.handles)
        ]
        amount = 0 if pids_are_local(host) else None
        row = Attribution(
            basis=Basis.HANDLES,
            pid=process.pid,
            gpus=tuple((index, amount) for index in gpus),
            info=seen.info_of(process, host),
            handles=sum(handle.count for handle in process.handles),
            evidence=_evidence([process]),
        )
        rows.append(row)
    return rows


def _handles(process: Process) -> int:
    return sum(handle.count for handle in process.handles if handle.device is Device.GPU)


def _evidence(processes: list[Process]) -> tuple[str, ...]:
    words: dict[str, None] = {}
    for process in processes:
        for handle in process.handles:
            if handle.device is Device.UVM:
                words["uvm"] = None
            elif handle.device is Device.GPU:
                words["fd" if handle.count else "map"] = None
            if handle.is_thread_only:
                words["thread"] = None
            if handle.is_path_only:
                words["path"] = None
    return tuple(words)


# -- in words ----------------------------------------------------------------------------------


def who(info: ProcessInfo) -> str:
    """Name a process: `train.py (pid 4711, ana)`."""
    label = process_label(info)
    name = f"{label.name} {label.detail}".strip()
    return f"{name} (pid {info.pid}, {clean_text(info.user, 32)})"


def keeper_words(host: Host, pid: int, keepers: tuple[ProcessInfo, ...]) -> str:
    """Say who keeps a dead pid's memory: `memory kept by its child 48377`."""
    scan = host.scan
    found = [scan.process(one.pid) for one in keepers] if scan else []
    is_child = bool(found) and all(one and seen.was_started_by(one, pid) for one in found)
    pids = ", ".join(str(one.pid) for one in keepers[:3])
    more = f" and {len(keepers) - 3} more" if len(keepers) > 3 else ""
    kin = ("its children " if len(keepers) > 1 else "its child ") if is_child else "pid "
    return f"memory kept by {kin}{pids}{more}"


def words_of(row: Attribution, host: Host) -> str:
    """Say in a clause who holds what a row is about, without amounts."""
    match row.basis:
        case Basis.LISTED | Basis.HANDLES:
            assert row.info is not None
            return who(row.info) + (", main thread ended" if row.info.has_ended else "")
        case Basis.INHERITED:
            assert row.pid is not None
            first = who(row.keepers[0])
            return f"pid {row.pid} is dead, {keeper_words(host, row.pid, row.keepers)}: {first}"
        case Basis.DEAD:
            return f"pid {row.pid} is dead, nobody was found who keeps its memory"
        case Basis.HIDDEN:
            return f"pid {row.pid}, another user's, hidden by hidepid"
        case Basis.HOST_PID:
            return f"host pid {row.pid}"
        case Basis.UNASKED:
            return f"pid {row.pid}"
        case Basis.UNEXPLAINED:
            if not row.keepers:
                return "unexplained: no process found"
            return f"unexplained; open there: {', '.join(who(one) for one in row.keepers[:4])}"


def handle_words(rows: tuple[Attribution, ...]) -> str:
    """Say who has GPUs open without memory: `2 open handles, no memory: nvtop, python 4711`."""
    idle = [row for row in rows if row.basis is Basis.HANDLES and row.info is not None]
    if not idle:
        return ""
    names = [f"{process_label(row.info).name} {row.pid}" for row in idle if row.info]
    few = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    number = sum(row.handles for row in idle)
    is_known = all(amount == 0 for row in idle for _, amount in row.gpus)
    memory = "no memory" if is_known else "memory not known"
    return f"{plural(number, 'open handle') if number else 'mapped'}, {memory}: {few}"
