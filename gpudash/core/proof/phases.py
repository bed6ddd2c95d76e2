"""Where a proof can stand, what can happen to it, and the one table that says what follows."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Of a proof, in the words of design §2."""

    NONE = "NONE"
    HOLDING = "HOLDING"
    PROVEN = "PROVEN"
    BROKEN = "BROKEN"


class Phase(Enum):
    """Where one host's proof stands, more finely than its state."""

    NONE = "none"
    HOLDING = "holding"
    SUSPENDED = "suspended"
    """Holding, but nothing comes: goes on only if every missing sample then arrives."""
    PROVEN = "proven"
    UNWATCHED = "unwatched"
    """Proven, but nothing comes: goes on only if every missing sample then arrives."""
    LAPSED = "lapsed"
    """Proven until the viewer's machine slept; not watched since."""
    BROKEN = "broken"

    @property
    def state(self) -> State:
        """Return the state that this phase is a part of."""
        return _STATES[self]


_STATES = {
    Phase.NONE: State.NONE,
    Phase.HOLDING: State.HOLDING,
    Phase.SUSPENDED: State.HOLDING,
    Phase.PROVEN: State.PROVEN,
    Phase.UNWATCHED: State.PROVEN,
    Phase.LAPSED: State.PROVEN,
    Phase.BROKEN: State.BROKEN,
}


class Sign(Enum):
    """What an event means for the proof of one host."""

    CLEAR = "clear"
    """A complete sample in which all in scope is clear, with no hold under way."""
    CONTINUES = "continues"
    """Clear, and the very next sample of the same boot and probe, without a gap."""
    LAGS = "lags"
    """As CONTINUES, but it was read some time ago: the link is catching up."""
    COMPLETES = "completes"
    """As CONTINUES, and with it the hold is long enough."""
    INTERRUPTED = "interrupted"
    """Clear, but it doesn't go on with the one before: a sample or some time is missing."""
    NOT_CLEAR = "not clear"
    REFUSED = "refused"
    """Not clear or not to be had from the start, for a proof that is tried once."""
    STALLED = "stalled"
    """Nothing comes; it may still."""
    LOST = "lost"
    """The link, the probe, the boot or the roster is another one."""
    SLEPT = "slept"
    """The viewer's machine slept."""
    RESTARTED = "restarted"
    """The user wants it anew."""


TABLE = {
    (Phase.NONE, Sign.CLEAR): Phase.HOLDING,
    (Phase.NONE, Sign.NOT_CLEAR): Phase.NONE,
    (Phase.NONE, Sign.REFUSED): Phase.BROKEN,
    (Phase.NONE, Sign.STALLED): Phase.NONE,
    (Phase.NONE, Sign.LOST): Phase.NONE,
    (Phase.NONE, Sign.SLEPT): Phase.NONE,
    (Phase.NONE, Sign.RESTARTED): Phase.NONE,
    (Phase.HOLDING, Sign.CONTINUES): Phase.HOLDING,
    (Phase.HOLDING, Sign.LAGS): Phase.SUSPENDED,
    (Phase.HOLDING, Sign.COMPLETES): Phase.PROVEN,
    (Phase.HOLDING, Sign.INTERRUPTED): Phase.HOLDING,
    (Phase.HOLDING, Sign.NOT_CLEAR): Phase.BROKEN,
    (Phase.HOLDING, Sign.STALLED): Phase.SUSPENDED,
    (Phase.HOLDING, Sign.LOST): Phase.BROKEN,
    (Phase.HOLDING, Sign.SLEPT): Phase.NONE,
    (Phase.HOLDING, Sign.RESTARTED): Phase.NONE,
    (Phase.SUSPENDED, Sign.CONTINUES): Phase.HOLDING,
    (Phase.SUSPENDED, Sign.LAGS): Phase.SUSPENDED,
    (Phase.SUSPENDED, Sign.COMPLETES): Phase.PROVEN,
    (Phase.SUSPENDED, Sign.INTERRUPTED): Phase.HOLDING,
    (Phase.SUSPENDED, Sign.NOT_CLEAR): Phase.BROKEN,
    (Phase.SUSPENDED, Sign.STALLED): Phase.SUSPENDED,
    (Phase.SUSPENDED, Sign.LOST): Phase.BROKEN,
    (Phase.SUSPENDED, Sign.SLEPT): Phase.NONE,
    (Phase.SUSPENDED, Sign.RESTARTED): Phase.NONE,
    (Phase.PROVEN, Sign.CONTINUES): Phase.PROVEN,
    (Phase.PROVEN, Sign.LAGS): Phase.UNWATCHED,
    (Phase.PROVEN, Sign.INTERRUPTED): Phase.BROKEN,
    (Phase.PROVEN, Sign.NOT_CLEAR): Phase.BROKEN,
    (Phase.PROVEN, Sign.STALLED): Phase.UNWATCHED,
    (Phase.PROVEN, Sign.LOST): Phase.BROKEN,
    (Phase.PROVEN, Sign.SLEPT): Phase.LAPSED,
    (Phase.PROVEN, Sign.RESTARTED): Phase.NONE,
    (Phase.UNWATCHED, Sign.CONTINUES): Phase.PROVEN,
    (Phase.UNWATCHED, Sign.LAGS): Phase.UNWATCHED,
    (Phase.UNWATCHED, Sign.INTERRUPTED): Phase.BROKEN,
    (Phase.UNWATCHED, Sign.NOT_CLEAR): Phase.BROKEN,
    (Phase.UNWATCHED, Sign.STALLED): Phase.UNWATCHED,
    (Phase.UNWATCHED, Sign.LOST): Phase.BROKEN,
    (Phase.UNWATCHED, Sign.SLEPT): Phase.LAPSED,
    (Phase.UNWATCHED, Sign.RESTARTED): Phase.NONE,
    (Phase.LAPSED, Sign.CLEAR): Phase.HOLDING,
    (Phase.LAPSED, Sign.NOT_CLEAR): Phase.BROKEN,
    (Phase.LAPSED, Sign.STALLED): Phase.LAPSED,
    (Phase.LAPSED, Sign.LOST): Phase.LAPSED,
    (Phase.LAPSED, Sign.SLEPT): Phase.LAPSED,
    (Phase.LAPSED, Sign.RESTARTED): Phase.NONE,
    (Phase.BROKEN, Sign.CLEAR): Phase.HOLDING,
    (Phase.BROKEN, Sign.NOT_CLEAR): Phase.BROKEN,
    (Phase.BROKEN, Sign.STALLED): Phase.BROKEN,
    (Phase.BROKEN, Sign.LOST): Phase.BROKEN,
    (Phase.BROKEN, Sign.SLEPT): Phase.BROKEN,
    (Phase.BROKEN, Sign.RESTARTED): Phase.NONE,
}
"""Every legal transition; any other pair is a bug of ours."""

IDLE = frozenset({Phase.NONE, Phase.LAPSED, Phase.BROKEN})
"""No hold is under way and none is proven and watched."""
RUNNING = frozenset({Phase.HOLDING, Phase.SUSPENDED})
"""A hold is under way."""
