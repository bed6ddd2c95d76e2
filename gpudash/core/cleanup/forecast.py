"""What a plan would leave: each GPU in scope now, and after the chosen families ended."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.cleanup.belonging import Belongs
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.plan import Action, Consent, FamilyId, FamilyPlan, Plan
from gpudash.core.model import Owner

NEVER_BY_KEY = frozenset({Consent.NAME, Consent.PRINTED, Consent.SCOPE})
"""What no key on the screen agrees to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One GPU in scope."""

    gpu: str
    index: int
    used_bytes: int
    """As far as it is known whose it is."""
    owner: Owner | None
    """Of the largest share; None for nobody."""
    left_bytes: int
    left_owner: Owner | None
    is_open: bool = False
    """It is not known, or needs a reset: whoever is ended, nobody says that it will be zero."""


_OPEN = (Outcome.UNKNOWN, Outcome.RESET_REQUIRED, Outcome.STUCK)


def owner_of_family(family: FamilyPlan) -> Owner:
    """Return the class that its colour tells."""
    if family.life is Life.LEFTOVER:
        return Owner.LEFTOVER
    return Owner.FOREIGN if family.belongs is Belongs.OTHER_USER else Owner.MINE


def forecast(plan: Plan, picked: frozenset[FamilyId]) -> tuple[Forecast, ...]:
    """Return each GPU in scope, now and afterwards, in roster order."""
    found = []
    open_gpus = {one.gpu for one in plan.endings if one.outcome in _OPEN}
    for key, index in plan.scope:
        now = _on(plan, key)
        left = [one for one in now if one[2] not in picked]
        found.append(
            Forecast(
                gpu=key,
                index=index,
                used_bytes=sum(size for size, _, _ in now),
                owner=_largest(now),
                left_bytes=sum(size for size, _, _ in left),
                left_owner=_largest(left),
                is_open=key in open_gpus,
            )
        )
    return tuple(found)


_OnGpu = list[tuple[int, Owner, FamilyId | None]]


def _on(plan: Plan, key: str) -> _OnGpu:
    found: _OnGpu = [
        (share.used_bytes or 0, owner_of_family(family), family.id)
        for family in plan.families
        for share in family.shares
        if share.gpu == key and share.used_bytes != 0
    ]
    found += [
        (row.used_bytes or 0, Owner.FOREIGN if row.is_foreign else Owner.UNKNOWN, None)
        for row in plan.unseen
        if row.gpu == key
    ]
    return found


def _largest(found: _OnGpu) -> Owner | None:
    return max(found, key=lambda one: one[0])[1] if found else None


def can_be_keyed(family: FamilyPlan) -> bool:
    """Tell whether a key on the screen may include a family, or leave it out."""
    return not NEVER_BY_KEY & set(family.needs)


def given_for(plan: Plan, toggled: frozenset[FamilyId]) -> Given:
    """Return what `y` agrees to, where the families in `toggled` are turned from their default.

    By default what needs no consent is stopped, and what asks for a key is left.
    """
    wanted = [
        family
        for family in plan.families
        if can_be_keyed(family) and (family.action is Action.STOP) != (family.id in toggled)
    ]
    left_out = any(
        family.action is Action.STOP and family.id in toggled for family in plan.families
    )
    keys = frozenset(family.id for family in wanted if family.needs)
    # Pids narrow: whoever is not named is left alone.
    pids = frozenset(family.id[0] for family in wanted) if left_out else frozenset()
    return Given(is_confirmed=bool(wanted), keys=keys, pids=pids)
