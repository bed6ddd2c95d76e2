"""When a start-up is followed no further, and in which words."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.startup.model import Outcome, Startup

LINGER_S = 5.0
"""A failure's cause is often printed after its first sign: so long nothing new must come."""
LAST_WORDS_S = 2.0
"""So long the log of a process that has ended is still read, and must be silent."""
LONGEST_WORDS_S = 30.0
"""So long a log is waited for that was not read to its end yet, on a slow link or host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What counts for the end."""

    startup: Startup
    stays: bool
    has_ended: bool
    """The log has: nothing more can come of it."""
    is_gone: bool
    """No process of it lives any more."""
    gone_s: float | None
    """For how long."""
    is_read: bool
    """The log was read to its end at least once."""
    settled_s: float
    """Since the log last said something, or its cause changed."""


def ending_of(standing: Standing) -> str:
    """Return why it is over, or an empty text."""
    outcome = standing.startup.outcome
    if standing.has_ended:
        return _words(outcome, "its log has ended")
    gone_s = standing.gone_s or 0.0
    is_silent = standing.is_read and min(gone_s, standing.settled_s) >= LAST_WORDS_S
    if standing.is_gone and (is_silent or gone_s >= LONGEST_WORDS_S):
        return _words(outcome, "its process has ended")
    if outcome is Outcome.READY and not standing.stays:
        return "it is ready"
    if outcome is Outcome.FAILED and standing.settled_s >= LINGER_S:
        return "it has failed"
    return ""


def _words(outcome: Outcome, why: str) -> str:
    match outcome:
        case Outcome.FAILED:
            return f"it has failed; {why}"
        case Outcome.READY:
            return f"it was ready; {why}"
        case Outcome.STARTING:
            return f"{why}, neither ready nor failed"
