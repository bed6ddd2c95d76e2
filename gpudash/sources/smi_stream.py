"""One stream out of several commands of nvidia-smi.

One child loops over the memory query and makes the ticks; processes, health and slices come from
short calls beside it. A loop that degrades is ended and begun anew after a single query, and one
that degrades again and again gives way to single queries for good.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from gpudash.core.events import Ack, Bye, Event, Fault
from gpudash.core.model import Problem
from gpudash.core.smi import endings
from gpudash.core.smi.commands import (
    LEAST_INTERVAL_S,
    NAME_QUERY,
    PROGRAM,
    document_arguments,
    process_arguments,
    query_arguments,
)
from gpudash.core.smi.session import Session
from gpudash.sources.base import SourceError
from gpudash.sources.smi_child import GAVE_UP, NOT_FOUND, Runner
from gpudash.sources.smi_output import MAX_LINE_BYTES, LineBuffer

FIRST_ANSWER_S = 40.0
"""Without persistence mode a first answer took 8 s, in some containers 24 to 30 s."""
ANSWER_S = 15.0
SLOW_EVERY_S = 5.0
DOCUMENT_EVERY_S = 10.0
SINGLE_EVERY_S = 1.0
"""Single queries cost a process each (30 ms), so they are not asked faster than this."""
_MOST_RESTARTS = 3
_GOOD_TICKS = 10
_BOOT_ID = re.compile(r"[0-9a-f-]{36}")

_ENDED = Problem(title="released", sentence="The driver was released on this host.")


class SmiStream:
    """nvidia-smi's loop and the short calls beside it, as one stream of events."""

    def __init__(self, runner: Runner, interval_s: float, clock: Callable[[], float]) -> None:
        self._runner = runner
        self._clock = clock
        self._session = Session(max(interval_s, LEAST_INTERVAL_S))
        self._events: list[Event] = []
        self._has_news = asyncio.Event()
        self._wants_slow = asyncio.Event()
        self._end: Problem | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._document_due_s = 0.0
        self._is_planned = False

    async def begin(self) -> None:
        """Ask the first questions and start the loop. Raises SourceError."""
        beside = asyncio.create_task(self._ask_names())
        try:
            await self._shot(FIRST_ANSWER_S)
            boot_id, names = await beside
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)
        match = _BOOT_ID.fullmatch(boot_id.strip())
        self._session.boot_id = match[0] if match else None
        self._session.names(names)
        # Health and processes vote: a first tick without them would be half a reading.
        await self._slow_round()
        self._events = self._session.greet(self._clock())
        self._tasks = [
            asyncio.create_task(self._until_end(self._watch)),
            asyncio.create_task(self._until_end(self._ask_slowly)),
        ]

    async def _ask_names(self) -> tuple[str, str]:
        boot_id = await self._runner.read_file("/proc/sys/kernel/random/boot_id", ANSWER_S)
        names = await self._runner.ask(query_arguments(NAME_QUERY), FIRST_ANSWER_S)
        return boot_id, names.stdout

    # -- what a stream offers --------------------------------------------------------------

    async def read(self) -> list[Event]:
        """Wait for the next events, in order. Raises SourceError once the stream has ended."""
        while not self._events:
            if self._end is not None:
                raise SourceError(self._end)
            await self._has_news.wait()
            self._has_news.clear()
        events, self._events = self._events, []
        return events

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Send one command: `rate`, `once`, `release`, `bye`."""
        if self._end is not None:
            return
        error = ""
        match do:
            case "rate":
                error = self._change_rate(arguments.get("interval"))
            case "once":
                self._document_due_s = 0.0
                self._wants_slow.set()
            case "release" | "bye":
                pass
            case _:
                error = f"nvidia-smi knows no {do!r}"
        self._push([Ack(id=command_id, is_ok=not error, error=error)])
        if do in ("release", "bye"):
            self._push([Bye(reason=do)])
            self._finish(_ENDED)

    def _change_rate(self, interval: object) -> str:
        if not isinstance(interval, int | float) or not LEAST_INTERVAL_S <= interval <= 3600:
            return "the interval is no number of seconds that nvidia-smi can keep"
        self._session.pace(float(interval))
        self._restart()
        return ""

    def _restart(self) -> None:
        """End the loop and begin it anew, through no fault of its own."""
        self._session.wants_restart = True
        self._is_planned = True

    async def close(self) -> None:
        """End all children; returns within 2 s even when one hangs."""
        self._finish(_ENDED)
        pending = {task for task in self._tasks if not task.done()}
        while pending:
            # A wait that ends in the same turn may swallow the first cancellation (Python 3.11).
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=0.2)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.close()

    def _finish(self, problem: Problem) -> None:
        if self._end is None:
            self._end = problem
        for task in self._tasks:
            task.cancel()
        self._has_news.set()

    def _push(self, events: list[Event]) -> None:
        self._events += events
        if events:
            self._has_news.set()

    async def _until_end(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run one of the tasks; its failure is the stream's end."""
        try:
            await work()
        except SourceError as error:
            self._finish(error.problem)
        except OSError as error:
            self._finish(replace(endings.GARBLED, detail=str(error)))

    # -- the memory query ------------------------------------------------------------------

    async def _shot(self, limit_s: float) -> None:
        """Ask once; a field that the driver does not know is left out. Raises SourceError."""
        while True:
            fields = self._session.live_fields
            finished = await self._runner.ask(query_arguments(fields), limit_s)
            if not self._session.refuse(finished.stdout + finished.stderr):
                break
        answer = self._session.shot(
            finished.stdout, finished.stderr, finished.exit_code, self._clock()
        )
        if isinstance(answer, Problem):
            raise SourceError(_without_path(answer, finished.exit_code))
        self._push(answer)

    async def _watch(self) -> None:
        bad = 0
        while bad < _MOST_RESTARTS:
            bad = 0 if await self._loop() else bad + 1
            await self._shot(ANSWER_S)
        self._session.give_up_loop()
        while True:
            await asyncio.sleep(max(self._session.interval_s, SINGLE_EVERY_S))
            await self._shot(ANSWER_S)

    async def _loop(self) -> bool:
        """Run one loop until it ends or degrades; tell whether it was good for a while."""
        session = self._session
        arguments = query_arguments(session.live_fields, session.interval_s)
        try:
            child, stdout = await self._runner.start(arguments)
        except OSError:
            return False
        buffer, ticks = LineBuffer(), 0
        silent_s = max(ANSWER_S, 5 * session.interval_s)
        try:
            while not session.wants_restart:
                async with asyncio.timeout(silent_s):
                    data = await stdout.read(MAX_LINE_BYTES)
                if not data:
                    self._push(session.cut(self._clock(), is_torn=buffer.has_rest))
                    break
                events = [
                    event
                    for line in buffer.feed(data)
                    for event in session.line(line, self._clock())
                ]
                ticks += bool(events)
                self._push(events)
                if session.wants_slow:
                    self._wants_slow.set()
        except TimeoutError:
            self._runner.doubt()
            self._push([Fault(call=PROGRAM, code=None, hung_s=silent_s)])
        finally:
            await self._runner.end(child)
        is_planned, self._is_planned = self._is_planned, False
        return is_planned or ticks >= _GOOD_TICKS

    # -- the slower calls ------------------------------------------------------------------

    async def _ask_slowly(self) -> None:
        while True:
            self._session.wants_slow = False
            self._wants_slow.clear()
            await self._slow_round()
            await asyncio.sleep(SINGLE_EVERY_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SLOW_EVERY_S - SINGLE_EVERY_S):
                    await self._wants_slow.wait()

    async def _slow_round(self) -> None:
        """Ask for processes, health and slices; each may fail alone."""
        listed = await self._runner.ask(process_arguments(), ANSWER_S)
        self._session.processes(listed.stdout, listed.exit_code, self._clock())
        while True:
            fields = query_arguments(self._session.health_fields)
            health = await self._runner.ask(fields, ANSWER_S)
            if not self._session.refuse(health.stdout + health.stderr):
                break
        self._session.health(health.stdout, self._clock())
        if self._session.needs_document and self._clock() >= self._document_due_s:
            self._document_due_s = self._clock() + DOCUMENT_EVERY_S
            document = await self._runner.ask(document_arguments(), ANSWER_S)
            self._session.document(document.stdout, self._clock())
        if self._session.has_faults:
            self._restart()


def _without_path(problem: Problem, exit_code: int) -> Problem:
    """Keep the advice of a missing program; say of a call that hangs that the driver does."""
    if exit_code == NOT_FOUND:
        return endings.NO_PROGRAM
    if exit_code == GAVE_UP:
        return replace(problem, title="driver hangs")
    return problem
