"""The screen when there is nothing to watch: what to type."""

from __future__ import annotations

from gpudash.core.model import Problem
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.columns import is_compact
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, finished, left, outside, wrapped

COMMANDS = (
    ("gpudash gpu-a gpu-b", "watch two hosts, names as in ~/.ssh/config"),
    ("gpudash 'node[01-32]'", "watch many"),
    ("gpudash @lab", "a group from the configuration"),
    ("gpudash demo", "try it without a GPU"),
    ("gpudash doctor gpu-a", "what works there and why not"),
)
KEYS = (("d", "demo"), ("?", "help"), ("q", "quit"))
_COMMAND_WIDTH = 26


def welcome_rows(
    width: int, height: int, glyphs: Glyphs, problem: Problem | None = None
) -> tuple[Row, ...]:
    """Paint the screen below the banner, at this height."""
    if height <= 0:
        return ()
    if is_compact(width) or height < 4:
        body = _body(width, height, problem)
        return tuple(finished(row, width, glyphs) for row in body[:height])
    start = (Piece((("start", "text-strong b"),)),)
    inner = _body(width - 2, height - 2, problem)
    rows = (
        box.top(start, (), width, "border", glyphs),
        *(box.side(row, width, "border", glyphs) for row in inner),
        box.bottom((), (), width, "border", glyphs),
    )
    return tuple(finished(row, width, glyphs) for row in rows)


def _body(width: int, height: int, problem: Problem | None) -> list[Row]:
    indent = 1 if is_compact(width) else 3
    sentences = wrapped(f"{_reason(problem)} Name the hosts to watch:", width - 2 * indent)
    rows: list[Row] = [((" " * indent + line, "text"),) for line in sentences]
    commands = [_command(name, words, indent, width) for name, words in COMMANDS]
    needed = len(rows) + 2 * len(commands) + 2
    is_airy = height >= needed
    if is_airy:
        rows = [(), (), *rows] if height >= needed + 1 else [(), *rows]
    for command in commands:
        rows += [(), command] if is_airy else [command]
    rows = rows[:height]
    return [*rows, *[()] * (height - len(rows))]


def _reason(problem: Problem | None) -> str:
    """Say why there is nothing here, from what the driver answered."""
    if problem is None or problem.is_no_driver:
        return "This machine has no NVIDIA driver."
    return f"This machine has no GPU to show: {outside(problem.title, 60)}."


def _command(name: str, words: str, indent: int, width: int) -> Row:
    row: Row = ((" " * indent, "text"), (left(name, _COMMAND_WIDTH), "key b"))
    if width >= 60:
        row += ((words, "text-muted"),)
    return row
