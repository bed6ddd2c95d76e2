"""What became of each target of an order, from the hand's reports: nobody is left untold.

A target is untouched, refused, asked, forced, ended or stuck; where the hand can't tell any more
(a reboot, a killed session) it is unknown. Stuck is said only of one that SIGKILL can't reach:
pending, asleep in the kernel, and nothing about it or its GPUs moved for a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.reports import (
    Exited,
    Joined,
    Refusal,
    Refused,
    Sent,
    Survivor,
    Told,
    Waiting,
)
from gpudash.core.holding import Identity

STUCK_S = 2.0
STUCK_LOOKS = 3


class Fate(Enum):
    """What became of one target."""

    UNTOUCHED = "untouched"
    REFUSED = "refused"
    ASKED = "asked"
    FORCED = "forced"
    ENDED = "ended"
    STUCK = "stuck"
    UNKNOWN = "unknown"


_FINAL = frozenset({Fate.REFUSED, Fate.ENDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One process of an order."""

    family: int
    identity: Identity
    fate: Fate = Fate.UNTOUCHED
    refusal: Refusal | None = None
    is_heir: bool = False
    """Born after the plan."""

    @property
    def is_over(self) -> bool:
        """Tell whether it is gone, or is not to be touched any more."""
        return self.fate in _FINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Stillness:
    """Since when nothing about a killed process moved."""

    pid: int
    trace: tuple[object, ...]
    since_s: float
    looks: int


def targets_of(order: Order) -> tuple[Target, ...]:
    """Return the targets of an order, nobody touched yet; managed families have none."""
    return tuple(
        Target(family=family.number, identity=identity)
        for family in order.families
        for identity in family.members
    )


def after(targets: tuple[Target, ...], told: Told) -> tuple[Target, ...]:
    """Return the targets after a report; one about a stranger changes nothing."""
    match told:
        case Joined(family=family, identity=identity):
            if any(target.identity == identity for target in targets):
                return targets
            return (*targets, Target(family=family, identity=identity, is_heir=True))
        case Sent(pid=pid, signal="TERM"):
            return _changed(targets, pid, Fate.ASKED)
        case Sent(pid=pid, signal="KILL"):
            return _changed(targets, pid, Fate.FORCED)
        case Exited(pid=pid):
            return _changed(targets, pid, Fate.ENDED)
        case Refused(pid=pid, why=Refusal.GONE):
            return _changed(targets, pid, Fate.ENDED)
        case Refused(pid=pid, why=why):
            return tuple(
                replace(target, fate=Fate.REFUSED, refusal=why)
                if target.identity.pid == pid and not target.is_over
                else target
                for target in targets
            )
        case _:
            return targets


def _changed(targets: tuple[Target, ...], pid: int, fate: Fate) -> tuple[Target, ...]:
    return tuple(
        replace(target, fate=fate) if target.identity.pid == pid and not target.is_over else target
        for target in targets
    )


def lost(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return the targets when nobody can tell any more what became of who was not over."""
    return tuple(
        target if target.is_over else replace(target, fate=Fate.UNKNOWN) for target in targets
    )


def still(
    before: tuple[Stillness, ...],
    waiting: Waiting,
    *,
    at_s: float,
    memory_moved_s: float,
) -> tuple[Stillness, ...]:
    """Return since when each survivor stands still; `memory_moved_s` is when a GPU last gave back.

    Times are the host's clock. A look in which it is not asleep in the kernel with SIGKILL
    pending starts anew: a moment in state D means nothing.
    """
    known = {one.pid: one for one in before}
    return tuple(
        _one_still(known.get(one.pid), one, at_s=at_s, memory_moved_s=memory_moved_s)
        for one in waiting.survivors
        if one.is_kill_pending and (one.state == "D" or one.blocked)
    )


def _one_still(
    before: Stillness | None, one: Survivor, *, at_s: float, memory_moved_s: float
) -> Stillness:
    if before is None or before.trace != one.trace or memory_moved_s > before.since_s:
        return Stillness(pid=one.pid, trace=one.trace, since_s=at_s, looks=1)
    return replace(before, looks=before.looks + 1)


def stuck_pids(stillness: Iterable[Stillness], at_s: float) -> frozenset[int]:
    """Return who can't be killed: still over all looks of at least two seconds."""
    return frozenset(
        one.pid for one in stillness if one.looks >= STUCK_LOOKS and at_s - one.since_s >= STUCK_S
    )


def mark_stuck(targets: tuple[Target, ...], pids: frozenset[int]) -> tuple[Target, ...]:
    """Return the targets with those marked that can't be killed; one that ends after all counts."""
    marked = []
    for target in targets:
        if target.is_over:
            marked.append(target)
        elif target.identity.pid in pids:
            marked.append(replace(target, fate=Fate.STUCK))
        elif target.fate is Fate.STUCK:
            marked.append(replace(target, fate=Fate.FORCED))
        else:
            marked.append(target)
    return tuple(marked)
