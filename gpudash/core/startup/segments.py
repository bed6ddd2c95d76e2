"""Cut the bytes of a log into segments: what a terminal would have shown, part by part.

CR and LF both end a segment; only LF ends a line, so line numbers are those of the file. What was
cut inside a character is decoded once all of it is there. An unterminated part keeps its head and
its tail and no more, however long it grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

KEPT_BYTES = 4096
"""At each end of a part that is too long."""
LONGEST_BYTES = 16_384
"""A part up to here is kept whole: `server_args=` takes 3 to 8 KB."""
_GAP = b" ... "

_BREAK = re.compile(rb"[\r\n]")
_ANSI = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
    r"|#033\[[0-9;]*[A-Za-z]"
    r"|\^\[\[[0-9;?]*[A-Za-z]"
)
_LOST = re.compile(r"\[(?:[0-9]|[349][0-9])(?:;[0-9]{1,3})*m")
_AFTER_BAR = re.compile(r"\[\d+:\d\d(?::\d\d)?<[\d:?]+, *[^\]]*\](?=\S)")
_STAMPED = re.compile(r"\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?(?: [A-Z_]+\d+)*\] ")
_PROCESS = re.compile(
    r"\((?:Worker|VllmWorker|EngineCore|APIServer|ApiServer|MainProcess|Ray)\w*"
    r"(?: rank=\d+)? pid=\d+\) "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of a line."""

    text: str
    """Without escape sequences; may still carry other control characters."""
    line: int
    """1-based number of the physical line, counted by LF alone."""
    is_first: bool
    """The first part of its line: what stands before a message holds for the parts behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What has no end yet."""

    held: bytes = b""
    is_cut: bool = False
    """The middle of the part was dropped."""
    line: int = 1
    """The line that is being read."""
    is_first: bool = True


def feed(tail: Tail, data: bytes) -> tuple[list[Segment], Tail]:
    """Return the segments that these bytes complete, blank lines among them, and what is left."""
    segments: list[Segment] = []
    at = 0
    for match in _BREAK.finditer(data):
        part = data[at : match.start()]
        at = match.end()
        segments += _ended(tail, part, is_line=match[0] == b"\n")
        tail = _after(tail, part, is_line=match[0] == b"\n")
    return segments, _holding(tail, data[at:]) if at < len(data) else tail


def finish(tail: Tail) -> tuple[list[Segment], Tail]:
    """Return what was never ended, as if the log ended here."""
    if not tail.held:
        return [], tail
    return _ended(tail, b"", is_line=False), _after(tail, b"", is_line=False)


def peek(tail: Tail) -> list[Segment]:
    """Return the unfinished part as it reads now: bars and dots stay on one line for minutes."""
    return _ended(tail, b"", is_line=False) if tail.held else []


def _holding(tail: Tail, part: bytes) -> Tail:
    held = tail.held + part
    if len(held) <= LONGEST_BYTES:
        return replace(tail, held=held)
    return replace(tail, held=held[:KEPT_BYTES] + held[-KEPT_BYTES:], is_cut=True)


def _after(tail: Tail, part: bytes, *, is_line: bool) -> Tail:
    if is_line:
        return Tail(line=tail.line + 1)
    is_first = tail.is_first and not tail.held and not part
    return Tail(line=tail.line, is_first=is_first)


def _ended(tail: Tail, part: bytes, *, is_line: bool) -> list[Segment]:
    whole = tail.held + part if tail.held else part
    if not whole:
        blank = is_line and tail.is_first
        return [Segment(text="", line=tail.line, is_first=True)] if blank else []
    if tail.is_cut or len(whole) > LONGEST_BYTES:
        whole = whole[:KEPT_BYTES] + _GAP + whole[-KEPT_BYTES:]
    pieces = _records(_plain(whole.decode("utf-8", "replace")))
    return [
        Segment(text=piece, line=tail.line, is_first=tail.is_first and number == 0)
        for number, piece in enumerate(pieces)
    ]


def _plain(text: str) -> str:
    if "\x1b" in text or "#033[" in text or "^[[" in text:
        return _ANSI.sub("", text)
    # Escape lost in copying: "[0m".
    return _LOST.sub("", text) if "m" in text and _LOST.search(text) else text


def _records(text: str) -> Iterator[str]:
    """Take apart what several writers put on one line: after a bar, before a prefix."""
    cuts = set()
    if "<" in text:
        cuts |= {match.end() for match in _AFTER_BAR.finditer(text)}
    if text.find("[20", 1) > 0:
        cuts |= {match.start() for match in _STAMPED.finditer(text, 1)}
    if text.find(" pid=", 1) > 0:
        cuts |= {match.start() for match in _PROCESS.finditer(text, 1)}
    at = 0
    for cut in sorted(cuts):
        yield text[at:cut]
        at = cut
    yield text[at:]
