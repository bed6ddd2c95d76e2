"""Which families of a plan somebody agreed to end.

A plan alone ends nobody. On the screen `y` confirms what needs no more than that, and each further
family has a key of its own. Without a terminal `--yes` confirms and also covers the user's own
that are alive; whoever belongs to another session or user must be named.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.plan import Action, Consent, FamilyId, FamilyPlan, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What was agreed to."""

    is_confirmed: bool = False
    """`y` on the screen, or `--yes`; without it nothing is chosen."""
    covers_alive: bool = False
    """`--yes`, or a yes to a printed plan: the user's own, alive ones too."""
    is_leftovers_only: bool = False
    manages: bool = False
    """`--managed`."""
    users: frozenset[str] = frozenset()
    """Of `--user`: only these users' families, by login or number."""
    has_all_users: bool = False
    pids: frozenset[int] = frozenset()
    """Of `--pid`: only the families that these belong to."""
    keys: frozenset[FamilyId] = frozenset()
    """Families that got their own key on the screen."""


def chosen(plan: Plan, given: Given) -> frozenset[FamilyId]:
    """Return the families that are to be ended; nothing without a confirmation."""
    if not given.is_confirmed:
        return frozenset()
    return frozenset(
        family.id
        for family in plan.families
        if _is_asked_for(family, given) and not missing(family, given)
    )


def missing(family: FamilyPlan, given: Given) -> tuple[Consent, ...]:
    """Return what somebody would still have to agree to for this family."""
    return tuple(need for need in family.needs if not _covers(need, family, given))


def strangers(plan: Plan, given: Given) -> tuple[int, ...]:
    """Return named pids that are in no family of the plan: a usage error, never an empty choice."""
    known = {pid for family in plan.families for pid in family.pids}
    return tuple(sorted(given.pids - known))


def runs_at_once(plan: Plan) -> bool:
    """Tell whether one key may run this plan: all in scope are leftovers and the user's own."""
    concerned = [family for family in plan.families if Consent.SCOPE not in family.needs]
    return (
        not plan.shows_first
        and bool(concerned)
        and all(
            family.action is Action.STOP and family.life is Life.LEFTOVER for family in concerned
        )
    )


def _is_asked_for(family: FamilyPlan, given: Given) -> bool:
    if given.is_leftovers_only and family.life is not Life.LEFTOVER:
        return False
    if given.pids and not _is_named(family, given):
        return False
    return not given.users or _is_of_named_user(family, given) or _is_named(family, given)


def _is_named(family: FamilyPlan, given: Given) -> bool:
    return bool(given.pids & set(family.pids))


def _is_of_named_user(family: FamilyPlan, given: Given) -> bool:
    return family.user in given.users or str(family.uid) in given.users


def _covers(need: Consent, family: FamilyPlan, given: Given) -> bool:
    has_key = family.id in given.keys
    is_named = _is_named(family, given)
    is_users = _is_of_named_user(family, given) or given.has_all_users
    match need:
        case Consent.KEY:
            return given.covers_alive or has_key
        case Consent.COLLATERAL:
            return has_key or is_named
        case Consent.SESSION:
            return has_key or is_named or is_users
        case Consent.NAME:
            return is_named or is_users
        case Consent.MANAGED:
            return has_key or given.manages
        case Consent.PRINTED | Consent.SCOPE:
            return False
