"""The source for this machine, and how a host falls back to nvidia-smi where NVML can't be used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from gpudash.core.errors import ExitCode
from gpudash.core.events import Event, Fault, LinkUp
from gpudash.core.model import Problem
from gpudash.sources.base import HostSource, SourceError, Stream
from gpudash.sources.handover import EarlySampler
from gpudash.sources.local import LocalSource
from gpudash.sources.smi import SmiSource

NO_PYTHON = ("no python3", "python3 too old", "python3 can't run")
"""Titles of a first way that failed though a shell answers there."""
DRIVER_HANGS = "driver hangs"
FIRST_WORD_S = 40.0
"""A first answer may take 24 s where persistence mode is off and there are many GPUs."""


def local_source(
    name: str = "local",
    early: EarlySampler | None = None,
    *,
    has_sudo: bool = False,
    has_hand_sudo: bool = False,
) -> HostSource:
    """Return this machine as a host; `early` is its sampler where one runs already."""
    local = LocalSource(name, early, has_sudo=has_sudo, has_hand_sudo=has_hand_sudo)
    return FallbackSource(local, SmiSource(name, open_hand=local.open_hand))


class FallbackSource:
    """A host whose first way may fail before its first word; then the second one is taken.

    Each new stream tries the first way again. Where the link itself failed, or sudo refused,
    there is no second way.
    """

    def __init__(self, first: HostSource, second: HostSource | None) -> None:
        """`second` is None where nothing may stand in for the first."""
        self._first = first
        self._second = second
        self._has_hand = True

    @property
    def name(self) -> str:
        """The host's name."""
        return self._first.name

    @property
    def is_simulated(self) -> bool:
        """What is made up by either way."""
        ways = (self._first, self._second)
        return any(way is not None and way.is_simulated for way in ways)

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the first way's sampler, or the second's where that one can't begin.

        Where both fail, the first one's reason is told. Raises SourceError.
        """
        self._has_hand = True
        stream = await self._first.open_sampler(interval_s)
        other: Stream | None = None
        try:
            try:
                events = await _first_words(stream)
            except SourceError as error:
                problem = error.problem
                if problem.exit_code is ExitCode.UNREACHABLE or problem.needs_person:
                    raise
                other = await self._other(interval_s, must_tell=problem.title in NO_PYTHON)
                if other is None:
                    raise
                self._has_hand = False
                return other
            if any(isinstance(event, Fault) and event.is_fatal for event in events):
                other = await self._other(interval_s)
            return other or Begun(stream, events)
        except BaseException:
            await stream.close()
            raise
        finally:
            # Only now: the second way may go over what the first one opened.
            if other is not None:
                await stream.close()

    async def _other(self, interval_s: float, *, must_tell: bool = False) -> Stream | None:
        """Return the second way's stream, or None.

        Raises SourceError where it `must_tell` why: nvidia-smi is there, and the driver hangs.
        """
        if self._second is None:
            return None
        try:
            return await self._second.open_sampler(interval_s)
        except SourceError as error:
            if must_tell and error.problem.title == DRIVER_HANGS:
                raise
            return None

    async def open_hand(self) -> Stream:
        """Start the hand; it needs no NVML, but a python3 of the host. Raises SourceError."""
        if not self._has_hand and self._second is not None:
            return await self._second.open_hand()
        return await self._first.open_hand()


async def _first_words(stream: Stream) -> list[Event]:
    """Wait for what the probe itself says first. Raises SourceError."""
    events: list[Event] = []
    try:
        async with asyncio.timeout(FIRST_WORD_S):
            while all(isinstance(event, LinkUp) for event in events):
                events += await stream.read()
    except TimeoutError as error:
        raise SourceError(_SILENT) from error
    return events


_SILENT = Problem(
    title="no answer",
    sentence=f"The probe was started and said nothing for {FIRST_WORD_S:.0f} s.",
    advice="Does the driver hang there, or the home folder? Try: ssh HOST nvidia-smi",
)


class Begun:
    """A stream whose first events were read already, or are told before its own."""

    def __init__(
        self,
        stream: Stream,
        events: list[Event],
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._stream = stream
        self._events = events
        self._on_close = on_close

    async def read(self) -> list[Event]:
        """Return the first events, then the stream's own."""
        if self._events:
            events, self._events = self._events, []
            return events
        return await self._stream.read()

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Send one command."""
        self._stream.send(command_id, do, arguments)

    async def close(self) -> None:
        """End the program."""
        await self._stream.close()
        if self._on_close is not None:
            await self._on_close()
