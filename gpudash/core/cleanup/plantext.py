"""A plan as lines of text: what would be done to whom, and why, and who is left alone."""

from __future__ import annotations

import shlex

from gpudash.core.cleanup.consent import Given, chosen, missing
from gpudash.core.cleanup.orders import drain_s
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.plan import Consent, FamilyPlan, Plan
from gpudash.core.names import clean_text, printable
from gpudash.core.units import format_duration, format_known, format_memory, index_list, plural

_NEEDED = {
    Consent.KEY: "alive: --yes covers it",
    Consent.COLLATERAL: "works on other GPUs too: --pid {pid}",
    Consent.SESSION: "of another session: --pid {pid}",
    Consent.NAME: "another user's: --user {user} or --pid {pid}",
    Consent.MANAGED: "its manager stops it with --managed",
    Consent.PRINTED: "for you to stop by its manager",
    Consent.SCOPE: "not on a GPU in scope",
}


def plan_text(plan: Plan, given: Given, *, has_sudo: bool = False) -> str:
    """Return the plan of one host; `given` is what a yes would agree to."""
    picked = chosen(plan, given)
    lines = [_head(plan, has_sudo)]
    for family in plan.families:
        lines += _family(family, given, is_picked=family.id in picked)
    for kept in plan.kept:
        size = f", {format_memory(kept.used_bytes)}" if kept.used_bytes else ""
        pids = _pids(kept.pids)
        lines.append(f"  {kept.action.value:<8}  {clean_text(kept.name)}{size}  {pids}")
        lines.append(f"            {printable(kept.why)}")
    for row in plan.unseen:
        size = format_memory(row.used_bytes) if row.used_bytes is not None else "?"
        lines.append(f"  leave     GPU {row.index}: {size}, {printable(row.words)}")
    if plan.unreadable:
        them = plural(plan.unreadable, "process", "processes")
        lines.append(f"  {them} could not be looked into")
    lines += [f"  {printable(note)}" for note in plan.notes]
    lines.append(f"  {_sum(plan, picked_count=len(picked))}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(plan: Plan, has_sudo: bool) -> str:
    indices = [index for _, index in plan.scope]
    scope = "all GPUs" if plan.is_whole_host else f"GPU {index_list(indices)}"
    marks = " SIMULATED" if plan.is_simulated else ""
    by = ", by sudo -n" if has_sudo else ""
    return f"{plan.host}: {scope}{by}{marks}"


def _family(family: FamilyPlan, given: Given, *, is_picked: bool) -> list[str]:
    verb = family.action.value if family.action.value in ("never", "watching") else "leave"
    if is_picked:
        verb = "stop"
    indices = [share.index for share in family.shares]
    size = format_known(*family.used_bytes)
    lines = [
        f"  {verb:<8}  {clean_text(family.label)}  pid {family.id[0]}"
        f"{_others(family)} · {clean_text(family.user)} · {family.condition.value} "
        f"{format_duration(family.age_s)} · GPU {index_list(indices)} · {size}"
    ]
    lines += [f"            {printable(sentence)}" for sentence in family.why if sentence]
    if family.origin.words:
        lines.append(f"            {family.origin.words}")
    if family.ports:
        ports = ", ".join(str(port) for port in family.ports)
        lines.append(f"            port {ports}, {plural(family.clients, 'client')}")
    if family.is_saving:
        lines.append("            writes a checkpoint: waited for while it grows")
    if is_picked and family.manager is not None and family.manager.commands:
        for words in family.manager.commands:
            lines.append(f"            runs: {shlex.join(words)}")
    elif is_picked and family.host_bytes:
        lines.append(f"            memory back within {format_duration(drain_s(family))}")
    if not is_picked:
        lines += [f"            → {_need(need, family)}" for need in missing(family, given)]
    return lines


def _others(family: FamilyPlan) -> str:
    count = len(family.members) - 1
    return f" and {plural(count, 'other')}" if count else ""


def _need(need: Consent, family: FamilyPlan) -> str:
    return _NEEDED[need].format(pid=family.id[0], user=clean_text(family.user))


def _pids(pids: tuple[int, ...]) -> str:
    more = f" and {len(pids) - 6} more" if len(pids) > 6 else ""
    return f"pid {', '.join(str(pid) for pid in pids[:6])}{more}"


def _sum(plan: Plan, picked_count: int) -> str:
    if not picked_count:
        bad = [one for one in plan.endings if one.outcome is not Outcome.CLEANED]
        return "nobody to end" + (f"; {plural(len(bad), 'GPU')} not at zero" if bad else "")
    families = plural(picked_count, "family", "families")
    return f"{families} would be ended; there is no undo"
