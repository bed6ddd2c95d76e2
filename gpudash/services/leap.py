"""Tells when the machine slept: the clock that counts sleep ran ahead of the loop's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gpudash.services.clock import Clock

SLEPT_S = 5.0
"""A shorter jump is no sleep that a link could notice."""
LOOK_S = 1.0


class Leap:
    """The difference between two clocks, watched."""

    def __init__(self, clock: Clock, loop_time: Callable[[], float]) -> None:
        self._clock = clock
        self._loop_time = loop_time
        self._ahead_s = clock.now() - loop_time()

    def has_happened(self) -> bool:
        """Tell whether the machine slept since this was asked before."""
        ahead_s = self._clock.now() - self._loop_time()
        slept_s, self._ahead_s = ahead_s - self._ahead_s, ahead_s
        return slept_s > SLEPT_S


async def keep_looking(look: Callable[[], None]) -> None:
    """Look again and again, until cancelled."""
    while True:
        await asyncio.sleep(LOOK_S)
        look()
