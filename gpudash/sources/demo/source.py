"""Simulated hosts behind the interface of real ones: bytes, paced, through the same decoder.

The clock and the sleep are given from outside. Ticks stand on a grid of demo time, so what a
tick says does not depend on when exactly the clock let it happen; ticks that were slept through
are skipped, never queued.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from gpudash.core.errors import ExitCode
from gpudash.core.events import Event, Fault, ProbeEvent
from gpudash.core.model import Problem
from gpudash.core.problems import problem_of
from gpudash.core.wire import LineDecoder, encode_command, ending
from gpudash.sources.base import HostSource, SourceError, Stream
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler
from gpudash.sources.demo.scenario import Scenario
from gpudash.sources.demo.scenes import machines

_CLOSED = Problem(title="closed", sentence="The stream was closed.")
_NO_ANSWER = Problem(
    title="no answer",
    sentence="The host does not answer.",
    advice="It is simulated, and comes back by itself.",
    exit_code=ExitCode.UNREACHABLE,
)
GIVE_UP_S = 2.0
"""So long an attempt to reach a silent host takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The clock that a simulated fleet lives by."""

    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    origin_s: float
    """What the clock said at demo time 0."""

    def now_s(self) -> float:
        """Return demo time."""
        return self.clock() - self.origin_s


class DemoStream:
    """One simulated program; a sampler ticks, a hand answers and reports on its orders."""

    def __init__(self, program: Sampler | Hand, pace: Pace) -> None:
        self._program = program
        self._pace = pace
        self._decoder = LineDecoder(TOKEN)
        self._wake = asyncio.Event()
        self._end: Problem | None = None
        now_s = pace.now_s()
        self._next_s = now_s
        if isinstance(program, Sampler):
            self._next_s = _on_grid(now_s, program.interval_s)
        self._arrived = program.greeting(self._next_s)

    async def read(self) -> list[Event]:
        """Wait for the next lines and return their events. Raises SourceError at the end."""
        while True:
            if self._arrived:
                return self._take()
            if self._end is not None:
                raise SourceError(self._end)
            await self._go_on()

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Give a command to the program; its answer is read next."""
        if self._end is not None or self._program.has_ended:
            return
        command = encode_command(command_id, do, **arguments)
        now_s = self._pace.now_s()
        self._arrived += self._program.answer(command, now_s)
        if isinstance(self._program, Sampler):
            after_s = _on_grid(now_s, self._program.interval_s) + self._program.interval_s
            self._next_s = min(self._next_s, after_s)
        self._wake.set()

    async def close(self) -> None:
        """End at once; a `read` that waits ends too."""
        self._arrived = b""
        self._end = self._end or _CLOSED
        self._wake.set()

    def _take(self) -> list[Event]:
        events = self._decoder.feed(self._arrived)
        self._arrived = b""
        if self._program.has_ended:
            self._end = _ending_of(events)
        return [*events]

    async def _go_on(self) -> None:
        self._wake.clear()
        if isinstance(self._program, Hand):
            await self._report(self._program)
            return
        left_s = self._next_s - self._pace.now_s()
        if left_s > 0:
            await self._rest(left_s)
        if not self._wake.is_set():
            self._tick(self._program)

    async def _report(self, program: Hand) -> None:
        due_s = program.due_s(self._pace.now_s())
        if due_s is None:
            await self._wake.wait()
            return
        left_s = due_s - self._pace.now_s()
        if left_s > 0:
            await self._rest(left_s)
        self._arrived += program.pump(self._pace.now_s())

    def _tick(self, program: Sampler) -> None:
        late_s = self._pace.now_s() - self._next_s
        if late_s >= program.interval_s:
            self._next_s += late_s // program.interval_s * program.interval_s
        self._arrived += program.tick(self._next_s)
        self._next_s += program.interval_s

    async def _rest(self, left_s: float) -> None:
        """Sleep, or less when a command or the end comes."""
        sleeping = asyncio.ensure_future(self._pace.sleep(left_s))
        waking = asyncio.ensure_future(self._wake.wait())
        try:
            done, _ = await asyncio.wait((sleeping, waking), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            sleeping.cancel()
            waking.cancel()
            await asyncio.gather(sleeping, waking, return_exceptions=True)


def _on_grid(at_s: float, interval_s: float) -> float:
    return math.floor(at_s / interval_s + 1e-6) * interval_s


def _ending_of(events: list[ProbeEvent]) -> Problem:
    for event in events:
        if isinstance(event, Fault) and event.is_fatal:
            return problem_of(event)
    title, sentence, advice = ending(0)
    return Problem(title=title, sentence=sentence, advice=advice)


class DemoSource:
    """One simulated host."""

    def __init__(self, machine: Machine, pace: Pace) -> None:
        self._machine = machine
        self._pace = pace

    @property
    def name(self) -> str:
        """The host's name."""
        return self._machine.name

    @property
    def is_simulated(self) -> bool:
        """Nothing of it exists."""
        return True

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the simulated sampler. Raises SourceError while the host is silent."""
        await self._reach()
        return DemoStream(Sampler(self._machine, interval_s), self._pace)

    async def open_hand(self) -> Stream:
        """Start the simulated hand. Raises SourceError while the host is silent."""
        await self._reach()
        return DemoStream(Hand(self._machine), self._pace)

    async def _reach(self) -> None:
        silent_s = self._machine.silent_left_s(self._pace.now_s())
        if silent_s > 0:
            await self._pace.sleep(min(GIVE_UP_S, silent_s))
            raise SourceError(_NO_ANSWER)


def demo_sources(
    scenario: Scenario,
    seed: int = 0,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> tuple[HostSource, ...]:
    """Return the hosts of a scenario as sources; demo time begins now."""
    pace = Pace(clock=clock, sleep=sleep, origin_s=clock())
    return tuple(DemoSource(machine, pace) for machine in machines(scenario, seed))
