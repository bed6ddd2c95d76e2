"""What became of each family of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.cleanup.endings import outcome_if_left
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.plan import FamilyPlan, Plan
from gpudash.core.cleanup.progress import Fate, Target
from gpudash.core.cleanup.returning import returned
from gpudash.core.cleanup.state import State
from gpudash.core.units import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyResult:
    """What became of one family."""

    family: FamilyPlan
    was_picked: bool
    outcome: Outcome
    reason: str
    """Empty for one that is gone."""


def family_results(state: State) -> tuple[FamilyResult, ...]:
    """Return what became of each family of the plan, in its order."""
    plan = state.plan
    if plan is None:
        return ()
    back: dict[tuple[int, int], str] = {}
    if state.newest is not None:
        back = dict(_returned(plan, state.newest, state))
    return tuple(_result(family, state, back) for family in plan.families)


def _returned(plan: Plan, newest: Plan, state: State) -> list[tuple[tuple[int, int], str]]:
    found = []
    for family_id in sorted(state.picked):
        for one in returned(plan, newest, frozenset({family_id})):
            found.append((family_id, one.words))
    return found


def _result(family: FamilyPlan, state: State, back: dict[tuple[int, int], str]) -> FamilyResult:
    was_picked = family.id in state.picked and state.is_sent and not state.declined
    if not was_picked:
        is_there = state.newest is None or family.id in {one.id for one in state.newest.families}
        outcome = outcome_if_left(family) if is_there else Outcome.CLEANED
        reason = "left alone" if is_there else "it ended by itself"
    elif family.id in back:
        outcome, reason = Outcome.RESPAWNING, back[family.id]
    else:
        outcome, reason = _picked(family, state)
    return FamilyResult(family=family, was_picked=was_picked, outcome=outcome, reason=reason)


def _picked(family: FamilyPlan, state: State) -> tuple[Outcome, str]:
    its = [one for one in state.targets if one.identity.pid in set(family.pids)]
    if not its and family.manager is not None:
        if state.newest is None:
            return Outcome.UNKNOWN, "it was not looked at again"
        is_there = family.id in {one.id for one in state.newest.families}
        return (
            (Outcome.MANAGED, "its manager did not stop it")
            if is_there
            else (
                Outcome.CLEANED,
                "",
            )
        )
    return _fated(its)


def _fated(targets: list[Target]) -> tuple[Outcome, str]:
    """Return what the worst of some targets makes of all."""
    for fate, outcome, words in _FATES:
        its = [one for one in targets if one.fate is fate]
        if its:
            more = f" and {plural(len(its) - 1, 'other')}" if its[1:] else ""
            why = f" ({its[0].refusal.value})" if its[0].refusal is not None else ""
            return outcome, f"pid {its[0].identity.pid}{more} {words}{why}"
    return Outcome.CLEANED, ""


_FATES = (
    (Fate.STUCK, Outcome.STUCK, "can't be killed"),
    (Fate.UNKNOWN, Outcome.UNKNOWN, "is unaccounted for: the host can't tell any more"),
    (Fate.REFUSED, Outcome.HELD, "was not signalled"),
    (Fate.FORCED, Outcome.HELD, "has not ended yet"),
    (Fate.ASKED, Outcome.HELD, "was asked to end and has not"),
    (Fate.UNTOUCHED, Outcome.HELD, "was not signalled"),
)
