"""Borders with titles in them."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, fit, row_width

GAP: Row = (("  ", "text"),)
WIDE_GAP: Row = (("   ", "text"),)


class Piece(NamedTuple):
    """A part of a title; the piece with the highest `cost` goes first when room is short."""

    row: Row
    cost: int = 0
    """0: stays whatever happens."""


def top(
    start: tuple[Piece, ...], end: tuple[Piece, ...], width: int, border: str, glyphs: Glyphs
) -> Row:
    """Draw an upper border with a title left and facts right."""
    corners = (glyphs.top_left, glyphs.top_right)
    return _edge(start, end, width, border, corners, glyphs)


def bottom(
    start: tuple[Piece, ...], end: tuple[Piece, ...], width: int, border: str, glyphs: Glyphs
) -> Row:
    """Draw a lower border, with a legend left and a fact right where there are any."""
    corners = (glyphs.bottom_left, glyphs.bottom_right)
    return _edge(start, end, width, border, corners, glyphs)


def side(inner: Row, width: int, border: str, glyphs: Glyphs) -> Row:
    """Put a row between the left and the right border."""
    edge = (glyphs.down, border)
    return (edge, *fit(inner, width - 2, glyphs.cut), edge)


def _edge(
    start: tuple[Piece, ...],
    end: tuple[Piece, ...],
    width: int,
    border: str,
    corners: tuple[str, str],
    glyphs: Glyphs,
) -> Row:
    # Corner, line, blank and the same mirrored, and at least two of line between the parts.
    start_row, end_row = _kept(start, end, width - 6 - (4 if start and end else 0))
    used = row_width(start_row) + row_width(end_row)
    before = (corners[0] + glyphs.across, border)
    after = (glyphs.across + corners[1], border)
    blank = (" ", "text")
    first: Row = (blank, *start_row, blank) if start_row else ((glyphs.across, border),)
    last: Row = (blank, *end_row, blank) if end_row else ((glyphs.across, border),)
    around = 4 + (2 if start_row else 1) + (2 if end_row else 1)
    between = (glyphs.across * (width - around - used), border)
    return fit((before, *first, between, *last, after), width)


def _kept(start: tuple[Piece, ...], end: tuple[Piece, ...], room: int) -> tuple[Row, Row]:
    while True:
        rows = _run(start, GAP), _run(end, WIDE_GAP)
        if row_width(rows[0]) + row_width(rows[1]) <= room:
            return rows
        worst = max((piece.cost for piece in (*start, *end)), default=0)
        if worst == 0:
            return fit(rows[0], max(0, room - row_width(rows[1])), "…"), rows[1]
        start = tuple(piece for piece in start if piece.cost != worst)
        end = tuple(piece for piece in end if piece.cost != worst)


def _run(pieces: tuple[Piece, ...], gap: Row) -> Row:
    row: Row = ()
    for piece in pieces:
        if piece.row:
            row = (*row, *gap, *piece.row) if row else piece.row
    return row
