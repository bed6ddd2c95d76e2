"""The log of a start-up as lines to read: bounded, masked, without anything that moves a cursor.

A bar that repaints itself is one line, its newest state. The oldest lines go first; their numbers
stay, so that a line is found by the number that its file gives it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import NamedTuple

from gpudash.core.names import printable
from gpudash.core.startup import segments
from gpudash.core.startup.prefixes import peel
from gpudash.core.startup.secrets import masked

MOST_LINES = 20_000
MOST_CHARS = 4 << 20
LONGEST = 2_000
"""Characters of one line that are kept."""
_BAR_SIGNS = ("it/s", "s/it", "%|", "% Completed", "?it")


class LogLine(NamedTuple):
    """One line as it is shown."""

    number: int
    """1-based, as in the file."""
    at_s: float
    """When it arrived, viewer's clock."""
    rank: str
    text: str
    """Without its rank and time where an engine's prefix told them."""


class Logbook:
    """Takes bytes, keeps lines. `version` grows with every change."""

    def __init__(self, most_lines: int = MOST_LINES, most_chars: int = MOST_CHARS) -> None:
        """Keep nothing yet."""
        self._most_lines = most_lines
        self._most_chars = most_chars
        self._lines: deque[LogLine] = deque()
        self._tail = segments.Tail()
        self._chars = 0
        self._rank = ""
        self.version = 0
        self.dropped = 0
        """Lines that had to go."""
        self._shown: tuple[int, tuple[LogLine, ...]] = (-1, ())

    def begin_at(self, line: int) -> None:
        """Number the first line so: what stands before it is not read."""
        self._tail = segments.Tail(line=line)

    def feed(self, data: bytes, at_s: float) -> None:
        """Take bytes as they arrived."""
        found, self._tail = segments.feed(self._tail, data)
        for segment in found:
            self._take(segment, at_s)
        self.version += 1

    def finish(self, at_s: float) -> None:
        """Take what was never ended: nothing more will come."""
        found, self._tail = segments.finish(self._tail)
        for segment in found:
            self._take(segment, at_s)
        self.version += 1

    def lines(self) -> tuple[LogLine, ...]:
        """Return all that is kept, oldest first; the same object until something changes."""
        if self._shown[0] != self.version:
            self._shown = (self.version, tuple(self._lines))
        return self._shown[1]

    def newest(self, count: int) -> tuple[LogLine, ...]:
        """Return the last lines, oldest first."""
        start = max(0, len(self._lines) - count)
        return tuple(self._lines[place] for place in range(start, len(self._lines)))

    def around(self, number: int, count: int) -> tuple[LogLine, ...]:
        """Return so many lines about one line of the file; the newest where it is not kept."""
        lines = self.lines()
        at = place_of(lines, number)
        if at is None:
            return lines[-count:]
        start = max(0, min(at - count // 2, len(lines) - count))
        return lines[start : start + count]

    def _take(self, segment: segments.Segment, at_s: float) -> None:
        text = segment.text[:LONGEST]
        if not text.strip():
            return
        prefix, rest = peel(text)
        if segment.is_first or prefix.rank is not None:
            self._rank = prefix.rank or ""
        shown = masked(printable(rest.rstrip() if rest.strip() else text.rstrip()))
        line = LogLine(segment.line, at_s, self._rank, shown)
        if self._lines and _repaints(self._lines[-1], line):
            self._chars -= len(self._lines.pop().text)
        self._lines.append(line)
        self._chars += len(shown)
        while len(self._lines) > self._most_lines or self._chars > self._most_chars:
            self._chars -= len(self._lines.popleft().text)
            self.dropped += 1


def _repaints(before: LogLine, line: LogLine) -> bool:
    """Tell whether a line is the next state of the bar before it."""
    if before.number != line.number or before.rank != line.rank:
        return False
    return any(sign in before.text for sign in _BAR_SIGNS)


def place_of(lines: tuple[LogLine, ...], number: int) -> int | None:
    """Return where a line of the file is among these; None where it is not kept."""
    at = bisect_left(lines, number, key=lambda line: line.number)
    return at if at < len(lines) and lines[at].number == number else None


def ranks_in(lines: tuple[LogLine, ...]) -> tuple[str, ...]:
    """Return the ranks that speak, in the order of their numbers."""
    return tuple(sorted({line.rank for line in lines if line.rank}, key=rank_order))


def rank_order(rank: str) -> tuple[str, int, str]:
    """Return what ranks are sorted by: TP2 before TP10."""
    digits = "".join(char for char in rank if char.isdigit())
    letters = "".join(char for char in rank if not char.isdigit())
    return letters, int(digits[:9]) if digits else -1, rank


def found_in(lines: tuple[LogLine, ...], words: str) -> tuple[int, ...]:
    """Return where these words stand; capitals count only where the words have some."""
    if not words:
        return ()
    if words == words.lower():
        return tuple(at for at, line in enumerate(lines) if words in line.text.lower())
    return tuple(at for at, line in enumerate(lines) if words in line.text)
