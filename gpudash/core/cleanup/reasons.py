"""Why a family is stopped, asked for or left, in the words of the plan (mockups spec §11)."""

from __future__ import annotations

import shlex

from gpudash.core.cleanup.belonging import Belongs, Origin
from gpudash.core.cleanup.families import Family
from gpudash.core.cleanup.frameworks import part_of
from gpudash.core.cleanup.leftovers import Finding, Life
from gpudash.core.cleanup.managing import Manager
from gpudash.core.cleanup.plan import Consent, Share
from gpudash.core.units import format_duration, index_list


def reasons_of(
    family: Family,
    finding: Finding,
    belongs: Belongs,
    origin: Origin,
    manager: Manager | None,
    shares: tuple[Share, ...],
    needs: tuple[Consent, ...],
    grace_s: float,
) -> tuple[str, ...]:
    """Return sentences: what it is, what would be done, and what that costs."""
    said = [_state(family, finding, belongs, origin)]
    if manager is not None and not manager.is_gone:
        said += _managed(manager)
    elif Consent.NAME in needs:
        said.append(f"To include it: gpudash clean --user {family.roots[0].user}")
    else:
        said.append(_deed(grace_s))
    said += _inherited(family)
    outside = [share.index for share in shares if not share.is_in_scope]
    if Consent.SCOPE in needs:
        said.append("on other GPUs than those in scope: untouched")
    elif outside:
        said.append(f"this stops its work on GPU {index_list(outside)} too")
    traced = next((process.tracer for process in family.members if process.tracer), 0)
    if traced:
        said.append(f"pid {traced} debugs it")
    if note := part_of(family.roots[0]).framework.note:
        said.append(note)
    return tuple(sentence for sentence in said if sentence)


def _state(family: Family, finding: Finding, belongs: Belongs, origin: Origin) -> str:
    age = format_duration(origin.age_s)
    words = [finding.evidence] if finding.life is Life.LEFTOVER else []
    if belongs is Belongs.OTHER_USER:
        words.append("someone else's")
    if finding.life is Life.DETACHED:
        words.append(f"runs without its starter for {age}")
    elif finding.life is Life.ALIVE:
        words.append(f"alive for {age}")
    if any(process.state == "T" for process in family.members):
        words.append("suspended")
    if any(process.state == "Z" for process in family.members):
        words.append("its main thread ended, other threads live")
    words += finding.signs[:2]
    if belongs is not Belongs.MINE or origin.is_in_living_login:
        words.append(origin.words)
    return ", ".join(word for word in words if word)


def _deed(grace_s: float) -> str:
    if not grace_s:
        return "force at once: it does not end when asked"
    return f"ask to end, wait {grace_s:g} s, then force"


def _managed(manager: Manager) -> list[str]:
    said = [f"run by {manager.words}"]
    if manager.restarts:
        said.append("it starts again what is ended past it")
    for command in manager.commands:
        said.append(
            f"{'stop with' if manager.is_run else 'to stop it yourself'}: {shlex.join(command)}"
        )
    return said


def _inherited(family: Family) -> list[str]:
    seen: dict[int, list[int]] = {}
    for one in family.inherited:
        if one.is_sure and one.heir not in seen.setdefault(one.dead, []):
            seen[one.dead].append(one.heir)
    return [
        f"memory belongs to pid {dead}, which is dead; ending {_heirs(heirs)} frees it"
        for dead, heirs in sorted(seen.items())
    ]


def _heirs(heirs: list[int]) -> str:
    if len(heirs) == 1:
        return f"its child {heirs[0]}"
    return f"its {len(heirs)} children"
