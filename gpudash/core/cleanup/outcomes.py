"""How a cleanup ends: a name, a reason and an exit code, for each GPU, family and host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from gpudash.core.errors import ExitCode, worst


class Outcome(Enum):
    """What became of a GPU or a family (design §8)."""

    CLEANED = "CLEANED"
    HELD = "HELD"
    MANAGED = "MANAGED"
    STUCK = "STUCK"
    PROTECTED = "PROTECTED"
    FOREIGN = "FOREIGN"
    RESPAWNING = "RESPAWNING"
    RESET_REQUIRED = "RESET-REQUIRED"
    UNATTRIBUTED = "UNATTRIBUTED"
    UNKNOWN = "UNKNOWN"

    @property
    def exit_code(self) -> ExitCode:
        """Return the code that a command ends with for this alone (design §6)."""
        return _EXIT_CODE.get(self, ExitCode.HELD)


_EXIT_CODE = {
    Outcome.CLEANED: ExitCode.OK,
    Outcome.STUCK: ExitCode.STUCK,
    Outcome.RESET_REQUIRED: ExitCode.STUCK,
    Outcome.UNKNOWN: ExitCode.UNKNOWN,
}
WORST_FIRST = (
    Outcome.UNKNOWN,
    Outcome.RESET_REQUIRED,
    Outcome.STUCK,
    Outcome.RESPAWNING,
    Outcome.HELD,
    Outcome.UNATTRIBUTED,
    Outcome.FOREIGN,
    Outcome.MANAGED,
    Outcome.PROTECTED,
    Outcome.CLEANED,
)
"""Which one names a whole that has several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What became of one GPU."""

    gpu: str
    """Its key: the UUID, where it has one."""
    index: int
    outcome: Outcome
    reason: str
    """Plain words; empty where it reads zero."""


def joint(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the worst; of nothing at all nothing is known."""
    return min(outcomes, key=WORST_FIRST.index, default=Outcome.UNKNOWN)


def exit_code_of(endings: Iterable[Ending]) -> ExitCode:
    """Return what a command ends with: the worst counts, in the order 3, 4, 6, 1, 0."""
    return worst(ending.outcome.exit_code for ending in endings)
