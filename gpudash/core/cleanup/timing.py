"""When things happened in a cleanup, by the viewer's clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudash.core.cleanup.reports import Done, Exited, Report, Sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Viewer's clock, when it was learned; None for what has not happened."""

    confirmed_s: float | None = None
    confirmed_unix_s: float | None = None
    """The same, on the wall clock."""
    first_signal_s: float | None = None
    last_exit_s: float | None = None
    order_over_s: float | None = None
    first_zero_s: float | None = None
    """Every GPU in scope at 0 bytes for the first time since the order."""
    proven_s: float | None = None
    ended_s: float | None = None

    def since_confirmed(self) -> dict[str, float | None]:
        """Return seconds from the confirmation to each, None where either did not happen."""
        start = self.confirmed_s
        named = {
            "first_signal_s": self.first_signal_s,
            "last_exit_s": self.last_exit_s,
            "order_over_s": self.order_over_s,
            "first_zero_s": self.first_zero_s,
            "proven_s": self.proven_s,
            "ended_s": self.ended_s,
        }
        return {
            name: None if at is None or start is None else round(at - start, 3)
            for name, at in named.items()
        }


def after_report(times: Times, report: Report, at_s: float) -> Times:
    """Return the times after a report that came at `at_s`."""
    match report.told:
        case Sent() if times.first_signal_s is None:
            return replace(times, first_signal_s=at_s)
        case Exited():
            return replace(times, last_exit_s=at_s)
        case Done():
            return replace(times, order_over_s=at_s)
    return times


def after_sample(times: Times, used: tuple[tuple[str, int | None], ...], at_s: float) -> Times:
    """Return the times after a sample of the GPUs in scope."""
    is_zero = bool(used) and all(size == 0 for _, size in used)
    return replace(times, first_zero_s=at_s) if is_zero and times.first_zero_s is None else times
