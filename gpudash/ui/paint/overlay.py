"""Lines of several GPUs over each other: a GPU's number stands in its line, `═` where lines meet.

Colour says who, so it can't say which one here; numbers do, also where there is no colour.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.units import index_list
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, Span, left

MARGIN = 6
"""Columns at the right that say which GPU is where now."""
_NUMBER_EVERY = 14
_LOW, _MIDDLE, _SHARED = "▁", "─", "═"
_ASCII = {_LOW: "_", _MIDDLE: "-", _SHARED: "="}


class Line(NamedTuple):
    """One GPU."""

    number: int
    heights: tuple[float | None, ...]
    """A share of the chart's height for each column; None is a gap."""


def overlaid(lines: tuple[Line, ...], width: int, height: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Paint the lines: `height` rows of `width` columns, the highest first."""
    columns = max(0, width - MARGIN)
    cells: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for line in lines:
        for column, share in enumerate(line.heights[:columns]):
            if share is not None:
                row, char = _place(share, height)
                cells.setdefault((row, column), []).append((line.number, char))
    ends = _ends(lines, height)
    floors = _floors(cells, columns)
    rows = []
    for row in range(height - 1, -1, -1):
        spans = [
            _cell(cells.get((row, column), []), column, glyphs, is_below=row < floors[column])
            for column in range(columns)
        ]
        end = index_list(ends.get(row, [])).replace(", ", ",")
        text = left(f" {end}", MARGIN) if width >= MARGIN else " " * width
        rows.append((*_joined(spans), (text, "text")))
    return tuple(rows)


def _place(share: float, height: int) -> tuple[int, str]:
    exact = min(max(share, 0.0), 0.9999) * height
    return int(exact), _LOW if exact % 1 < 0.5 else _MIDDLE


def _ends(lines: tuple[Line, ...], height: int) -> dict[int, list[int]]:
    ends: dict[int, list[int]] = {}
    for line in lines:
        known = [share for share in line.heights[-3:] if share is not None]
        if known:
            ends.setdefault(_place(known[-1], height)[0], []).append(line.number)
    return ends


def _floors(cells: dict[tuple[int, int], list[tuple[int, str]]], columns: int) -> list[int]:
    """Return the row of the lowest line of each column: below it all of them have been."""
    floors = [-1] * columns
    for row, column in cells:
        floors[column] = row if floors[column] < 0 else min(floors[column], row)
    return floors


def _cell(here: list[tuple[int, str]], column: int, glyphs: Glyphs, *, is_below: bool) -> Span:
    if not here:
        return ("█", "spark-1") if is_below and not glyphs.is_ascii else (" ", "text")
    if len(here) > 1:
        char, style = _SHARED, "spark-3 b"
    else:
        index, char = here[0]
        is_numbered = index < 10 and (column + 3 * index) % _NUMBER_EVERY == 0
        char, style = (str(index), "text") if is_numbered else (char, "spark-3")
    return (_ASCII.get(char, char) if glyphs.is_ascii else char), style


def _joined(spans: list[Span]) -> Row:
    row: list[Span] = []
    for text, style in spans:
        if row and row[-1][1] == style:
            row[-1] = (row[-1][0] + text, style)
        else:
            row.append((text, style))
    return tuple(row)
