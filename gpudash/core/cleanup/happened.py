"""What can happen to a cleanup (events), and what it wants done (effects)."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.outcomes import Ending
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.reports import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A fresh scan came, and the plan of it."""

    plan: Plan
    at_s: float
    host_s: float
    """The host's clock at `at_s`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Somebody agreed to the plan that was shown."""

    given: Given
    at_s: float
    host_s: float
    digest: str
    """Of the plan that was on the screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Somebody closed the plan, or the time for all of it is over; not while an order runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The order is durable, or the user was told that it can't be."""

    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The hand has the lock and the order."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The hand did not take it: nothing was touched by this order."""

    run: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A report line of the order."""

    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A complete tick: what is used on each GPU in scope."""

    used: tuple[tuple[str, int | None], ...]
    """Key of the GPU and bytes; None where it can't be read."""
    at_s: float
    host_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced:
    """`!`: kill at once."""

    at_s: float
    host_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """`escape`: no further step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCut:
    """The link to the hand is gone; the order goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBack:
    """The host can be reached again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The host knows nothing of this order any more: rebooted, or it was dropped."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofEnded:
    """The proof held, or broke."""

    is_proven: bool


Event = (
    Planned
    | Confirmed
    | Cancelled
    | Recorded
    | Taken
    | Declined
    | Reported
    | Sampled
    | Forced
    | Aborted
    | LinkCut
    | LinkBack
    | Forgotten
    | ProofEnded
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Scan the host and plan again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPlan:
    """Show the plan; nothing was sent."""

    plan: Plan
    why: str
    """Why it is shown again; empty for the first time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Make an order durable, then answer with `Recorded`."""

    order: Order
    serial: int
    """Which one of this cleanup, from 1 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOrder:
    """Send an order to the hand: the only effect that can end in a signal."""

    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class SendAbort:
    """Let the hand begin no further step."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReports:
    """Ask for the reports from this number on."""

    run: str
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReports:
    """All reports are here and durable: the hand may forget them."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartProof:
    """Prove zero on the GPUs in scope."""

    hold_s: float
    why: str
    """Why so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """It is over."""

    endings: tuple[Ending, ...]


Effect = (
    Scan
    | ShowPlan
    | Record
    | SendOrder
    | SendAbort
    | FetchReports
    | DropReports
    | StartProof
    | Finish
)
