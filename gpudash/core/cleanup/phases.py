"""Where a cleanup of one host can be, and every legal way from there, as one table."""

from __future__ import annotations

from enum import Enum

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.happened import Event


class Phase(Enum):
    """Where a cleanup is."""

    SCANNING = "scanning"
    PLANNED = "planned"
    CONFIRMED = "confirmed"
    BOUND = "bound"
    TERMINATING = "terminating"
    KILLING = "killing"
    DRAINING = "draining"
    RESCANNING = "rescanning"
    HOLDING = "holding"
    DONE = "done"


P = Phase
ORDERED = (P.BOUND, P.TERMINATING, P.KILLING)
"""The hand has an order and carries it."""
_OPEN = tuple(phase for phase in Phase if phase is not P.DONE)
Legal = dict[tuple[Phase, type[Event]], tuple[Phase, ...]]

_STAYS: Legal = {
    **{(phase, ev.LinkCut): (phase,) for phase in _OPEN},
    **{(phase, ev.LinkBack): (phase,) for phase in _OPEN},
    **{(phase, ev.Sampled): (phase,) for phase in _OPEN if phase is not P.DRAINING},
    **{(phase, ev.Recorded): (phase,) for phase in _OPEN},
    **{(phase, ev.Planned): (phase,) for phase in (P.PLANNED, *ORDERED, P.DRAINING, P.HOLDING)},
    **{(phase, ev.Taken): (phase,) for phase in (*ORDERED, P.DRAINING)},
    **{(phase, ev.Declined): (phase,) for phase in (*ORDERED, P.DRAINING)},
    **{(phase, ev.Forced): (phase,) for phase in ORDERED},
    **{(phase, ev.Aborted): (phase,) for phase in (*ORDERED, P.DRAINING)},
}
"""What changes nothing about where it is."""
TRANSITIONS: Legal = {
    **_STAYS,
    (P.SCANNING, ev.Planned): (P.PLANNED,),
    (P.SCANNING, ev.Cancelled): (P.DONE,),
    (P.PLANNED, ev.Confirmed): (P.CONFIRMED, P.PLANNED, P.HOLDING, P.DONE),
    (P.PLANNED, ev.Cancelled): (P.DONE,),
    (P.CONFIRMED, ev.Planned): (P.CONFIRMED, P.PLANNED, P.DONE),
    (P.CONFIRMED, ev.Taken): (P.BOUND, P.CONFIRMED),
    (P.CONFIRMED, ev.Declined): (P.DONE, P.CONFIRMED),
    (P.CONFIRMED, ev.Cancelled): (P.DONE, P.CONFIRMED),
    **{(phase, ev.Forgotten): (P.RESCANNING, phase) for phase in (P.CONFIRMED, *ORDERED)},
    (P.CONFIRMED, ev.Reported): (P.CONFIRMED, *ORDERED, P.DRAINING),
    **{(phase, ev.Reported): (*ORDERED, P.DRAINING) for phase in ORDERED},
    (P.DRAINING, ev.Sampled): (P.DRAINING, P.RESCANNING),
    (P.DRAINING, ev.Reported): (P.DRAINING,),
    (P.DRAINING, ev.Cancelled): (P.DONE,),
    (P.RESCANNING, ev.Planned): (P.HOLDING, P.DONE),
    (P.RESCANNING, ev.Cancelled): (P.DONE,),
    (P.HOLDING, ev.ProofEnded): (P.DONE, P.RESCANNING),
    (P.HOLDING, ev.Cancelled): (P.DONE,),
}
