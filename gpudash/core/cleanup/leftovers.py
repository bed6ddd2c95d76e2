"""Whether a family's purpose is gone: only positive evidence says so, any sign of life forbids it.

A dead parent, a reaper above, no terminal or an idle GPU prove nothing: `nohup`, `setsid` and a
dead tmux leave exactly these behind, on purpose. Evidence is a worker, rank or engine child whose
own root is dead, a handle inherited from a dead pid, or a manager that knows its job no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.cleanup.belonging import Origin
from gpudash.core.cleanup.families import Family
from gpudash.core.cleanup.frameworks import RANK_OF_A_LAUNCHER, Part, Role, part_of
from gpudash.core.cleanup.joining import is_reaped
from gpudash.core.cleanup.managing import Manager
from gpudash.core.cleanup.table import Table
from gpudash.core.families import root_of
from gpudash.core.holding import Process
from gpudash.core.model import GpuState
from gpudash.core.names import process_label
from gpudash.core.units import plural

ALIVE_S = 60.0
"""What happened within this time is a sign of life."""
BUSY_SHARE = 0.05
"""Cores; less is what a sleeping interpreter's threads take."""
BUSY_GPU_PCT = 5


class Life(Enum):
    """How a family lives."""

    LEFTOVER = "leftover"
    DETACHED = "detached"
    """Runs on purpose without its starter: counts as alive."""
    ALIVE = "alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How a family lives, and what says so."""

    life: Life
    evidence: str = ""
    """Why it is a leftover, as a clause; empty for one that is none."""
    signs: tuple[str, ...] = ()
    """Signs of life, as clauses."""
    is_active: bool = False
    """It works right now: a GPU, a CPU or a client of its own."""


def find_life(family: Family, table: Table, origin: Origin, manager: Manager | None) -> Finding:
    """Judge a family. Never LEFTOVER without evidence for each of its roots."""
    work = signs_of_work(family, table)
    signs = (*work, *signs_of_waiting(family))
    is_active = bool(work)
    if origin.is_below_login:
        return Finding(life=Life.ALIVE, signs=signs, is_active=is_active)
    evidence = _evidence(family, table, manager)
    if evidence and not signs and not origin.is_in_living_login:
        return Finding(life=Life.LEFTOVER, evidence=evidence)
    life = Life.DETACHED if family.is_orphan and not evidence else Life.ALIVE
    return Finding(life=life, signs=signs, is_active=is_active)


def _evidence(family: Family, table: Table, manager: Manager | None) -> str:
    """Return why the purpose of a whole family is gone; empty if any root might have one."""
    if manager is not None and manager.is_gone and family.is_orphan:
        return f"left over from {manager.words}"
    clauses = [_root_evidence(root, family, table) for root in family.roots]
    return clauses[0] if all(clauses) else ""


def _root_evidence(root: Process, family: Family, table: Table) -> str:
    # One that a living process seems to have taken in may be its child: it moved to a session of
    # its own since. Only below an init or a known reaper is the root dead for certain.
    if not is_reaped(root, table):
        return ""
    part = part_of(root)
    if part.role in (Role.WORKER, Role.HELPER) and not _is_started_by_hand(root, part):
        return f"{part.sign} whose root is dead"
    heirs = [one for one in family.inherited if one.is_sure]
    below = {process.pid for process in table.children.get(root.pid, ())} | {root.pid}
    for one in heirs:
        # A root with memory of its own has a purpose of its own.
        if one.heir in below and not table.memory_of(root.pid):
            return f"keeps the memory of pid {one.dead}, which is dead"
    return _remembered(root, table)


def _is_started_by_hand(root: Process, part: Part) -> bool:
    """Tell whether a rank may have had a shell above it and never a launcher.

    `RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 nohup python train.py &`, once on each node: its words and
    variables are those of a rank. A shell gives each job a group of its own, a launcher does not.
    """
    return part.sign == RANK_OF_A_LAUNCHER and root.group == root.pid


def _remembered(root: Process, table: Table) -> str:
    """Return the root that was seen above a process before and is dead now; empty for none.

    Who leads a session of its own was set free on purpose.
    """
    info = next((one for one in table.host.processes if one.pid == root.pid), None)
    if info is None or info.start_ticks != root.identity.start_ticks or root.session == root.pid:
        return ""
    former = root_of(info)
    still = table.by_pid.get(former.pid)
    if still is not None and still.identity.start_ticks == former.start_ticks:
        return ""
    name = process_label(former).name
    return f"its root pid {former.pid} ({name}) is dead"


def signs_of_work(family: Family, table: Table) -> tuple[str, ...]:
    """Return what a family does right now, as clauses."""
    signs: list[str] = []
    clients = family_clients(family)
    if clients:
        signs.append(f"{plural(clients, 'client')} connected")
    if sum(process.cpu_share or 0.0 for process in family.members) >= BUSY_SHARE:
        signs.append("uses the CPU")
    if is_on_busy_gpu(family, table):
        signs.append("uses the GPU")
    if any(process.is_saving for process in family.members):
        signs.append("writes a checkpoint")
    return tuple(signs)


def signs_of_waiting(family: Family) -> tuple[str, ...]:
    """Return what tells that somebody may come back to it, as clauses."""
    signs: list[str] = []
    if any(process.recent_clients and _own_ports(process) for process in family.members):
        signs.append("a client was connected within the last minute")
    ports = family_ports(family)
    if ports:
        signs.append("listens on port " + ", ".join(str(port) for port in ports[:3]))
    if any(_wrote(process) for process in family.members):
        signs.append("its log grew within the last minute")
    # What can't be known is never taken for rest.
    if any(not process.is_readable for process in family.members):
        signs.append("can't be looked into")
    if any(process.cpu_share is None for process in family.members):
        signs.append("its use of the CPU is not known")
    return tuple(signs)


def family_ports(family: Family) -> tuple[int, ...]:
    """Return the ports that a family serves on, ascending; a rendezvous among ranks is none."""
    return tuple(sorted({port for process in family.members for port in _own_ports(process)}))


def family_clients(family: Family) -> int:
    """Return how many clients are connected to the ports that a family serves on."""
    # Who inherited a listening socket has its clients too: those of the same ports count once.
    by_ports: dict[tuple[int, ...], int] = {}
    for process in family.members:
        if ports := _own_ports(process):
            by_ports[ports] = max(by_ports.get(ports, 0), process.clients)
    return sum(by_ports.values())


def _own_ports(process: Process) -> tuple[int, ...]:
    meeting = dict(process.hints).get("MASTER_PORT", "")
    return tuple(port for port in process.ports if str(port) != meeting)


def _wrote(process: Process) -> bool:
    return process.log_age_s is not None and process.log_age_s < ALIVE_S


def is_on_busy_gpu(family: Family, table: Table) -> bool:
    """Tell whether a GPU that the family alone holds is at work."""
    held = {key for key, used in family.gpu_bytes if used is None or used > 0}
    mine = {process.pid for process in family.members}
    for gpu in table.host.gpus:
        reading = gpu.reading
        if gpu.info.key not in held or gpu.state is not GpuState.READ or reading is None:
            continue
        others = {pid for pid, memory in table.used.items() if memory.get(gpu.info.key)} - mine
        if not others and (reading.utilisation_pct or 0) > BUSY_GPU_PCT:
            return True
    return False
