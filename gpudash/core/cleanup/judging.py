"""What a cleanup came to, once its order is over: when memory is back, how long to hold, how it
ended."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.cleanup.orders import drain_s
from gpudash.core.cleanup.outcomes import Ending, Outcome
from gpudash.core.cleanup.plan import FamilyId, Plan, Unseen
from gpudash.core.cleanup.progress import Fate, Target
from gpudash.core.cleanup.returning import returned
from gpudash.core.cleanup.table import CONTEXT_BYTES
from gpudash.core.units import plural

SHORT_HOLD_S = 2.0
LONG_HOLD_S = 10.0


def drain_deadline_s(plan: Plan, picked: frozenset[FamilyId]) -> float:
    """Return how long memory may take to come back after the last target was seen to end."""
    return max((drain_s(plan.family(one)) for one in picked), default=0.0)


def is_drained(
    plan: Plan,
    picked: frozenset[FamilyId],
    targets: tuple[Target, ...],
    used: dict[str, int | None],
) -> bool:
    """Tell whether waiting for memory is over: everybody is gone and has given it back.

    Where others stay on a GPU, what they held is expected to stay too. An unread GPU is waited for.
    """
    if any(not target.is_over for target in targets):
        return False
    freed = {share.gpu for one in picked for share in plan.family(one).shares}
    for key, _ in plan.scope:
        size = used.get(key)
        if key in freed and (size is None or size > stays_on(plan, picked, key)):
            return False
    return True


def stays_on(plan: Plan, picked: frozenset[FamilyId], key: str) -> int:
    """Return at most how many bytes others go on holding on a GPU."""
    # What the driver lists for a process falls short of what its context takes.
    others = sum(
        (share.used_bytes or 0) + CONTEXT_BYTES * len(family.members)
        for family in plan.families
        if family.id not in picked
        for share in family.shares
        if share.gpu == key
    )
    return others + sum(row.used_bytes or 0 for row in plan.unseen if row.gpu == key)


def hold_of(
    plan: Plan,
    picked: frozenset[FamilyId],
    targets: tuple[Target, ...],
    wished_s: float | None,
) -> tuple[float, str]:
    """Return how long zero must hold to be a proof, and why so long."""
    if wished_s is not None:
        return wished_s, "as asked for"
    if not all(_went_with(row, plan, picked) for row in plan.unseen):
        return LONG_HOLD_S, "not every holder was known by name"
    if any(target.fate is not Fate.ENDED for target in targets):
        return LONG_HOLD_S, "not every holder was seen to end"
    if any(plan.family(one).manager is not None for one in picked):
        return LONG_HOLD_S, "a manager may start it again"
    if any(plan.family(one).signature.is_below_script for one in picked):
        return LONG_HOLD_S, "a script may start it again"
    return SHORT_HOLD_S, "every holder was known and seen to end"


def _went_with(row: Unseen, plan: Plan, picked: frozenset[FamilyId]) -> bool:
    """Tell whether memory without a name was of whoever was ended, as what is known of it says.

    A context on one GPU takes some MiB on each other GPU that its process has open (3.4 MB on an
    H200, driver 580), for which the driver lists nobody. Called only where all reads zero: it is so
    little, nobody but the ended had that GPU open to compute, nobody could hide, and it went when
    they did.
    """
    if row.is_foreign or row.is_listed or (plan.unreadable and plan.hand_uid != 0):
        return False
    if row.used_bytes is None or row.used_bytes > CONTEXT_BYTES:
        return False
    has_open = {
        family.id for family in plan.families for one in family.members if row.gpu in one.gpus
    }
    return bool(has_open) and has_open <= picked


def final_endings(
    before: Plan, now: Plan, picked: frozenset[FamilyId], targets: tuple[Target, ...]
) -> tuple[Ending, ...]:
    """Return how each GPU ended: what a fresh scan says, with what is known of the targets."""
    reasons: dict[str, tuple[Outcome, str]] = {}
    for family_id in picked:
        family = before.family(family_id)
        pids = {member.pid for member in family.members}
        stuck = [
            target.identity.pid
            for target in targets
            if target.fate is Fate.STUCK and target.identity.pid in pids
        ]
        if stuck:
            words = f"pid {stuck[0]} can't be killed"
            words += f", nor {plural(len(stuck) - 1, 'other')}" if stuck[1:] else ""
            reasons.update({share.gpu: (Outcome.STUCK, words) for share in family.shares})
    for one in returned(before, now, picked):
        for gpu in one.gpus:
            reasons.setdefault(gpu, (Outcome.RESPAWNING, one.words))
    return tuple(_judged(ending, reasons) for ending in now.endings)


def _judged(ending: Ending, reasons: dict[str, tuple[Outcome, str]]) -> Ending:
    """A GPU at zero is clean, and one that can't be read unknown, whatever became of whom."""
    found = reasons.get(ending.gpu)
    if found is None or ending.outcome in (Outcome.CLEANED, Outcome.UNKNOWN):
        return ending
    if ending.outcome is Outcome.RESET_REQUIRED:
        return ending
    return replace(ending, outcome=found[0], reason=found[1])
