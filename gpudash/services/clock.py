"""Time for everybody else: a clock that counts sleep, and its wall-clock names.

The core and the widgets never ask what time it is; they are given numbers from here.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol

LEAP_S = 5.0
"""So far the wall clock runs ahead between two looks before that is called sleep."""


class Clock(Protocol):
    """Seconds that only go forward, and their wall-clock text in the viewer's zone."""

    def now(self) -> float:
        """Return seconds, counting the time a machine slept where the system can."""
        ...

    def unix(self) -> float:
        """Return the wall clock in seconds since 1970 UTC."""
        ...

    def wall(self, at_s: float) -> str:
        """Return `12:03:10` of a time of this clock; of another day `28 Nov 18:40`."""
        ...


class AwakeClock:
    """A monotonic clock that stands still in sleep, set forward by what the wall clock leaps.

    A wall clock that somebody sets far forward counts as sleep too: all is read anew, which is
    harmless. One that is set back counts as nothing.
    """

    def __init__(self, monotonic: Callable[[], float], unix: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._unix = unix
        self._ahead_s = unix() - monotonic()
        self._slept_s = 0.0

    def now(self) -> float:
        """Return seconds that only go forward, sleep included."""
        at_s = self._monotonic()
        ahead_s = self._unix() - at_s
        leapt_s, self._ahead_s = ahead_s - self._ahead_s, ahead_s
        if leapt_s > LEAP_S:
            self._slept_s += leapt_s
        return at_s + self._slept_s


_awake = AwakeClock(time.monotonic, time.time)
"""One for the whole process: two that began at other times would disagree about sleep."""


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SystemClock:
    """The machine's clock: CLOCK_BOOTTIME on Linux, elsewhere an AwakeClock."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._now = _boot_time if platform == "linux" else _awake.now

    def now(self) -> float:
        """Return seconds since boot."""
        return self._now()

    def unix(self) -> float:
        """Return the wall clock in seconds since 1970 UTC."""
        return time.time()

    def wall(self, at_s: float) -> str:
        """Return the wall-clock text of a time of this clock."""
        now_wall = time.time()
        at = time.localtime(now_wall - (self.now() - at_s))
        today = time.localtime(now_wall)
        if at.tm_yday == today.tm_yday and at.tm_year == today.tm_year:
            return time.strftime("%H:%M:%S", at)
        return time.strftime("%d %b %H:%M", at).lstrip("0")
