"""Follows one start-up: its log, its health URL, its GPUs' memory and its processes.

One task. It opens a hand of its own, so that a long log never delays a scan or an order. A link
that is cut is opened again and the log goes on with the very next byte. What is decided is decided
by the pure parts: the tracker, `place`, `health`, `life` and `ending`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gpudash.core.errors import ExitCode
from gpudash.core.events import Ack, Event, LogTold, UrlTold
from gpudash.core.model import Host, Problem
from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.following import Followed, FollowSpec
from gpudash.core.startup.logbook import Logbook
from gpudash.core.startup.loglines import LogPiece
from gpudash.core.startup.managed import Managed, is_pending, managed_of, question_of
from gpudash.core.startup.place import tail_arguments, taken
from gpudash.services.attempts import RETRY_S, bug_problem
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.startup.case import Case
from gpudash.services.startup.past import Past
from gpudash.sources.base import HostSource, SourceError, Stream

log = logging.getLogger(__name__)

TICK_S = 0.5
MANAGERS_S = 5.0
"""Between two questions to the manager of a container or unit."""
_TAIL, _URL, _MANAGERS = "tail", "url", "managers"


class Following:
    """One start-up that is being followed."""

    def __init__(
        self,
        source: HostSource,
        spec: FollowSpec,
        *,
        clock: Clock,
        catalog: Catalog,
        changed: Callable[[], None] = lambda: None,
        history: Past | None = None,
        record: Run | None = None,
        monitor: FleetMonitor | None = None,
        echo: Callable[[bytes], None] | None = None,
    ) -> None:
        """Follow nothing yet; `changed` is called whenever `followed` is another value.

        `monitor` tells of GPU memory, where the host is watched. `record` is written and not ended.
        """
        self._source = source
        self._spec = spec
        self._clock = clock
        self._catalog = catalog
        self._changed = changed
        self._monitor = monitor
        self._echo = echo
        """Gets the log as it is."""
        self._case = Case(
            spec,
            catalog,
            clock.now(),
            past=history,
            record=record,
            is_simulated=source.is_simulated,
        )
        self._stream: Stream | None = None
        self._asked: dict[int, tuple[str, str]] = {}
        self._last_id = 0
        self._managers_s: float | None = None
        self._was_heard = False
        self._managed: Managed | None = None
        self._has_log_ended = False
        self._wake = asyncio.Event()
        self._is_closed = False

    @property
    def followed(self) -> Followed:
        """Return what is known now."""
        return self._case.followed(self._clock.now())

    @property
    def book(self) -> Logbook:
        """Return its log, bounded, as lines to read."""
        return self._case.book

    async def run(self) -> Followed:
        """Follow until it is over: READY (unless it stays), failed, or the log has ended.

        Raises SourceError where the host can't be reached at all, or has no such log.
        """
        if self._monitor is not None:
            self._monitor.listeners.append(self._hear_monitor)
        try:
            await self._keep_on()
        finally:
            if self._monitor is not None:
                self._monitor.listeners.remove(self._hear_monitor)
            await self._close_stream()
            self._case.store()
        return self.followed

    def exited(self, code: int | None) -> None:
        """Take the end of the process from whoever launched it; None: nobody knows the code."""
        self._case.take_exit(code, self._clock.now())
        self._wake.set()

    async def close(self) -> None:
        """Follow no longer; what runs on the host goes on."""
        self._is_closed = True
        self._wake.set()
        await self._close_stream()

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    # -- the link --------------------------------------------------------------------------------

    async def _keep_on(self) -> None:
        failures = 0
        while not self._is_over():
            began_s = self._clock.now()
            try:
                await self._attempt()
            except SourceError as error:
                if not self._was_heard or error.problem.exit_code is ExitCode.USAGE:
                    raise
                self._cut(error.problem)
            except Exception as error:
                # A task that dies in silence would look like a start-up that is silent.
                log.exception("[%s] a start-up could not be followed", self._source.name)
                self._cut(bug_problem(error))
            finally:
                await self._close_stream()
            if self._is_over():
                return
            failures = 0 if self._clock.now() - began_s > RETRY_S[-1] else failures + 1
            await self._rest(RETRY_S[min(failures, len(RETRY_S)) - 1] if failures else RETRY_S[0])

    def _cut(self, problem: Problem) -> None:
        if not self._is_closed:
            self._case.learn(link=problem.sentence)
            self._case.note("link", problem.sentence)
            self._changed()

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    def _is_over(self) -> bool:
        return self._is_closed or bool(self._case.known.ending)

    async def _attempt(self) -> None:
        """Open a hand and listen to it until it is over. Raises SourceError when the link ends."""
        self._stream = stream = await self._source.open_hand()
        self._asked = {}
        self._managers_s = None
        self._has_log_ended = False
        if question_of(self._spec.source) is None:
            self._tail()
        else:
            self._ask_managers()
        reader: asyncio.Future[list[Event]] | None = None
        try:
            ticked_s = self._clock.now()
            while not self._is_over():
                reader = reader or asyncio.ensure_future(stream.read())
                await asyncio.wait((reader,), timeout=TICK_S)
                if reader.done():
                    events, reader = reader.result(), None
                    for event in events:
                        self._take(event)
                        await asyncio.sleep(0)
                if self._clock.now() - ticked_s >= TICK_S:
                    ticked_s = self._clock.now()
                    self._tick(ticked_s)
        finally:
            if reader is not None:
                reader.cancel()
                await asyncio.gather(reader, return_exceptions=True)

    # -- commands --------------------------------------------------------------------------------

    def _send(self, do: str, arguments: dict[str, object], about: str = "") -> None:
        if self._stream is not None:
            self._last_id += 1
            self._asked[self._last_id] = (do, about)
            self._stream.send(self._last_id, do, arguments)

    def _tail(self, *, is_previous: bool = False) -> None:
        pid, where = self._case.known.pid, self._case.place
        told = tail_arguments(self._spec, where, self._catalog, pid)
        self._send(_TAIL, told | ({"previous": True} if is_previous else {}))

    def _ask_managers(self) -> None:
        self._managers_s = self._clock.now()
        question = question_of(self._spec.source)
        if question is not None:
            self._send(_MANAGERS, {"ask": [question]})

    # -- what comes ------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        now_s = self._clock.now()
        match event:
            case LogTold(id=number, told=piece) if number in self._asked:
                self._was_heard = True
                self._case.learn(link="")
                if self._echo is not None:
                    self._echo(taken(self._case.place, piece)[1])
                self._case.take_piece(piece, now_s)
                self._heed_end(piece, now_s)
            case UrlTold(id=number, answer=answer) if number in self._asked:
                self._case.take_answer(self._asked[number][1], answer, now_s)
            case Ack() if event.id in self._asked:
                self._take_ack(event, now_s)
            case _:
                return
        self._changed()

    def _heed_end(self, piece: LogPiece, now_s: float) -> None:
        """A command that printed the log has ended: wrong from the beginning, or with its run."""
        if piece.note == "ended" and piece.code and piece.words and self._managed is None:
            raise SourceError(_no_log(piece.words))
        if is_pending(self._spec, piece):
            self._has_log_ended = True
            self._managers_s = now_s - MANAGERS_S + 1.0

    def _take_ack(self, ack: Ack, now_s: float) -> None:
        do, _ = self._asked[ack.id]
        if not ack.is_ok and do == _TAIL:
            raise SourceError(Problem(title="no log", sentence=ack.error, exit_code=ExitCode.USAGE))
        if do != _MANAGERS:
            return
        row = ack.answers[0] if ack.answers else (0, None, "")
        self._take_managed(managed_of(self._spec.source, row[1], row[2]), now_s)

    def _take_managed(self, managed: Managed | None, now_s: float) -> None:
        """Follow the log of what runs; where nothing runs any more its log has ended too."""
        before, self._managed = self._managed, managed
        tails = [number for number, (what, _) in self._asked.items() if what == _TAIL]
        if managed is not None:
            self._case.take_managed(managed, now_s)
        if managed is not None and managed.last_code and _has_restarted(before, managed):
            self._case.take_exit(managed.last_code, now_s)
        if self._has_log_ended:
            if managed is None or not managed.is_running:
                self._case.end_log(now_s)
                return
            self._retail(tails, is_previous=_has_restarted(before, managed))
        elif not tails:
            self._tail()
        elif managed is not None and before is not None and managed.pid != before.pid:
            # Another run of it: the log goes on where it was, the signs are another tree's.
            self._retail(tails)

    def _retail(self, tails: list[int], *, is_previous: bool = False) -> None:
        """Take the log up again where it was left."""
        self._has_log_ended = False
        for number in tails:
            self._send("untail", {"tail": number})
            del self._asked[number]
        self._tail(is_previous=is_previous)

    def _tick(self, now_s: float) -> None:
        question = self._case.tick(now_s)
        if question is not None:
            self._send(_URL, {"url": question.url, "timeout_s": question.timeout_s}, question.url)
        if self._managers_s is not None and now_s - self._managers_s >= MANAGERS_S:
            self._ask_managers()
        self._changed()

    def _hear_monitor(self, _event: Event, _before: Host, after: Host) -> None:
        if after.name == self._spec.host and after.samples:
            self._case.take_host(after, self._clock.now())


def _no_log(words: str) -> Problem:
    return Problem(title="no log", sentence=words, exit_code=ExitCode.USAGE)


def _has_restarted(before: Managed | None, after: Managed) -> bool:
    return before is not None and after.restarts > before.restarts
