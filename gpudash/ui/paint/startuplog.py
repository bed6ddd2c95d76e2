"""Lines of a start-up's log: the newest three in a panel, or those around the cause."""

from __future__ import annotations

from gpudash.core.startup.logbook import LogLine, place_of
from gpudash.core.units import grouped
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.spans import Row, fit, left, outside
from gpudash.ui.paint.startupview import StartupView

_BEFORE = 3
"""Lines shown before the cause."""
LONGEST = 1_000


def log_rows(view: StartupView, width: int, height: int) -> list[Row]:
    """Paint the panel: newest first; of a failed one the lines around the cause, in order."""
    room = height - 2
    if room < 1:
        return []
    failure = view.followed.startup.failure
    line = failure.line if failure is not None else None
    glyphs = view.glyphs
    around = _around(view.lines, line, room)
    if around:
        shown = tuple(_ranked(one, line, failure.rank if failure else None) for one in around)
        words = f"lines {grouped(shown[0].number)} to {grouped(shown[-1].number)}"
    else:
        shown = tuple(reversed(view.lines[-room:]))
        words = outside(view.followed.source.words, 80)
    rank = rank_width(shown)
    body = [
        line_row(
            view,
            one,
            width - 2,
            rank=rank,
            is_cause=one.number == line,
            is_bright=number == 0 and not around,
        )
        for number, one in enumerate(shown)
    ]
    if not body:
        body = [((" no line yet", "text-muted"),)]
    body = [*body, *[()] * max(0, room - len(body))][:room]
    end = (Piece(((words, "text-muted"),), 1),)
    return [
        box.top((Piece((("log", "text-strong b"),)),), end, width, "border", glyphs),
        *(box.side(row, width, "border", glyphs) for row in body),
        box.bottom((), (), width, "border", glyphs),
    ]


def _ranked(one: LogLine, line: int | None, rank: str | None) -> LogLine:
    """Put the rank beside the cause where the line itself doesn't tell it."""
    return one._replace(rank=rank) if one.number == line and rank and not one.rank else one


def _around(lines: tuple[LogLine, ...], number: int | None, room: int) -> tuple[LogLine, ...]:
    at = place_of(lines, number) if number is not None else None
    if at is None:
        return ()
    start = max(0, min(at - min(_BEFORE, room // 2), len(lines) - room))
    return lines[start : start + room]


def rank_width(lines: tuple[LogLine, ...]) -> int:
    """Return how wide the column of ranks is; 0 where nobody says one."""
    widest = max((len(one.rank) for one in lines), default=0)
    return min(widest, 10) + 2 if widest else 0


def indented(text: str) -> str:
    """Return a line fit for a row with its indent: a traceback is read by it."""
    bare = text.lstrip(" ")
    return " " * min(len(text) - len(bare), 40) + outside(bare, LONGEST)


def line_row(
    view: StartupView,
    one: LogLine,
    width: int,
    *,
    rank: int,
    is_cause: bool = False,
    is_bright: bool = False,
    at_column: int = 0,
) -> Row:
    """Paint one line: when it came, who said it, what it says from a column on."""
    ground = " on tint-bad" if is_cause else ""
    mark = view.glyphs.cursor if is_cause else " "
    row: Row = ((mark, f"leftover{ground}"),)
    if width >= 50:
        row += ((f"{view.wall_of(one.at_s)}  ", f"text-muted{ground}"),)
    if rank:
        colour = "leftover" if is_cause else "key"
        row += ((left(outside(one.rank, 10), rank), f"{colour}{ground}"),)
    text = indented(one.text)[at_column:]
    style = "text-strong" if is_cause or is_bright else "text-muted"
    row += ((text, f"{style}{ground}"),)
    row = fit(row, width, view.glyphs.cut)
    return tuple(
        (words, key if " on " in key or not ground else key + ground) for words, key in row
    )
