"""All that is known of one cleanup of one host, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.happened import Effect
from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.outcomes import Ending
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.plan import FamilyId, Plan
from gpudash.core.cleanup.progress import Stillness, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that is known of one cleanup."""

    run: str
    gpu_names: tuple[tuple[str, str], ...]
    """Key of each GPU and the name that the hand knows it by."""
    wished_hold_s: float | None = None
    """None for `auto`."""
    is_forced: bool = False
    phase: Phase = Phase.SCANNING
    plan: Plan | None = None
    """The one that is shown, and that an order is made of."""
    given: Given | None = None
    picked: frozenset[FamilyId] = frozenset()
    order: Order | None = None
    orders: int = 0
    """How many were made; each must be durable before it goes."""
    sent: int = 0
    """Number of the newest that was sent."""
    is_linked: bool = True
    is_aborted: bool = False
    targets: tuple[Target, ...] = ()
    stillness: tuple[Stillness, ...] = ()
    reports: int = 0
    """How many were taken, without a gap."""
    used: tuple[tuple[str, int | None], ...] = ()
    memory_moved_s: float = 0.0
    """By the host's clock."""
    ended_s: float | None = None
    """By the host's clock: when the order was over."""
    declined: str = ""
    """Why the hand did not take it."""
    is_broken: bool = False
    """A proof broke, by whoever claimed memory or by a lost link: the next scan tells."""
    newest: Plan | None = None
    """Of the scan afterwards."""
    endings: tuple[Ending, ...] = ()

    @property
    def is_sent(self) -> bool:
        """Tell whether an order left: from here on targets may have been signalled."""
        return self.sent > 0


Step = tuple[State, tuple[Effect, ...]]


def begin(
    run: str,
    gpu_names: dict[str, str],
    *,
    hold_s: float | None = None,
    is_forced: bool = False,
) -> Step:
    """Return the first state of a cleanup and what it wants done."""
    state = State(
        run=run,
        gpu_names=tuple(sorted(gpu_names.items())),
        wished_hold_s=hold_s,
        is_forced=is_forced,
    )
    return state, (ev.Scan(),)
