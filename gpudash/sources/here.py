"""The source for this machine: NVML, and nvidia-smi where NVML can't be used."""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.core.events import Event, Fault
from gpudash.sources.base import HostSource, SourceError, Stream
from gpudash.sources.handover import EarlySampler
from gpudash.sources.local import LocalSource
from gpudash.sources.smi import SmiSource


def local_source(name: str = "local", early: EarlySampler | None = None) -> HostSource:
    """Return this machine as a host; `early` is its sampler where one runs already."""
    local = LocalSource(name, early)
    return FallbackSource(local, SmiSource(name, open_hand=local.open_hand))


class FallbackSource:
    """A host whose first way may fail before its first word; then the second one is taken.

    Each new stream tries the first way again.
    """

    def __init__(self, first: HostSource, second: HostSource) -> None:
        self._first = first
        self._second = second

    @property
    def name(self) -> str:
        """The host's name."""
        return self._first.name

    @property
    def is_simulated(self) -> bool:
        """What is made up by either way."""
        return self._first.is_simulated or self._second.is_simulated

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the first way's sampler, or the second's where that one can't begin.

        Where both fail, the first one's reason is told. Raises SourceError.
        """
        stream = await self._first.open_sampler(interval_s)
        try:
            events = await stream.read()
        except SourceError:
            await stream.close()
            other = await self._other(interval_s)
            if other is None:
                raise
            return other
        except BaseException:
            await stream.close()
            raise
        if any(isinstance(event, Fault) and event.is_fatal for event in events):
            other = await self._other(interval_s)
            if other is not None:
                await stream.close()
                return other
        return _Begun(stream, events)

    async def _other(self, interval_s: float) -> Stream | None:
        try:
            return await self._second.open_sampler(interval_s)
        except SourceError:
            return None

    async def open_hand(self) -> Stream:
        """Start the hand; it needs no NVML. Raises SourceError."""
        return await self._first.open_hand()


class _Begun:
    """A stream whose first events were read already."""

    def __init__(self, stream: Stream, events: list[Event]) -> None:
        self._stream = stream
        self._events = events

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
