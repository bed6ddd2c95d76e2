"""From one look at a host to the plan of its cleanup.

The order of the plan depends on what is in it, never on the order in which it was found. Every
family that has memory or a handle is in it, those that nothing may touch included: what the plan
does not show can't be hurt by it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.cleanup.belonging import other_logins
from gpudash.core.cleanup.describing import describe
from gpudash.core.cleanup.endings import endings_of, unseen_of
from gpudash.core.cleanup.families import Families
from gpudash.core.cleanup.managing import own_rooms, questions
from gpudash.core.cleanup.outcomes import Ending, exit_code_of
from gpudash.core.cleanup.plan import Action, FamilyPlan, Kept, Plan
from gpudash.core.cleanup.protection import Rule
from gpudash.core.cleanup.table import Table
from gpudash.core.errors import ExitCode
from gpudash.core.families import Key
from gpudash.core.holding import ManagerFacts, ManagerKind, Process, Scan
from gpudash.core.model import Gpu, Host, Link

_CONTAINERS = (ManagerKind.DOCKER, ManagerKind.PODMAN, ManagerKind.KUBERNETES)
_ORDER = {Action.STOP: 0, Action.ASK: 1, Action.LEAVE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a plan is asked for."""

    gpus: tuple[str, ...] | None = None
    """Keys of the GPUs in scope; None for all."""
    grace_s: float | None = None
    """For every family, instead of its framework's own."""
    rules: tuple[Rule, ...] = ()
    """Of the configuration: they add protection."""
    allowed: frozenset[str] = frozenset()
    """Names of protecting entries that this run leaves out."""
    baselines: Baselines = NO_BASELINES
    """Idle readings that pass."""


def manager_questions(host: Host, scan: Scan) -> tuple[tuple[ManagerKind, str], ...]:
    """Return what the hand should ask managers before a plan is made: kind and id, each once."""
    table = Table(host, scan)
    found = Families(table, (), frozenset())
    return questions((root for one in found.found for root in one.roots), table)


def plan_host(
    host: Host,
    scan: Scan,
    request: Request,
    *,
    at_s: float,
    answers: tuple[ManagerFacts, ...] = (),
    letters: tuple[tuple[Key, str], ...] = (),
    is_first: bool = False,
) -> Plan:
    """Plan the cleanup of one host from its newest reading and a whole scan.

    `answers` are of managers; one that did not answer counts as alive. `is_first` says that no
    cleanup of this host was seen before: such a plan is always shown. Raises ValueError for a scan
    that is not whole: who hangs below whom would be a guess.
    """
    if not scan.is_whole:
        raise ValueError("a plan needs a whole scan")
    table = Table(host, scan)
    found = Families(table, request.rules, request.allowed)
    scope = _scope(host, request)
    described = [
        describe(family, found, scope, answers=answers, letters=letters, grace_s=request.grace_s)
        for family in found.found
    ]
    families = tuple(sorted(described, key=_place))
    kept = _kept(found, scope)
    unseen = unseen_of(table, found, families, scope)
    endings = endings_of(host, scope, families, kept_bytes(found, scope), unseen, request.baselines)
    return Plan(
        host=host.name,
        created_s=at_s,
        host_monotonic_s=scan.host_monotonic_s,
        boot_id=scan.boot_id,
        uid=table.uid,
        pid_namespace=scan.pid_namespace,
        scope=tuple((gpu.info.key, gpu.info.index) for gpu in scope),
        is_whole_host=len(scope) == len(host.gpus),
        families=families,
        kept=kept,
        unseen=unseen,
        unreadable=scan.unreadable,
        endings=endings,
        exit_code=_exit_code(host, endings),
        shows_first=_shows_first(table, is_first),
        notes=_notes(scan, table),
        is_simulated=scan.is_simulated or host.is_simulated,
        hand_uid=table.me.identity.uid if table.me else table.uid,
    )


def _exit_code(host: Host, endings: tuple[Ending, ...]) -> ExitCode:
    problem = host.problem
    if host.link is not Link.LIVE and problem is not None:
        return problem.exit_code
    return exit_code_of(endings)


def _scope(host: Host, request: Request) -> tuple[Gpu, ...]:
    if request.gpus is None:
        return host.gpus
    return tuple(gpu for gpu in host.gpus if gpu.info.key in request.gpus)


def _place(family: FamilyPlan) -> tuple[int, int, int, int]:
    used, _ = family.used_bytes
    return (_ORDER[family.action], -used, *family.id)


def _notes(scan: Scan, table: Table) -> tuple[str, ...]:
    notes = list(scan.notes)
    if not table.is_trusted:
        notes.append("the driver's process list can't be true: handles alone are believed")
    return tuple(notes)


def _shows_first(table: Table, is_first: bool) -> str:
    if any(kind in _CONTAINERS for kind, _ in own_rooms(table)) or (
        not table.scan.is_initial_namespace and not table.scan.is_simulated
    ):
        return "inside a container"
    if table.uid == 0 and (others := other_logins(table)):
        return f"others are logged in as well ({others})"
    return "first cleanup of this host" if is_first else ""


# -- what is kept ------------------------------------------------------------------------------


def kept_bytes(found: Families, scope: tuple[Gpu, ...]) -> dict[str, int]:
    """Return what protected processes hold on each GPU in scope."""
    held: dict[str, int] = defaultdict(int)
    for pid in (*found.protected, *(process.pid for process in found.own)):
        for key, used in found.table.memory_of(pid).items():
            held[key] += used or 0
    return {gpu.info.key: held[gpu.info.key] for gpu in scope}


def _kept(found: Families, scope: tuple[Gpu, ...]) -> tuple[Kept, ...]:
    groups: dict[tuple[str, str], list[Process]] = defaultdict(list)
    for pid, rule in found.protected.items():
        groups[rule.name, rule.why].append(found.table.by_pid[pid])
    kept = [
        _one_kept(name, Action.NEVER, why, processes, found, scope)
        for (name, why), processes in groups.items()
    ]
    if found.own:
        why = "gpudash itself, or what it was started from"
        kept.append(_one_kept("own", Action.NEVER, why, found.own, found, scope))
    watching: dict[tuple[str, str], list[Process]] = defaultdict(list)
    for process in found.observers:
        why = "open handles, no memory" if found.table.could_hold(process) else "only reads"
        watching[process.comm, why].append(process)
    kept += [
        _one_kept(name, Action.WATCHING, why, processes, found, scope)
        for (name, why), processes in watching.items()
    ]
    return tuple(sorted(kept, key=lambda one: (one.action.value, one.name, one.pids)))


def _one_kept(
    name: str,
    action: Action,
    why: str,
    processes: list[Process],
    found: Families,
    scope: tuple[Gpu, ...],
) -> Kept:
    keys = {gpu.info.key for gpu in scope}
    used = sum(
        size or 0
        for process in processes
        for key, size in found.table.memory_of(process.pid).items()
        if key in keys
    )
    pids = tuple(sorted(process.pid for process in processes))
    return Kept(name=name, action=action, why=why, pids=pids, used_bytes=used)
