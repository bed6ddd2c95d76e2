"""The event log on a screen: where the reader stands, what was searched, rows of it.

A line that is too long goes on below itself: nothing of what went wrong is cut.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from gpudash.core.eventlog import EventLine, Part, counted, found_in
from gpudash.core.model import Happening
from gpudash.core.units import format_duration, plural
from gpudash.ui.paint.events import mark_of
from gpudash.ui.paint.footer import footer_row
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.header import SIMULATED
from gpudash.ui.paint.layout import FOOTER_FROM
from gpudash.ui.paint.spans import (
    Row,
    cell_width,
    crop,
    finished,
    left,
    marked,
    on_background,
    outside,
    row_width,
    spread,
)
from gpudash.ui.paint.story import Keys
from gpudash.ui.paint.view import WallClock, no_clock

KEYS: Keys = (
    ("events.search", "search"),
    ("events.next", "next"),
    ("events.previous", "before"),
    ("events.bad", "bad only"),
    ("text.copy", "copy"),
    ("events.save", "save"),
    ("esc", "back"),
    ("app.quit", "quit"),
)
"""Ids of actions, or keys; and labels."""
_LONGEST = 400
_HOST_MOST = 20
_LEAST = 8
"""Columns of words, however narrow the screen is."""
_COLUMN_FROM = 60
"""Columns of a screen on which hosts have one of their own."""


class EventPage(NamedTuple):
    """What the screen is to show."""

    lines: tuple[EventLine, ...] = ()
    is_bad_only: bool = False
    words: str = ""
    """What is searched."""
    is_typing: bool = False
    top: int = 0
    """The first row that is shown."""
    here: int | None = None
    """The line that was jumped to."""
    is_simulated: bool = False
    names_width: int = 0
    """Of the longest host's name; 0: there is one host, and no line names it."""
    now_s: float = 0.0
    wall_of: WallClock = no_clock
    keys: Keys = ()
    glyphs: Glyphs = UNICODE


def page_room(height: int) -> int:
    """Return how many rows fit."""
    return max(1, height - 1 - (1 if height >= FOOTER_FROM else 0))


def starts(page: EventPage, width: int) -> list[int]:
    """Return the row at which each line starts, and behind the last one how many there are."""
    found, at = [], 0
    for line in page.lines:
        found.append(at)
        at += len(_line_pieces(page, line, width))
    return [*found, at]


def _line_pieces(page: EventPage, line: EventLine, width: int) -> tuple[str, ...]:
    room = width - 1 - _indent(page, line, width)
    return _pieces(_words(page, line, width), max(_LEAST, room))


def clamped(page: EventPage, width: int, room: int) -> EventPage:
    """Return the page with its top where there are rows."""
    last = max(0, starts(page, width)[-1] - room)
    return page._replace(top=max(0, min(page.top, last)))


def continued(page: EventPage, before: EventPage, width: int) -> EventPage:
    """Return the page with the reader where they stood before, whatever came in between."""
    page = page._replace(
        words=before.words, is_typing=before.is_typing, is_bad_only=before.is_bad_only
    )
    if page.lines == before.lines:
        return page._replace(top=before.top, here=before.here)
    if before.lines and before.top:
        old = starts(before, width)
        at = max(0, bisect_left(old, before.top + 1) - 1)
        now = _place(page, before, at)
        top = before.top if now is None else starts(page, width)[now] + before.top - old[at]
        page = page._replace(top=top)
    here = None if before.here is None else _place(page, before, before.here)
    return page._replace(here=here)


def _place(page: EventPage, before: EventPage, at: int) -> int | None:
    """Return where a line is now; lines come at the top, so it is counted from the end."""
    if at >= len(before.lines):
        return None
    line = before.lines[at]
    alike = [place for place, one in enumerate(page.lines) if one == line]
    wanted = at + len(page.lines) - len(before.lines)
    return min(alike, key=lambda place: abs(place - wanted), default=None)


