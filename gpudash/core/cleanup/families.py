"""Holders up to their roots and down to all descendants, joined by what survives a dead parent.

Who holds is decided by evidence (the driver's list with a handle, or the handles of a program that
computes), never by a name. From a holder the way goes up as long as it stays in the same user's
own work: a shell, a login, a service, a manager's border or gpudash itself ends it. Orphans of one
job are brought together by its environment, its session, or what they share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gpudash.core.cleanup.frameworks import Part, Role, part_of
from gpudash.core.cleanup.joining import is_one_job, is_orphan, is_server, joined
from gpudash.core.cleanup.managing import identified
from gpudash.core.cleanup.protection import Rule, is_observer_by_name, protecting_rule
from gpudash.core.cleanup.table import Table, is_prompt_of, is_stop
from gpudash.core.holding import Process


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """Memory of a dead pid that a family keeps by a handle."""

    dead: int
    gpu: str
    used_bytes: int | None
    heir: int
    is_sure: bool
    """It is of the dead one's session or group, or nobody else could keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Who belongs together."""

    roots: tuple[Process, ...]
    """What is asked to end; several where a launcher's daemon is no ancestor of its server."""
    members: tuple[Process, ...]
    """All, the roots first, then by pid; nobody untouchable, protected, or of another user."""
    gpu_bytes: tuple[tuple[str, int | None], ...]
    """GPU key and what is attributed to the family there; None where the driver doesn't say."""
    inherited: tuple[Inherited, ...]
    part: Part
    """What its first root is."""
    above: Process | None
    """The living process below which its first root hangs, whatever that is."""
    is_orphan: bool
    """Every root's true parent is gone; that alone says nothing of whether it is wanted."""


