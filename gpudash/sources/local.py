"""This machine as a host: probe programs are child processes, read on the event loop."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping, Sequence

from gpudash.core.events import Event
from gpudash.core.model import Problem
from gpudash.core.wire import GARBAGE, LineDecoder, encode_command
from gpudash.sources import shipping
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.handover import EarlySampler
from gpudash.sources.oneshot import ended_problem, new_token, python_argv
from gpudash.sources.process import Child, abandoned
from gpudash.sources.sudo import NO_HAND, NOT_THERE, WORDS

_REAP_STEP_S = 0.02
_REAP_STEPS = 25
_END_PATIENCE_S = 0.6


Explain = Callable[[int | None, str], Problem | None]
"""Exit status and last words: what they mean, or None where they are the probe's own."""


def garbage_problem(words: str) -> Problem:
    """Say that a host sends what is no wire and does not stop."""
    title, sentence, advice = GARBAGE
    return Problem(title=title, sentence=sentence, advice=advice, detail=words[-2000:])


class ChildStream:
    """One probe program as a stream of events."""

    def __init__(
        self,
        child: Child,
        decoder: LineDecoder,
        events: Sequence[Event] = (),
        explain: Explain | None = None,
    ) -> None:
        """Go on with a running program; `events` were read before.

        `explain` says what an end means where the child is not the probe itself.
        """
        self._explain = explain
        self._child = child
        self._decoder = decoder
        self._events: list[Event] = list(events)
        self._failure: SourceError | None = None
        self._has_ended = False
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(child.stdout, self._on_readable)
        self._loop.add_reader(child.stderr, self._on_words)

    def _on_readable(self) -> None:
        data = self._child.read()
        if data is None:
            return
        if data:
            self._events += self._decoder.feed(data)
        if not data or self._decoder.is_hopeless:
            self._has_ended = True
            self._stop_reading()
        self._wake.set()

    def _on_words(self) -> None:
        """Drain stderr, so that a talkative child does not block on it."""
        if self._child.drain_errors():
            self._loop.remove_reader(self._child.stderr)

    def _stop_reading(self) -> None:
        self._loop.remove_reader(self._child.stdout)
        self._loop.remove_reader(self._child.stderr)

    async def read(self) -> list[Event]:
        """Wait for the next events. Raises SourceError once the program has ended."""
        while not self._events:
            if self._failure is not None:
                raise self._failure
            if self._has_ended:
                self._failure = SourceError(await self._ending())
                continue
            await self._wake.wait()
            self._wake.clear()
        events, self._events = self._events, []
        return events

    async def _ending(self) -> Problem:
        for _ in range(_REAP_STEPS):
            if self._decoder.is_hopeless or self._child.reap() is not None:
                break
            await asyncio.sleep(_REAP_STEP_S)
        status, words = self._child.reap(), self._child.errors()
        if self._decoder.is_hopeless:
            return garbage_problem(words)
        if self._explain is not None and (problem := self._explain(status, words)) is not None:
            return problem
        return ended_problem(status, words, has_begun=self._decoder.is_open)

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Send one command."""
        self._child.offer(encode_command(command_id, do, **arguments))

    async def close(self) -> None:
        """End the program: its stdin, then SIGKILL; what hangs in the driver is left behind."""
        self._has_ended = True
        self._stop_reading()
        self._child.close_stdin()
        steps = int(_END_PATIENCE_S / _REAP_STEP_S)
        for step in range(3 * steps):
            if self._child.reap() is not None:
                break
            if step == steps:
                self._child.kill()
            await asyncio.sleep(_REAP_STEP_S)
        self._child.close_pipes()
        self._wake.set()


_HANGS = Problem(
    title="driver hangs",
    sentence="An earlier probe hangs in the driver and can't be ended; no other is started.",
    advice="Look for Xid lines in the kernel log (dmesg). gpudash goes on when that one ends.",
)


class LocalSource:
    """This machine."""

    def __init__(
        self,
        name: str = "local",
        early: EarlySampler | None = None,
        *,
        has_sudo: bool = False,
        has_hand_sudo: bool = False,
    ) -> None:
        """`early` is a sampler that runs already; the first stream goes on with it.

        With `has_sudo` the sampler starts by `sudo -n`, and there is no hand but one that does so
        too, by `has_hand_sudo`.
        """
        self._has_hand_sudo = has_hand_sudo
        self._has_sudo = has_sudo
        self._name = name
        self._early = early

    @property
    def name(self) -> str:
        """The host's name as shown."""
        return self._name

    @property
    def is_simulated(self) -> bool:
        """A real machine."""
        return False

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the sampler. Raises SourceError."""
        early, self._early = self._early, None
        if early is not None:
            return ChildStream(early.child, early.decoder, early.events)
        if abandoned():
            raise SourceError(_HANGS)
        options: dict[str, object] = {"interval": interval_s}
        return self._open(shipping.sampler_payload, options, by_sudo=self._has_sudo)

    async def open_hand(self) -> Stream:
        """Start the hand. Raises SourceError."""
        if self._has_sudo and not self._has_hand_sudo:
            raise SourceError(NO_HAND)
        return self._open(shipping.hand_payload, {}, by_sudo=self._has_hand_sudo)

    def _open(
        self, payload: Callable[[], bytes], options: dict[str, object], *, by_sudo: bool
    ) -> Stream:
        token = new_token()
        argv = [*(WORDS if by_sudo else ()), *python_argv()]
        try:
            document = payload()
            child = Child(argv)
        except OSError as error:
            if by_sudo and shutil.which(WORDS[0]) is None:
                raise SourceError(NOT_THERE) from error
            raise SourceError(
                Problem(
                    title="probe not started",
                    sentence=f"The probe could not be started here: {error}.",
                    advice="Is the Python that runs gpudash still in place?",
                )
            ) from error
        line = json.dumps({"token": token, **options}).encode()
        child.write(shipping.with_options(document, line))
        return ChildStream(child, LineDecoder(token))
