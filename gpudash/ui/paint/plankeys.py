"""Which keys a plan takes: `y` confirms, and each family that may be turned has its letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpudash.core.cleanup.forecast import can_be_keyed
from gpudash.core.cleanup.plan import Action, FamilyId, Plan
from gpudash.core.units import plural

RESERVED = frozenset("ycdqjk")
"""Letters that turn no family: they confirm, open, fold, scroll, or are a slip towards quit."""
_MOST = 20


class Toggle(NamedTuple):
    """A family that a key turns: to be stopped, or to be left."""

    host: str
    family: FamilyId
    key: str
    letter: str
    is_stopped: bool
    """By default."""

    def words(self, toggled: frozenset[tuple[str, FamilyId]]) -> str:
        """Return what the key does now."""
        will_stop = self.is_stopped != ((self.host, self.family) in toggled)
        return f"leave {self.letter}" if will_stop else f"stop {self.letter} too"


def letters_of(
    plans: tuple[Plan, ...], known: dict[tuple[str, int], str]
) -> dict[tuple[str, FamilyId], str]:
    """Return a letter for each family: the screen's own (by host and pid), else a free one."""
    found: dict[tuple[str, FamilyId], str] = {}
    taken = set(known.values())
    free = (chr(65 + number) for number in range(26) if chr(65 + number) not in taken)
    for plan in plans:
        for family in plan.families:
            pids = (*family.pids, *family.dead)
            own = next((known[plan.host, pid] for pid in pids if (plan.host, pid) in known), "")
            found[plan.host, family.id] = own or next(free, "")
    return found


def toggles_of(
    plans: tuple[Plan, ...], letters: dict[tuple[str, FamilyId], str]
) -> tuple[Toggle, ...]:
    """Return the families that a key may turn; of more than there are keys the first ones."""
    found: list[Toggle] = []
    numbers = iter("123456789")
    for plan in plans:
        for family in plan.families:
            if not can_be_keyed(family):
                continue
            letter = letters.get((plan.host, family.id), "")
            key = letter.lower()
            if len(key) != 1 or key in RESERVED or any(one.key == key for one in found):
                key = next(numbers, "")
            if key and len(found) < _MOST:
                is_stopped = family.action is Action.STOP
                found.append(Toggle(plan.host, family.id, key, letter or key, is_stopped))
    # What must be asked for comes first: its keys are the last to go where room is short.
    return tuple(sorted(found, key=lambda one: one.is_stopped))


def confirming(
    plans: tuple[Plan, ...],
    picked: Callable[[Plan], frozenset[FamilyId]],
    letters: dict[tuple[str, FamilyId], str],
) -> str:
    """Write what `y` does: `stop A and B`, `stop 12 families on 3 hosts`; empty for nothing."""
    ended = [(plan.host, family) for plan in plans for family in sorted(picked(plan))]
    if not ended:
        return ""
    names = sorted(letters.get(one, "") for one in ended)
    hosts = len({host for host, _ in ended})
    if len(names) > 4 or not all(names):
        where = f" on {plural(hosts, 'host')}" if hosts > 1 else ""
        return f"stop {plural(len(ended), 'family', 'families')}{where}"
    *first, last = names
    return f"stop {', '.join(first)} and {last}" if first else f"stop {last}"