def searched(page: EventPage, width: int, room: int, step: int) -> EventPage:
    """Go to the next place where the words stand, round and round; step 0: the nearest."""
    places = found_in(page.lines, page.words, page.wall_of)
    if not places:
        return page._replace(here=None)
    page = clamped(page, width, room)
    rows = starts(page, width)
    start = page.here if page.here is not None else max(0, bisect_left(rows[:-1], page.top))
    if step > 0:
        at = bisect_left(places, start + 1 if page.here is not None else start) % len(places)
    elif step < 0:
        at = (bisect_left(places, start) - 1) % len(places)
    else:
        at = bisect_left(places, start) % len(places)
    top = max(0, rows[places[at]] - room // 3)
    return clamped(page._replace(here=places[at], top=top), width, room)


def event_page_rows(page: EventPage, width: int, height: int) -> tuple[Row, ...]:
    """Paint the screen: one row of head, lines, the footer."""
    room = page_room(height)
    page = clamped(page, width, room)
    rows = starts(page, width)
    at = max(0, bisect_left(rows, page.top + 1) - 1)
    body: list[Row] = []
    skip = page.top - rows[at] if at < len(rows) else 0
    while at < len(page.lines) and len(body) < room + skip:
        body += _line_rows(page, at, width)
        at += 1
    body = [*body[skip : skip + room], *[()] * room][:room]
    footer = (footer_row(page.keys, width, page.glyphs),) if height >= FOOTER_FROM else ()
    painted = (_head(page, width), *body)
    return (*(finished(row, width, page.glyphs) for row in painted), *footer)[:height]


def _head(page: EventPage, width: int) -> Row:
    start: Row = ((" events ", "key b"),)
    if page.is_simulated:
        start = (*SIMULATED, *start)
    if page.is_bad_only:
        start += ((" bad only ", "leftover b"),)
    if page.is_typing:
        shown = page.words[-max(1, width - row_width(start) - 4) :]
        return (*start, (" /", "key b"), (outside(shown, 120), "text-strong"), ("_", "key b"))
    count = counted(page.lines)
    if page.words:
        number = len(found_in(page.lines, page.words, page.wall_of))
        times = "nowhere" if not number else "once" if number == 1 else f"{number} times"
        start += ((f" /{outside(page.words, 40)}", "key b"),)
        start += ((f"  {times}", "text" if number else "unknown"),)
    facts = (
        (f"{count.problems} open", "leftover" if count.problems else "text-muted"),
        (plural(count.alerts, "alert"), "unknown" if count.alerts else "text-muted"),
        (plural(count.past, "event"), "text-muted"),
    )
    end: Row = ()
    for fact in facts:
        more: Row = (*end, (f"  {page.glyphs.dot}  " if end else "", "text-muted"), fact)
        if row_width(start) + row_width(more) + 2 <= width:
            end = more
    return spread(start, (*end, (" ", "text")), width, page.glyphs.cut)


def names_width(lines: tuple[EventLine, ...]) -> int:
    """Return how wide the column of hosts' names is."""
    longest = max((cell_width(outside(one.host, 64)) for one in lines), default=0)
    return min(longest, _HOST_MOST) + 2 if longest else 0


def _host_width(page: EventPage, width: int) -> int:
    return page.names_width if width >= _COLUMN_FROM else 0


def _indent(page: EventPage, line: EventLine, width: int) -> int:
    """Return how far from the cursor's column the words of a line begin."""
    match line.part:
        case Part.HEAD | Part.BLANK:
            return 0
        case Part.NOTE:
            return 1
        case Part.DETAIL:
            return 12 if width >= _COLUMN_FROM else 3
        case _:
            return _time_width(line, width) + _host_width(page, width) + 2


def _time_width(line: EventLine, width: int) -> int:
    """Return how wide a line's time is: without one it keeps its column where there is room."""
    return 10 if width >= _COLUMN_FROM or line.at_s is not None else 0


def _words(page: EventPage, line: EventLine, width: int) -> str:
    words = outside(line.words, _LONGEST)
    if line.part is Part.ALERT and line.at_s is not None:
        words = f"{words}, for {format_duration(page.now_s - line.at_s)}"
    # Where there is no room for a column, the host's name stands with the words.
    is_named = page.names_width and width < _COLUMN_FROM and line.host
    return f"{outside(line.host, 64)}  {words}" if is_named else words


def _pieces(text: str, room: int) -> tuple[str, ...]:
    """Break a line at blanks; nothing is lost."""
    if cell_width(text) <= room:
        return (text,)
    pieces: list[str] = []
    while cell_width(text) > room:
        head = crop(text, room + 1)
        cut = head.rstrip().rfind(" ")
        head = head[:cut] if cut > room // 3 else crop(text, room)
        pieces.append(head)
        text = text[len(head) :].lstrip()
    return (*pieces, text) if text else tuple(pieces)


def _line_rows(page: EventPage, at: int, width: int) -> list[Row]:
    line = page.lines[at]
    is_here = page.here == at
    style = _style(line)
    pieces = _line_pieces(page, line, width)
    cursor = (page.glyphs.cursor if is_here else " ", "border-focus")
    first = _before(page, line, width)
    indent = row_width(first)
    rows: list[Row] = []
    for number, piece in enumerate(pieces):
        before: Row = first if number == 0 else ((" " * indent, "text"),)
        row: Row = (cursor, *before, *marked(piece, page.words, style))
        row = finished(row, width, page.glyphs)
        rows.append(on_background(row, "row-cursor") if is_here else row)
    return rows


def _style(line: EventLine) -> str:
    match line.part:
        case Part.HEAD:
            return "text-strong b"
        case Part.NOTE:
            return "text-muted"
        case Part.PROBLEM:
            return "leftover b" if line.tone == "bad" else "unknown b"
        case Part.ALERT:
            return "text-strong"
        case _:
            return "text"


def _before(page: EventPage, line: EventLine, width: int) -> Row:
    """Return what stands before the words of a line."""
    if line.part in (Part.HEAD, Part.BLANK, Part.NOTE, Part.DETAIL):
        return ((" " * _indent(page, line, width), "text"),)
    time = page.wall_of(line.at_s) if line.at_s is not None else ""
    row = marked(left(time, _time_width(line, width)), page.words, "text-muted")
    if names := _host_width(page, width):
        name = left(outside(line.host, 64), names - 2) + "  "
        row += marked(name, page.words, "text")
    said = Happening(
        at_s=0.0, host="", words="", letter=line.letter, owner=line.owner, tone=line.tone
    )
    return (*row, mark_of(said, page.glyphs), (" ", "text"))
