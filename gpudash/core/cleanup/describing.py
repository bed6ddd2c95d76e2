"""One family as a row of the plan: what would be done to it, what that needs, and why."""

from __future__ import annotations

import re

from gpudash.core.cleanup.belonging import (
    FIRST_HUMAN_UID,
    Belongs,
    Origin,
    belonging,
    is_interactive,
    origin_of,
)
from gpudash.core.cleanup.families import Families, Family
from gpudash.core.cleanup.frameworks import (
    HELPER_GRACE_S,
    Framework,
    Role,
    command_line,
    grace_of,
    part_of,
)
from gpudash.core.cleanup.keepers import keeper_of
from gpudash.core.cleanup.leftovers import (
    Finding,
    Life,
    family_clients,
    family_ports,
    find_life,
)
from gpudash.core.cleanup.managing import Manager
from gpudash.core.cleanup.plan import (
    Action,
    Condition,
    Consent,
    FamilyPlan,
    Member,
    Share,
    Signature,
)
from gpudash.core.cleanup.reasons import reasons_of
from gpudash.core.cleanup.table import QUEUES, SHELLS, Table
from gpudash.core.families import Key, family_key
from gpudash.core.holding import ManagerFacts, Process
from gpudash.core.model import Ancestor, Gpu
from gpudash.core.names import Label, process_label


def describe(
    family: Family,
    found: Families,
    scope: tuple[Gpu, ...],
    *,
    answers: tuple[ManagerFacts, ...],
    letters: tuple[tuple[Key, str], ...],
    grace_s: float | None,
) -> FamilyPlan:
    """Return a family's row: who is in it, what would be done, and what that needs."""
    table = found.table
    origin = origin_of(family, table)
    manager = keeper_of(family, table, answers)
    finding = find_life(family, table, origin, manager)
    belongs = belonging(family, table)
    shares = _shares(family, table, scope)
    needs = _needs(family, finding, belongs, origin, manager, shares)
    clients = family_clients(family)
    grace = _grace(family, clients) if grace_s is None else grace_s
    return FamilyPlan(
        letter=_letter(family, table, letters),
        label=_words(_label(family)),
        user=family.roots[0].user,
        uid=family.roots[0].identity.uid,
        age_s=origin.age_s,
        condition=_condition(family, finding),
        life=finding.life,
        belongs=belongs,
        shares=shares,
        members=_members(family, table),
        action=_action(needs),
        needs=needs,
        why=reasons_of(family, finding, belongs, origin, manager, shares, needs, grace),
        grace_s=grace,
        ports=family_ports(family),
        clients=clients,
        is_saving=any(process.is_saving for process in family.members),
        origin=origin,
        manager=manager,
        host_bytes=sum(_host_bytes(process) for process in family.members),
        signature=_signature(family),
        dead=tuple(sorted({one.dead for one in family.inherited if one.is_sure})),
        is_never_forced=any(found.is_spared(process) for process in family.members),
    )


def _needs(
    family: Family,
    finding: Finding,
    belongs: Belongs,
    origin: Origin,
    manager: Manager | None,
    shares: tuple[Share, ...],
) -> tuple[Consent, ...]:
    needs: set[Consent] = set()
    if not any(share.is_in_scope for share in shares):
        needs.add(Consent.SCOPE)
    if manager is not None and not manager.is_gone:
        needs.add(Consent.MANAGED if manager.is_run else Consent.PRINTED)
    if belongs is Belongs.OTHER_USER:
        is_service = manager is not None and all(
            root.identity.uid < FIRST_HUMAN_UID for root in family.roots
        )
        if not is_service:
            needs.add(Consent.NAME)
    elif belongs is Belongs.OTHER_SESSION:
        needs.add(Consent.SESSION)
    if finding.life is not Life.LEFTOVER or origin.is_below_login or _is_stopped(family):
        needs.add(Consent.KEY)
    if any(not share.is_in_scope for share in shares):
        needs.add(Consent.COLLATERAL)
    return tuple(need for need in Consent if need in needs)


def _action(needs: tuple[Consent, ...]) -> Action:
    if not needs:
        return Action.STOP
    if set(needs) & {Consent.SCOPE, Consent.NAME, Consent.PRINTED}:
        return Action.LEAVE
    return Action.ASK


