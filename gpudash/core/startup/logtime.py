"""Time as logs tell it: with or without a year, since the start of a process, or not at all.

Differences count, never the time of day: a container's zone is not the host's. A jump backwards or
into another year moves the origin instead of the time, so seconds never run backwards by much.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

_DAY_S = 86_400.0
_YEAR_S = 365 * _DAY_S
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_SAME_CLOCK_S = 900.0
"""Two formats with a date that differ by less than this are taken for one clock."""
_OUT_OF_ORDER_S = 5.0
"""Ranks write side by side: so much backwards is no jump."""


class Stamp(NamedTuple):
    """A time in seconds from an origin that only its format knows."""

    kind: str
    """`dated`, `yearless` or `since start`."""
    at_s: float


class LogClock(NamedTuple):
    """Seconds since the first time that a run told."""

    kind: str = ""
    origin_s: float = 0.0
    """What a stamp of this kind reads at zero."""
    last_at_s: float = 0.0
    now_s: float | None = None
    """None until a line told the time."""

    def told(self, stamp: Stamp) -> LogClock:
        """Return the clock after a line with this stamp."""
        if self.now_s is None:
            return LogClock(
                kind=stamp.kind,
                origin_s=_zero(stamp),
                last_at_s=stamp.at_s,
                now_s=stamp.at_s - _zero(stamp),
            )
        gap_s = stamp.at_s - self.last_at_s
        if gap_s == 0 and stamp.kind == self.kind:
            return self._caught_up()
        if stamp.kind != self.kind and abs(gap_s) > _SAME_CLOCK_S:
            return self._rebased(stamp)
        if gap_s < -_YEAR_S * 0.8:
            return self._replace(origin_s=self.origin_s - _YEAR_S, last_at_s=stamp.at_s).told(stamp)
        if gap_s < -_OUT_OF_ORDER_S:
            return self._rebased(stamp)
        now_s = max(stamp.at_s - self.origin_s, self.now_s - _OUT_OF_ORDER_S)
        if gap_s < 0:
            return LogClock(
                kind=self.kind, origin_s=self.origin_s, last_at_s=self.last_at_s, now_s=now_s
            )
        return LogClock(kind=stamp.kind, origin_s=self.origin_s, last_at_s=stamp.at_s, now_s=now_s)

    def _caught_up(self) -> LogClock:
        now_s = self.last_at_s - self.origin_s
        assert self.now_s is not None
        return (
            self
            if self.now_s - _OUT_OF_ORDER_S < now_s <= self.now_s
            else self._replace(now_s=now_s)
        )

    def reached(self, now_s: float) -> LogClock:
        """Return the clock after a bar that says how long it ran."""
        if self.now_s is None or now_s <= self.now_s:
            return self
        return self._replace(now_s=now_s)

    def _rebased(self, stamp: Stamp) -> LogClock:
        assert self.now_s is not None
        return LogClock(
            kind=stamp.kind,
            origin_s=stamp.at_s - self.now_s,
            last_at_s=stamp.at_s,
            now_s=self.now_s,
        )


def _zero(stamp: Stamp) -> float:
    return 0.0 if stamp.kind == "since start" else stamp.at_s


@lru_cache(maxsize=256)
def dated(month: str, day: str, clock: str) -> Stamp:
    """Read a full date; its year is left out, so that yearless stamps compare with it."""
    return Stamp("dated", _day(int(month), int(day)) * _DAY_S + _seconds(clock))


@lru_cache(maxsize=256)
def yearless(month: str, day: str, clock: str) -> Stamp:
    """Read `10-21 09:10:02` or `0601 10:00:00.603780`."""
    return Stamp("yearless", _day(int(month), int(day)) * _DAY_S + _seconds(clock))


def named_month(month: str, day: str, clock: str) -> Stamp:
    """Read `May 12 12:56:57`."""
    number = _MONTHS.index(month) + 1 if month in _MONTHS else 1
    return Stamp("yearless", _day(number, int(day)) * _DAY_S + _seconds(clock))


def since_start(minutes: str, seconds: str, millis: str, micros: str) -> Stamp:
    """Read llama.cpp's `0.06.903.542`."""
    whole_s = int(minutes) * 60 + int(seconds)
    return Stamp("since start", whole_s + int(millis) / 1e3 + int(micros) / 1e6)


def _day(month: int, day: int) -> int:
    return _BEFORE_MONTH[(month - 1) % 12] + day


def _seconds(clock: str) -> float:
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def bar_seconds(text: str) -> float | None:
    """Read a bar's `04:11` or `1:20:12`; None for `?`."""
    parts = text.split(":")
    if not all(part.isdigit() for part in parts) or not 2 <= len(parts) <= 3:
        return None
    seconds = 0.0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return seconds
