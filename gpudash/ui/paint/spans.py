"""Rows of styled text, measured in terminal cells.

A span is text and a style key; a row is a tuple of spans. A style key reads
`FOREGROUND [b][d][r] [on BACKGROUND]`: names of theme variables, and b(old), d(im), r(everse).
`on cell-alive~70` mixes 70 % of that variable into `bar-track`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from gpudash.core.names import clean_text
from gpudash.ui.paint.glyphs import TWINS, Glyphs

Span = tuple[str, str]
"""Text without line breaks, and its style key."""
Row = tuple[Span, ...]


def cell_width(text: str) -> int:
    """Return how many cells a text takes."""
    return len(text) if text.isascii() else _measured(text)


@lru_cache(maxsize=8192)
def _measured(text: str) -> int:
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@lru_cache(maxsize=8192)
def outside(text: str, limit: int = 120) -> str:
    """Return text from outside fit for a row: one line, composed, nothing that hides or turns.

    Joining and presentation selectors are dropped too: terminals disagree on their width.
    """
    text = unicodedata.normalize("NFC", clean_text(text, limit))
    if text.isascii():
        return text
    kept = (char for char in text if not _is_disputed(char))
    return "".join(" " if char.isspace() else char for char in kept)


_NEWLY_WIDE = (
    ("\u2630", "\u2637"),
    ("\u268a", "\u268f"),
    ("\u4dc0", "\u4dff"),
    ("\U0001d300", "\U0001d37f"),
)
"""One cell until Unicode 15, two from 16 on: trigrams, hexagrams, counting rods."""


def _is_disputed(char: str) -> bool:
    """Tell whether terminals disagree on the width: selectors, enclosing marks, jamo, modifiers."""
    return (
        "\ufe00" <= char <= "\ufe0f"
        or "\u1160" <= char <= "\u11ff"
        or "\U0001f1e6" <= char <= "\U0001f1ff"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or any(first <= char <= last for first, last in _NEWLY_WIDE)
        or unicodedata.category(char) in ("Mn", "Me", "Mc", "Zl", "Zp")
    )


def crop(text: str, width: int) -> str:
    """Return the beginning of a text that fits; a wide character is never split."""
    if width <= 0:
        return ""
    if text.isascii():
        return text[:width]
    if cell_width(text) <= width:
        return text
    taken = 0
    for position, char in enumerate(text):
        taken += _char_width(char)
        if taken > width:
            return text[:position]
    return text


def shorten(text: str, width: int, mark: str = "…") -> str:
    """Return the text, or its beginning and a mark where it does not fit."""
    if cell_width(text) <= width:
        return text
    if width <= 1:
        return crop(text, width)
    return crop(text, width - 1).rstrip() + mark


def left(text: str, width: int) -> str:
    """Pad or cut a text to a width, aligned left."""
    missing = width - cell_width(text)
    if missing == 0:
        return text
    if missing > 0:
        return text + " " * missing
    text = crop(text, width)
    return text + " " * (width - cell_width(text))


def right(text: str, width: int) -> str:
    """Pad or cut a text to a width, aligned right."""
    missing = width - cell_width(text)
    return " " * missing + text if missing >= 0 else left(text, width)


def row_width(row: Row) -> int:
    """Return how many cells a row takes."""
    total = 0
    for text, _ in row:
        total += len(text) if text.isascii() else _measured(text)
    return total


def fit(row: Row, width: int, mark: str = "") -> Row:
    """Return the row at exactly this width: blanks at the end, or cut with a mark."""
    missing = width - row_width(row)
    if missing == 0:
        return row
    if missing > 0:
        return (*row, (" " * missing, "text"))
    return _cut(row, width, mark)


def _cut(row: Row, width: int, mark: str) -> Row:
    kept: list[Span] = []
    room = max(width, 0)
    for position, (text, style) in enumerate(row):
        taken = cell_width(text)
        is_last = row_width(row[position + 1 :]) == 0
        if taken > room or (mark and taken == room and not is_last):
            # Text that continues in the next span is cut here, so that the mark has a cell.
            piece = shorten(text + " ", room, mark) if mark else crop(text, room)
            kept.append((left(piece, room), style))
            break
        kept.append((text, style))
        room -= taken
    return tuple(span for span in kept if span[0])


def spread(start: Row, end: Row, width: int, mark: str = "") -> Row:
    """Return a row with one part left and one right, a blank between; the left part gives way."""
    end_width = row_width(end)
    if end_width == 0:
        return fit(start, width, mark)
    if end_width >= width:
        return fit(end, width)
    room = width - end_width - 1
    return (*fit(start, room, mark), (" ", "text"), *end)


def on_background(row: Row, variable: str) -> Row:
    """Return the row with a background under every span that has none."""
    suffix = f" on {variable}"
    return tuple((text, style if " on " in style else style + suffix) for text, style in row)


def joined(parts: tuple[Row, ...], gap: Span) -> Row:
    """Return the parts in one row with the same gap between them; empty parts are left out."""
    spans: list[Span] = []
    for part in parts:
        if part:
            if spans:
                spans.append(gap)
            spans.extend(part)
    return tuple(spans)


def wrapped(text: str, width: int, most: int = 3) -> tuple[str, ...]:
    """Break a sentence at blanks into at most so many lines; what is over is cut with `…`."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < most:
        if cell_width(rest) <= width or len(lines) == most - 1:
            lines.append(shorten(rest, width))
            break
        head = crop(rest, width + 1)
        cut = head.rfind(" ")
        head = head[:cut] if cut > 0 else crop(rest, max(width, 2))
        lines.append(head.rstrip())
        rest = rest[len(head) :].lstrip()
    return tuple(lines)


def marked(text: str, words: str, style: str) -> Row:
    """Return the text with each place of the words set off."""
    if not words:
        return ((text, style),)
    among = text.lower() if words == words.lower() else text
    spans: list[tuple[str, str]] = []
    at = 0
    while (found := among.find(words, at)) >= 0:
        if found > at:
            spans.append((text[at:found], style))
        spans.append((text[found : found + len(words)], "key b on key-cap"))
        at = found + len(words)
    spans.append((text[at:], style))
    return tuple(spans)


def plain(row: Row) -> str:
    """Return the text of a row without styles."""
    return "".join(text for text, _ in row)


@lru_cache(maxsize=8192)
def as_ascii(text: str) -> str:
    """Return text of the same width with ASCII only; what has no twin becomes `?`."""
    if text.isascii():
        return text
    return "".join(
        char if char.isascii() else TWINS.get(char, "?" * _char_width(char)) for char in text
    )


def finished(row: Row, width: int, glyphs: Glyphs) -> Row:
    """Return a row as it leaves a painter: exactly this wide, and ASCII where asked."""
    row = fit(row, width, glyphs.cut)
    if glyphs.is_ascii:
        return tuple((as_ascii(text), style) for text, style in row)
    return row
