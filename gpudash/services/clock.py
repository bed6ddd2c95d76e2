"""Time for everybody else: a clock that counts sleep, and its wall-clock names.

The core and the widgets never ask what time it is; they are given numbers from here.
"""

from __future__ import annotations

import sys
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that only go forward, and their wall-clock text in the viewer's zone."""

    def now(self) -> float:
        """Return seconds, counting the time a machine slept where the system can."""
        ...

    def wall(self, at_s: float) -> str:
        """Return `12:03:10` of a time of this clock; of another day `28 Nov 18:40`."""
        ...


class SystemClock:
    """The machine's clock: CLOCK_BOOTTIME on Linux, elsewhere the monotonic one."""

    def now(self) -> float:
        """Return seconds since boot."""
        if sys.platform == "linux":
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()

    def wall(self, at_s: float) -> str:
        """Return the wall-clock text of a time of this clock."""
        now_wall = time.time()
        at = time.localtime(now_wall - (self.now() - at_s))
        today = time.localtime(now_wall)
        if at.tm_yday == today.tm_yday and at.tm_year == today.tm_year:
            return time.strftime("%H:%M:%S", at)
        return time.strftime("%d %b %H:%M", at).lstrip("0")