def _is_stopped(family: Family) -> bool:
    return any(process.state in ("T", "t") or process.tracer for process in family.members)


def _condition(family: Family, finding: Finding) -> Condition:
    holders = [process for process in family.members if process.handles]
    if any(process.state in ("T", "t") for process in family.members):
        return Condition.SUSPENDED
    if any(process.state == "Z" and process.threads for process in holders):
        return Condition.ZOMBIE_LEADER
    if any(process.state == "D" or process.blocked for process in holders):
        return Condition.BLOCKED
    if finding.life is Life.LEFTOVER:
        return Condition.ORPHAN
    return Condition.ACTIVE if finding.is_active else Condition.IDLE


def _shares(family: Family, table: Table, scope: tuple[Gpu, ...]) -> tuple[Share, ...]:
    held = dict(family.gpu_bytes)
    wanted = {gpu.info.key for gpu in scope}
    return tuple(
        Share(
            gpu=gpu.info.key,
            index=gpu.info.index,
            used_bytes=held[gpu.info.key],
            is_in_scope=gpu.info.key in wanted,
        )
        for gpu in table.host.gpus
        if gpu.info.key in held
    )


def _grace(family: Family, clients: int) -> float:
    return max(_root_grace(root, clients) for root in family.roots)


def _root_grace(root: Process, clients: int) -> float:
    part = part_of(root)
    if part.role is Role.HELPER:
        return HELPER_GRACE_S
    if part.role is Role.WORKER:
        return part.framework.orphan_grace_s
    return grace_of(part, root, clients)


def _host_bytes(process: Process) -> int:
    return max(process.rss_bytes or 0, process.locked_bytes or 0)


def _signature(family: Family) -> Signature:
    root, above = family.roots[0], family.above
    return Signature(
        exe=root.identity.exe,
        command=command_line(root),
        cwd=root.cwd,
        parent=root.parent,
        parent_name=above.comm if above and above.pid > 1 else "",
        is_below_script=above is not None
        and (
            above.comm in QUEUES or (above.comm.lstrip("-") in SHELLS and not is_interactive(above))
        ),
    )


# -- who is in it ------------------------------------------------------------------------------


def _members(family: Family, table: Table) -> tuple[Member, ...]:
    roots = {root.pid for root in family.roots}
    framework = next(
        (part_of(one).framework for one in family.members if part_of(one).framework.order),
        None,
    )
    return tuple(
        Member(
            identity=process.identity,
            label=_words(process_label(_ancestor(process))),
            state=process.state,
            is_root=process.pid in roots or part_of(process).role is Role.AGENT,
            gpus=tuple(sorted(table.gpu_handles(process))),
            is_helper=part_of(process).role is Role.HELPER,
            wave=_wave(process, framework),
        )
        for process in family.members
    )


def _wave(process: Process, framework: Framework | None) -> int:
    """Return in which round a process is asked to end: a framework's own order, else 0."""
    if framework is None:
        return 0
    line = command_line(process)
    for place, pattern in enumerate(framework.order):
        if pattern and re.search(pattern, line):
            return place
    return framework.order.index("")


def _ancestor(process: Process) -> Ancestor:
    return Ancestor(
        pid=process.pid,
        start_ticks=process.identity.start_ticks,
        uid=process.identity.uid,
        comm=process.comm,
        argv=process.argv,
    )


def _label(family: Family) -> Label:
    first = process_label(_ancestor(family.roots[0]))
    if first.name == "python" and len(family.members) > 1:
        named = [process_label(_ancestor(process)) for process in family.members[1:]]
        return next((label for label in named if label.name != "python"), first)
    return first


def _words(label: Label) -> str:
    return f"{label.name} {label.detail}".strip()


def _letter(family: Family, table: Table, letters: tuple[tuple[Key, str], ...]) -> str:
    """Return the letter that the screen gave any listed member's family; empty for none."""
    named = dict(letters)
    for process in family.members:
        if process.pid in table.used:
            key = family_key(table.host, process.pid)
            if letter := named.get(key, ""):
                return letter
    return ""
