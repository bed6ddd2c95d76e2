"""How far away a host is, in words: the round trip to it, and how its clock stands beside ours."""

from __future__ import annotations

from gpudash.core.model import Host, Link
from gpudash.core.units import format_duration

MAX_OFFSET_S = 1.0
"""Clocks within a second of each other are told as one."""


def round_trip_words(host: Host) -> str:
    """Return `12 ms` while the link is live and something answered; else nothing."""
    if host.link is not Link.LIVE or host.round_trip_s is None:
        return ""
    milliseconds = host.round_trip_s * 1000
    return f"{milliseconds:.0f} ms" if milliseconds >= 1 else "<1 ms"


def clock_words(host: Host) -> str:
    """Return `clock 3.2 s ahead` of a host's clock that is off by more than a second.

    What half a round trip could explain is not told.
    """
    offset_s = host.clock_offset_s
    if offset_s is None:
        return ""
    if abs(offset_s) <= MAX_OFFSET_S + (host.round_trip_s or 0.0) / 2:
        return ""
    amount = format_duration(abs(offset_s), tenths=True)
    return f"clock {amount} {'ahead' if offset_s > 0 else 'behind'}"
