"""When what was seen in a cleanup of one host: the times behind its progress.

Kept beside the machine's state, which has no times but the ones that it decides by. Times are the
viewer's clock, when it was learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from gpudash.core.cleanup.progress import Fate
from gpudash.core.cleanup.state import State

_Name = TypeVar("_Name", int, str)
_ASKED = (Fate.ASKED, Fate.FORCED, Fate.STUCK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What was seen so far."""

    began_s: float
    """When the order left."""
    before: tuple[tuple[str, int], ...]
    """Key and bytes of each GPU in scope, when the order left."""
    lowest: tuple[tuple[str, int], ...]
    """The least that was read on each since then."""
    zero: tuple[tuple[str, float], ...] = ()
    """When each first read 0 bytes."""
    asked: tuple[tuple[int, float], ...] = ()
    """When each pid was asked to end."""
    forced: tuple[tuple[int, float], ...] = ()
    ended: tuple[tuple[int, float], ...] = ()

    @property
    def first_asked_s(self) -> float:
        """Return when the first one was asked, as far as that is known."""
        return min((at_s for _, at_s in self.asked), default=self.began_s)


def to_free_bytes(state: State) -> int:
    """Return what the chosen families held when the plan was made."""
    plan = state.plan
    if plan is None:
        return 0
    return sum(plan.family(family).used_bytes[0] for family in state.picked)


def freed_bytes(state: State, course: Course) -> int:
    """Return how much of that was given back since the order left."""
    lowest = dict(course.lowest)
    back = sum(max(0, size - lowest.get(key, size)) for key, size in course.before)
    return min(to_free_bytes(state), back)


def followed(course: Course | None, state: State, at_s: float) -> Course | None:
    """Return the course after one more look at a cleanup; None before its order left."""
    if not state.is_sent:
        return None
    used = {key: size for key, size in state.used if size is not None}
    if course is None:
        sizes = tuple(used.items())
        course = Course(began_s=at_s, before=sizes, lowest=sizes)
    known = dict(course.before)
    if used.keys() - known.keys():
        new = tuple((key, size) for key, size in used.items() if key not in known)
        course = replace(course, before=(*course.before, *new), lowest=(*course.lowest, *new))
    return replace(
        course,
        lowest=tuple((key, min(size, used.get(key, size))) for key, size in course.lowest),
        zero=_first(course.zero, [key for key, size in used.items() if size == 0], at_s),
        asked=_first(course.asked, _pids(state, _ASKED), at_s),
        forced=_first(course.forced, _pids(state, (Fate.FORCED, Fate.STUCK)), at_s),
        ended=_first(course.ended, _pids(state, (Fate.ENDED,)), at_s),
    )


def _pids(state: State, fates: tuple[Fate, ...]) -> list[int]:
    return [target.identity.pid for target in state.targets if target.fate in fates]


def _first(
    known: tuple[tuple[_Name, float], ...], names: list[_Name], at_s: float
) -> tuple[tuple[_Name, float], ...]:
    seen = {name for name, _ in known}
    new = tuple((name, at_s) for name in names if name not in seen)
    return known + new if new else known


def force_at_s(state: State, course: Course, number: int) -> float | None:
    """Return when the hand forces a family's survivors; None where it never will, or did.

    `number` is the family's in the order.
    """
    if state.order is None or state.is_aborted:
        return None
    family = next((one for one in state.order.families if one.number == number), None)
    if family is None or len(family.steps) < 2 or family.steps[-1].signal != "KILL":
        return None
    return course.first_asked_s + sum(
        step.settle_s + step.wait_s for step in family.steps[:-1] if not step.is_after_gone
    )
