"""Which trees of processes are one family, though no parent tells: by job, session, shared things.

Living jobs are joined by what only one job shares (an MPI namespace, a rendezvous). Orphans also
by what they have open together, or by being parts of one framework from one session or start.
"""

from __future__ import annotations

from collections import defaultdict

from gpudash.core.cleanup.frameworks import Role, part_of
from gpudash.core.cleanup.managing import identified
from gpudash.core.cleanup.table import Table, is_reaper
from gpudash.core.holding import Process

START_TOGETHER_S = 120.0
"""Orphans of one program that started within this time, from the same folder, are of one job."""

Tie = tuple[object, ...]


def joined(trees: dict[int, list[Process]], table: Table) -> list[list[int]]:
    """Return the roots of each family; `trees` has each root's descendants, itself first."""
    leader = {pid: pid for pid in trees}

    def find(pid: int) -> int:
        while leader[pid] != pid:
            pid = leader[pid]
        return pid

    def join(one: int, other: int) -> None:
        first, second = find(one), find(other)
        leader[max(first, second)] = min(first, second)

    orphans = {pid for pid, tree in trees.items() if is_orphan(tree[0], table)}
    server_sessions = {tree[0].session for tree in trees.values() if is_server(tree[0])}
    # What one manager runs is never mixed with what another does, or nobody.
    managed = {pid: identified(tree[0], table) for pid, tree in trees.items()}
    holders: dict[Tie, int] = {}
    for pid in sorted(trees):
        for tie in _ties(trees[pid], server_sessions):
            other = holders.setdefault((*tie, managed[pid]), pid)
            if tie[0] != "link" or {pid, other} & orphans:
                join(pid, other)
    lone = [trees[pid][0] for pid in sorted(orphans) if _is_part(trees[pid][0])]
    for place, one in enumerate(lone):
        for other_root in lone[:place]:
            if managed[one.pid] == managed[other_root.pid] and _are_kin(one, other_root):
                join(one.pid, other_root.pid)
    groups: dict[int, list[int]] = defaultdict(list)
    for pid in sorted(trees):
        groups[find(pid)].append(pid)
    return list(groups.values())


def is_orphan(root: Process, table: Table) -> bool:
    """Tell whether a root's true parent is gone: init or a known reaper has it, or it is adopted.

    This alone says nothing of whether it is wanted. A parent that can't be seen (hidepid, outside
    of this container) is a living one; so is a container's pid 1 that is no init: it may well be
    the server whose workers these are. A host's pid 1 is its init, whatever its name.
    """
    parent = table.parent(root)
    return is_reaped(root, table) or (parent is not None and table.is_adopted(root, parent))


def is_reaped(root: Process, table: Table) -> bool:
    """Tell whether init or a known reaper has a process: its parent is dead for certain."""
    if root.parent == 1 and table.scan.is_initial_namespace:
        return True
    parent = table.parent(root)
    return parent is not None and is_reaper(parent)


def is_server(process: Process) -> bool:
    """Tell whether a process is a server whose workers hang below an MPI daemon beside it."""
    part = part_of(process)
    return part.framework.name == "trtllm" and part.role is Role.ROOT


def is_one_job(one: Process, other: Process) -> bool:
    """Tell whether two processes that are not related by birth are of one MPI job."""
    if one.identity.uid != other.identity.uid:
        return False
    return one.session == other.session or bool(_mpi_keys(one) & _mpi_keys(other))


def _mpi_keys(process: Process) -> set[str]:
    names = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID")
    return {value for name, value in process.hints if name in names and value}


def _ties(tree: list[Process], server_sessions: set[int]) -> list[Tie]:
    root = tree[0]
    uid = root.identity.uid
    ties: list[Tie] = []
    for process in tree:
        hints = dict(process.hints)
        ties.append(("process", process.pid))
        ties += [("mpi", key, uid) for key in sorted(_mpi_keys(process))]
        if "MASTER_PORT" in hints and part_of(process).role is Role.WORKER:
            address = hints.get("MASTER_ADDR", "")
            ties.append(("rendezvous", address, hints["MASTER_PORT"], uid))
        ties += [("link", link, uid) for link in process.links]
    if root.session in server_sessions and part_of(root).framework.name in ("mpi", "trtllm"):
        ties.append(("server", root.session, uid))
    return ties


def _is_part(root: Process) -> bool:
    return part_of(root).role in (Role.WORKER, Role.HELPER)


def _are_kin(one: Process, other: Process) -> bool:
    """Tell whether two parts without their root come from one job."""
    if one.identity.uid != other.identity.uid:
        return False
    if part_of(one).framework.name != part_of(other).framework.name:
        return False
    if one.session == other.session or one.group == other.group:
        return True
    return (
        one.cwd is not None
        and one.cwd == other.cwd
        and one.identity.exe == other.identity.exe
        and abs(one.age_s - other.age_s) <= START_TOGETHER_S
    )
