"""Cut the bytes of a log into segments: what a terminal would have shown, part by part.

CR and LF both end a segment; only LF ends a line, so line numbers are those of the file. What was
cut inside a character is decoded once all of it is there. An unterminated part keeps its head and
its tail and no more, however long it grows.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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


class Segment(NamedTuple):
    """One part of a line."""

    text: str
    """Without escape sequences; may still carry other control characters."""
    line: int
    """1-based number of the physical line, counted by LF alone."""
    is_first: bool
    """The first part of its line: what stands before a message holds for the parts behind it."""


class Tail(NamedTuple):
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
    at, line, is_first = 0, tail.line, tail.is_first
    for match in _BREAK.finditer(data):
        part = data[at : match.start()]
        at = match.end()
        is_line = match[0] == b"\n"
        is_cut = tail.is_cut
        if tail.held:
            part = tail.held + part
            tail = Tail()
        if part or (is_line and is_first):
            segments += _cut(part, line, is_first=is_first, is_cut=is_cut)
        if is_line:
            line, is_first = line + 1, True
        elif part:
            is_first = False
    tail = Tail(tail.held, tail.is_cut, line, is_first)
    return segments, _holding(tail, data[at:]) if at < len(data) else tail


def finish(tail: Tail) -> tuple[list[Segment], Tail]:
    """Return what was never ended, as if the log ended here."""
    return peek(tail), Tail(line=tail.line, is_first=tail.is_first and not tail.held)


def peek(tail: Tail) -> list[Segment]:
    """Return the unfinished part as it reads now: bars and dots stay on one line for minutes."""
    if not tail.held:
        return []
    return _cut(tail.held, tail.line, is_first=tail.is_first, is_cut=tail.is_cut)


def _holding(tail: Tail, part: bytes) -> Tail:
    held = tail.held + part
    if len(held) <= LONGEST_BYTES:
        return tail._replace(held=held)
    return tail._replace(held=held[:KEPT_BYTES] + held[-KEPT_BYTES:], is_cut=True)


def _cut(whole: bytes, line: int, *, is_first: bool, is_cut: bool) -> list[Segment]:
    if is_cut or len(whole) > LONGEST_BYTES:
        whole = whole[:KEPT_BYTES] + _GAP + whole[-KEPT_BYTES:]
    pieces = _records(_plain(whole.decode("utf-8", "replace")))
    if len(pieces) == 1:
        return [Segment(pieces[0], line, is_first)]
    return [
        Segment(text=piece, line=line, is_first=is_first and number == 0)
        for number, piece in enumerate(pieces)
    ]


def _plain(text: str) -> str:
    if "\x1b" in text or "#033[" in text or "^[[" in text:
        return _ANSI.sub("", text)
    # The escape itself was lost in copying.
    return _LOST.sub("", text) if "[0m" in text or "[2m" in text else text


def _records(text: str) -> list[str]:
    """Take apart what several writers put on one line: after a bar, before a prefix."""
    cuts: set[int] = set()
    if "<" in text:
        cuts |= {match.end() for match in _AFTER_BAR.finditer(text)}
    if text.find("[20", 1) > 0:
        cuts |= {match.start() for match in _STAMPED.finditer(text, 1)}
    if text.find(" pid=", 1) > 0:
        cuts |= {match.start() for match in _PROCESS.finditer(text, 1)}
    if not cuts:
        return [text]
    ends = [*sorted(cuts), len(text)]
    return [text[at:end] for at, end in zip([0, *ends], ends, strict=False)]
