"""The filter's prompt: the line that is typed, and under it what is found or what is wrong."""

from __future__ import annotations

from gpudash.core.query.language import Mistake
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, cell_width, finished, on_background, outside, shorten

PROMPT = 2
"""Columns before the text."""
_EXAMPLES = "a word, mem>50%, user=me, host=node*, state=leftover, not, or, ( )"


def prompt_row() -> Row:
    """Paint what stands before the text."""
    return on_background(((" /", "key b"),), "raised")


def hint_row(text: str, mistake: Mistake | None, found: str, width: int, glyphs: Glyphs) -> Row:
    """Paint the row below: a mistake is pointed at where there is room for both."""
    if mistake is not None:
        return _painted(_pointed(text, mistake, width), width, glyphs)
    said = found if text.strip() else _EXAMPLES
    tail = "enter keeps it  esc goes back"
    row: Row = ((f" {shorten(said, width - 2)}", "text-muted"),)
    if cell_width(said) + cell_width(tail) + 4 <= width:
        row += ((f"   {tail}", "text-muted"),)
    return _painted(row, width, glyphs)


def _painted(row: Row, width: int, glyphs: Glyphs) -> Row:
    return on_background(finished(row, width, glyphs), "raised")


def _pointed(text: str, mistake: Mistake, width: int) -> Row:
    words = outside(mistake.message, 200)
    at = PROMPT + cell_width(text[: mistake.at])
    marks = "^" * max(1, min(mistake.length, 8))
    after = at + len(marks) + 1
    if after + cell_width(words) <= width:
        return ((" " * at, "text"), (f"{marks} {words}", "unknown"))
    if cell_width(words) + 1 <= at and at < width:
        lead = " " * (at - cell_width(words) - 1)
        return ((f"{lead}{words} {marks}", "unknown"),)
    return ((f" {shorten(words, width - 2)}", "unknown"),)