class Families:
    """All families of one look, and who else has a GPU open."""

    def __init__(self, table: Table, rules: tuple[Rule, ...], allowed: frozenset[str]) -> None:
        self.table = table
        self._rules = rules
        self._allowed = allowed
        self.protected: dict[int, Rule] = {}
        self.observers: list[Process] = []
        self.own: list[Process] = []
        self._holders: dict[int, dict[str, int | None]] = {}
        self._inherited: dict[int, list[Inherited]] = defaultdict(list)
        self._find_holders()
        self.found = self._families()

    # -- who holds -----------------------------------------------------------------------------

    def rule_of(self, process: Process) -> Rule | None:
        """Return what protects a process."""
        return protecting_rule(process, self._rules, self._allowed)

    def is_spared(self, process: Process) -> bool:
        """Tell whether an entry that this run leaves out would protect a process."""
        return bool(self._allowed) and (
            protecting_rule(process, self._rules, frozenset()) != self.rule_of(process)
        )

    def _find_holders(self) -> None:
        for process in self.table.processes:
            memory = self.table.memory_of(process.pid)
            if self.table.is_untouchable(process):
                if not process.is_kernel and (memory or self.table.could_hold(process)):
                    self.own.append(process)
                continue
            if not process.handles and (not memory or process.is_readable):
                # Listed without a handle: the list is wrong, whatever it says of this pid.
                continue
            rule = self._protection(process)
            gpus = self._gpus_of(process, memory)
            if rule is not None:
                self.protected[process.pid] = rule
            elif gpus is None:
                self.observers.append(process)
            else:
                self._holders[process.pid] = gpus
        self._find_heirs()

    def _protection(self, process: Process) -> Rule | None:
        rule = self.rule_of(process)
        if rule is None and self.table.is_drawing(process) and "desktop" not in self._allowed:
            return Rule(name="desktop", why="it draws on somebody's screen")
        return rule

    def _gpus_of(
        self, process: Process, memory: dict[str, int | None]
    ) -> dict[str, int | None] | None:
        """Return what a process holds on which GPU; None for one that only looks.

        The driver attributes memory, handles give the right to signal: a listed process needs a
        handle, unless its descriptors could not be read.
        """
        table = self.table
        held = {key: used for key, used in memory.items() if used is None or used > 0}
        if held:
            return held
        if not table.could_hold(process) or is_observer_by_name(process):
            return None
        unexplained = {gpu.info.key for gpu in table.host.gpus if table.unexplained(gpu)}
        # A program opens every GPU that it sees; memory without a name tells which it may hold.
        likely = table.gpu_handles(process) & unexplained
        return dict.fromkeys(sorted(likely)) if likely else None

    def _find_heirs(self) -> None:
        """Trace the memory of each dead pid to whoever keeps a handle on that GPU."""
        for gpu, dead in self.table.dead.items():
            heirs = [
                self.table.by_pid[pid]
                for pid, gpus in self._holders.items()
                if gpu in self.table.gpu_handles(self.table.by_pid[pid])
                and gpu not in self.table.memory_of(pid)
                and gpu in gpus
            ]
            # Who can't be looked into may keep it as well; root sees everybody that matters.
            sees_all = not self.table.scan.unreadable or self.table.sees_as_root
            for pid, used in dead.items():
                near = [heir for heir in heirs if pid in (heir.session, heir.group, heir.parent)]
                is_only = len({self._root(heir).pid for heir in heirs}) == 1 and sees_all
                for heir in near or heirs:
                    # Who leads a group of its own was not forked to help a rank.
                    is_sure = bool(near) or (is_only and heir.group != heir.pid)
                    self._inherited[heir.pid].append(
                        Inherited(
                            dead=pid, gpu=gpu, used_bytes=used, heir=heir.pid, is_sure=is_sure
                        )
                    )

    # -- up ------------------------------------------------------------------------------------

    def _root(self, process: Process) -> Process:
        """Return the highest ancestor that is still the same user's own work."""
        root = process
        for parent in self.table.ancestors(process):
            if self._ends_at(root, parent):
                break
            root = parent
        return root

    def _ends_at(self, child: Process, parent: Process) -> bool:
        return (
            self.table.is_untouchable(parent)
            or is_stop(parent)
            or is_prompt_of(child, parent)
            or parent.identity.uid != child.identity.uid
            or self.rule_of(parent) is not None
            or self.table.is_adopted(child, parent)
            or identified(parent, self.table) != identified(child, self.table)
        )

    # -- down ----------------------------------------------------------------------------------

    def _below(self, root: Process) -> list[Process]:
        """Return a root and all its descendants that may belong to it."""
        found = [root]
        seen = {root.pid}
        for process in found:
            for child in self.table.children.get(process.pid, ()):
                if child.pid in seen or not self._may_belong(child, root):
                    continue
                seen.add(child.pid)
                found.append(child)
        return found

    def _may_belong(self, process: Process, root: Process) -> bool:
        rule = self.rule_of(process)
        return (
            not self.table.is_untouchable(process)
            and process.identity.uid == root.identity.uid
            and (rule is None or rule.name == "shells and tools")
            and identified(process, self.table) == identified(root, self.table)
        )

    # -- together ------------------------------------------------------------------------------

    def _families(self) -> tuple[Family, ...]:
        roots: dict[int, Process] = {}
        for pid in sorted(self._holders):
            root = self._root(self.table.by_pid[pid])
            roots[root.pid] = root
        for root in self._servers_beside(roots.values()):
            roots.setdefault(root.pid, root)
        trees = {pid: self._below(root) for pid, root in roots.items()}
        groups = joined(trees, self.table)
        found = [self._family([roots[pid] for pid in group], trees) for group in groups]
        return tuple(sorted(found, key=lambda family: family.roots[0].pid))

    def _servers_beside(self, roots: Iterable[Process]) -> list[Process]:
        """Return servers without a GPU whose workers are children of an MPI daemon beside them."""
        daemons = [root for root in roots if part_of(root).framework.name in ("mpi", "trtllm")]
        return [
            self._root(process)
            for process in self.table.processes
            if is_server(process)
            and not self.table.is_untouchable(process)
            and self.rule_of(process) is None
            and any(is_one_job(process, daemon) for daemon in daemons)
        ]

    def _family(self, roots: list[Process], trees: dict[int, list[Process]]) -> Family:
        members: dict[int, Process] = {}
        for root in roots:
            members.update((process.pid, process) for process in trees[root.pid])
        below = {process.pid for root in roots for process in trees[root.pid][1:]}
        tops = [root for root in roots if root.pid not in below]
        tops.sort(key=lambda root: (part_of(root).role is not Role.ROOT, root.pid))
        first = tops[0]
        rest = sorted((p for p in members.values() if p not in tops), key=lambda p: p.pid)
        inherited = [one for pid in sorted(members) for one in self._inherited.get(pid, ())]
        return Family(
            roots=tuple(tops),
            members=(*tops, *rest),
            gpu_bytes=self._memory(members, inherited),
            inherited=tuple(inherited),
            part=part_of(first),
            above=self.table.parent(first),
            is_orphan=all(is_orphan(root, self.table) for root in tops),
        )

    def _memory(
        self, members: dict[int, Process], inherited: list[Inherited]
    ) -> tuple[tuple[str, int | None], ...]:
        total: dict[str, int | None] = {}
        counted: set[tuple[int, str]] = set()
        for pid in sorted(members):
            for gpu, used in self._holders.get(pid, {}).items():
                before = total.setdefault(gpu, used)
                if used is not None and before is not used:
                    total[gpu] = (before or 0) + used
        for one in inherited:
            if one.is_sure and one.used_bytes is not None and (one.dead, one.gpu) not in counted:
                counted.add((one.dead, one.gpu))
                total[one.gpu] = (total.get(one.gpu) or 0) + one.used_bytes
        return tuple(sorted(total.items()))
