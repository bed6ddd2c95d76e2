"""What comes out of a running nvidia-smi, bounded: lines, and what stands behind a mark."""

from __future__ import annotations

from typing import Protocol

MAX_LINE_BYTES = 64 * 1024


class Reader(Protocol):
    """One pipe of a child."""

    async def read(self, n: int = -1) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        ...


class LineBuffer:
    """Whole lines out of bytes in any chunking; an endless line is dropped, as a foreign one."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_skipping = False

    @property
    def has_rest(self) -> bool:
        """Tell whether a line is under way."""
        return bool(self._rest.strip()) or self._is_skipping

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that ended, without their newline."""
        *lines, rest = (self._rest + data).split(b"\n")
        if lines and self._is_skipping:
            lines[0], self._is_skipping = b"?", False
        if len(rest) > MAX_LINE_BYTES:
            rest, self._is_skipping = b"", True
        self._rest = rest
        return [line.decode("utf-8", "replace") for line in lines]


class AfterMark:
    """What comes after a mark; what a login shell says before it is dropped."""

    def __init__(self, stream: Reader, mark: bytes) -> None:
        self._stream = stream
        self._mark: bytes | None = mark
        self._head = b"\n"

    async def read(self, n: int = -1) -> bytes:
        while self._mark is not None:
            data = await self._stream.read(n)
            if not data:
                return b""
            head = self._head + data
            _, is_found, rest = head.partition(self._mark)
            self._head = head[-len(self._mark) :]
            if is_found:
                self._mark = None
                if rest:
                    return rest
        return await self._stream.read(n)
