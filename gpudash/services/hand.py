"""A host's hand: started at the first need, shared by all who ask, one answer for each command.

Some only tell it something and hear the answers as they come; others wait for theirs. When it
ends, those who wait are told why, and the next need starts another one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpudash.core.events import (
    Ack,
    Event,
    Exited,
    KindredTold,
    Launched,
    LeavingsTold,
    OrderTold,
    Preflighted,
    Scanned,
)
from gpudash.core.model import Problem
from gpudash.services.attempts import bug_problem
from gpudash.sources.base import HostSource, SourceError, Stream

log = logging.getLogger(__name__)

Command = tuple[int, str, Mapping[str, object]]
Heard = Ack | Scanned | OrderTold | Exited

_CLOSED = SourceError(
    Problem(title="link closed", sentence="The link to the host was closed before an answer came.")
)


@dataclass(slots=True)
class _Waiter:
    answer: asyncio.Future[tuple[Event, ...]]
    events: list[Event] = field(default_factory=list)


class Hand:
    """The hand of one host."""

    def __init__(
        self,
        source: HostSource,
        hear: Callable[[Heard], None],
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        """Start nothing yet; `hear` gets every answer, `ended` is told of each end."""
        self._ended = ended
        self._source = source
        self._hear = hear
        self._stream: Stream | None = None
        self._task: asyncio.Task[None] | None = None
        self._outbox: list[Command] = []
        self._waiters: dict[int, _Waiter] = {}
        self._last_id = 0

    @property
    def is_open(self) -> bool:
        """Tell whether a command would leave at once."""
        return self._stream is not None

    def tell(self, do: str, arguments: Mapping[str, object]) -> None:
        """Send a command whose answer is only heard; while it starts the newest of a kind waits."""
        self._outbox = [sent for sent in self._outbox if sent[1] != do or sent[0] in self._waiters]
        self._send(do, arguments)

    async def ask(
        self, do: str, arguments: Mapping[str, object], patience_s: float
    ) -> tuple[Event, ...]:
        """Send a command and return its answer, the ack as the last event.

        Raises SourceError when the hand can't be started or ends, TimeoutError.
        """
        waiter = _Waiter(asyncio.get_running_loop().create_future())
        command_id = self._last_id + 1
        self._waiters[command_id] = waiter
        try:
            self._send(do, arguments)
            async with asyncio.timeout(patience_s):
                return await waiter.answer
        finally:
            del self._waiters[command_id]

    def _send(self, do: str, arguments: Mapping[str, object]) -> None:
        self._last_id += 1
        if self._stream is not None:
            self._stream.send(self._last_id, do, arguments)
            return
        self._outbox.append((self._last_id, do, arguments))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._keep(), name=f"hand {self._source.name}")

    async def _keep(self) -> None:
        """Keep a hand until it ends; what was sent while it closed starts another one."""
        while True:
            await self._serve()
            if not self._outbox:
                return

    async def _serve(self) -> None:
        """Start a hand and pass on its answers until it ends."""
        stream: Stream | None = None
        why = _CLOSED
        try:
            stream = self._stream = await self._source.open_hand()
            for command in self._outbox:
                stream.send(*command)
            self._outbox = []
            while True:
                for event in await stream.read():
                    self._take(event)
        except SourceError as error:
            why = error
            detail = error.problem.detail
            log.warning("[%s] the hand ended: %s %s", self._source.name, error, detail)
        except Exception as error:
            why = SourceError(bug_problem(error))
            log.exception("[%s] the hand's answers could not be taken", self._source.name)
        finally:
            self._stream = None
            self._outbox = []
            self._fail(why)
            self._ended()
            if stream is not None:
                await stream.close()

    def _take(self, event: Event) -> None:
        if isinstance(event, LeavingsTold | Launched | Preflighted | KindredTold):
            match event:
                case LeavingsTold():
                    asked = event.leavings.id
                case KindredTold():
                    asked = event.kindred.id
                case _:
                    asked = event.id
            if asked in self._waiters:
                self._waiters[asked].events.append(event)
            return
        if not isinstance(event, Ack | Scanned | OrderTold | Exited):
            return
        self._hear(event)
        if isinstance(event, OrderTold | Exited):
            return
        waiter = self._waiters.get(event.id)
        if waiter is None or waiter.answer.done():
            return
        waiter.events.append(event)
        if isinstance(event, Ack) and event.is_last:
            waiter.answer.set_result(tuple(waiter.events))

    def _fail(self, why: SourceError) -> None:
        for waiter in self._waiters.values():
            if not waiter.answer.done():
                waiter.answer.set_exception(why)

    async def close(self) -> None:
        """End it; who waits gets a SourceError."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
