"""This process's stdin as a log that is followed: `python server.py 2>&1 | gpudash follow --log -`.

It stands where a host's hand would, and knows one command: `tail`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping

from gpudash.core.errors import UsageError
from gpudash.core.events import Ack, Event, LogTold
from gpudash.core.model import Problem
from gpudash.core.startup.loglines import LogPiece
from gpudash.sources.base import SourceError, Stream

_PIECE_BYTES = 1 << 16


class StdinStream:
    """Reads no faster than it is read."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor
        self._tail = 0
        self._offset = 0
        self._acks: list[Event] = []

    async def read(self) -> list[Event]:
        """Return answers, then what comes; for ever nothing after the end."""
        if self._acks:
            acks, self._acks = self._acks, []
            return acks
        if not self._tail:
            await asyncio.get_running_loop().create_future()
        await self._readable()
        data = os.read(self._fd, _PIECE_BYTES)
        at, self._offset = self._offset, self._offset + len(data)
        number = self._tail
        if not data:
            self._tail = 0
        note = "" if data else "ended"
        return [LogTold(id=number, told=LogPiece(data=data, offset=at, inode=None, note=note))]

    async def _readable(self) -> None:
        """Wait until a read does not wait: a thread that did would keep us from leaving."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._fd, ready.set)
        except (PermissionError, NotImplementedError):
            # A plain file is always readable, and no loop can watch one.
            await asyncio.sleep(0)
            return
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._fd)

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Take a command; what is none of stdin's is refused."""
        del arguments
        is_tail = do == "tail"
        if is_tail:
            self._tail = command_id
        error = "" if is_tail else "nobody is asked about stdin"
        self._acks.append(Ack(id=command_id, is_ok=is_tail, error=error))

    async def close(self) -> None:
        """Leave stdin as it is."""


class StdinSource:
    """The host that is stdin."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The name of this machine."""
        return self._name

    @property
    def is_simulated(self) -> bool:
        """It is what somebody writes."""
        return False

    async def open_sampler(self, interval_s: float) -> Stream:
        """There is none. Raises SourceError."""
        del interval_s
        raise SourceError(Problem(title="no sampler", sentence="stdin has no GPUs."))

    async def open_hand(self) -> Stream:
        """Read stdin from here on. Raises UsageError where it is closed."""
        if sys.stdin is None:
            raise UsageError("--log -: stdin is closed")
        return StdinStream(sys.stdin.fileno())
