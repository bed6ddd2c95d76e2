"""A host read through nvidia-smi, where the probe can't run: no python3, or no NVML in reach.

The commands and what they print are core's (`gpudash.core.smi`); here is how they are run, on
this machine or behind the words that reach another one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from gpudash.core.model import Problem
from gpudash.core.smi import endings
from gpudash.core.smi.commands import ELSEWHERE, PROGRAM
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.smi_child import Runner, find_program
from gpudash.sources.smi_stream import SmiStream

CLOGGED_LIMIT_S = 10.0

OpenHand = Callable[[], Awaitable[Stream]]


class SmiSource:
    """One host read through nvidia-smi."""

    def __init__(
        self,
        name: str,
        *,
        make_runner: Callable[[str], Runner] | None = None,
        open_hand: OpenHand | None = None,
        path: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what makes the runner of a program on that host; none means this machine.

        `open_hand` starts the hand where something else can; `path` replaces PATH in the search
        for nvidia-smi here. The clock gives ticks their time, in seconds.
        """
        self._name = name
        self._make_runner = make_runner
        self._open_hand = open_hand
        self._path = path
        self._clock = clock
        self._runners: dict[str, Runner] = {}
        """By program; kept from stream to stream, for they know which call still hangs."""

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        return self._name

    @property
    def is_simulated(self) -> bool:
        """A real machine."""
        return False

    async def open_sampler(self, interval_s: float) -> Stream:
        """Ask once for everything, then start the loop. Raises SourceError."""
        problem = endings.NO_PROGRAM
        for program in self._programs():
            runner = self._runners.get(program)
            if runner is None:
                runner = self._runners[program] = (self._make_runner or Runner)(program)
            if await runner.is_clogged(CLOGGED_LIMIT_S):
                raise SourceError(_HANGS)
            stream = SmiStream(runner, interval_s, self._clock)
            try:
                await stream.begin()
            except SourceError as error:
                problem = error.problem
                await stream.close()
                if problem.title != endings.NO_PROGRAM.title:
                    raise
            except asyncio.CancelledError:
                await stream.close()
                raise
            else:
                return stream
        raise SourceError(problem)

    def _programs(self) -> tuple[str, ...]:
        if self._make_runner is not None:
            return (PROGRAM, *(f"{folder}/{PROGRAM}" for folder in ELSEWHERE))
        found = find_program(self._path)
        return (found,) if found else ()

    async def open_hand(self) -> Stream:
        """Start the hand by the way that was given, if any. Raises SourceError."""
        if self._open_hand is None:
            raise SourceError(_NO_HAND)
        return await self._open_hand()


_HANGS = Problem(
    title="driver hangs",
    sentence="An nvidia-smi that was started before hangs in the driver; no other is started.",
    advice="Look for Xid lines in the kernel log there (dmesg); gpudash goes on when it ends.",
)
_NO_HAND = Problem(
    title="no process details",
    sentence="This host is read through nvidia-smi, which tells nothing more of a process.",
    advice="Install python3 (3.6 or newer) on it.",
)
