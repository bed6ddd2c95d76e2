"""A whole log on a screen: what is shown of it, what was searched, which line is the cause."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from gpudash.core.startup.logbook import LogLine, found_in, place_of
from gpudash.core.units import grouped, plural
from gpudash.ui.paint.footer import footer_row
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.header import SIMULATED
from gpudash.ui.paint.layout import FOOTER_FROM
from gpudash.ui.paint.spans import (
    Row,
    finished,
    fit,
    left,
    marked,
    on_background,
    outside,
    row_width,
    spread,
)
from gpudash.ui.paint.startuplog import indented, rank_width
from gpudash.ui.paint.story import Keys
from gpudash.ui.paint.view import WallClock, no_clock

WHY = "why it failed"
KEYS: Keys = (
    ("log.search", "search"),
    ("log.next", "next"),
    ("log.previous", "before"),
    ("log.rank", "rank"),
    ("log.follow", "follow"),
    ("log.cause", WHY),
    ("text.copy", "copy"),
    ("esc", "back"),
    ("app.quit", "quit"),
)
"""Ids of actions, or keys; and labels."""


class LogPage(NamedTuple):
    """What the screen is to show."""

    title: str
    lines: tuple[LogLine, ...] = ()
    """All that are kept, oldest first."""
    rank: str = ""
    """Only this one's lines; empty: everybody's."""
    words: str = ""
    """What is searched."""
    is_typing: bool = False
    top: int = 0
    """The first line that is shown."""
    column: int = 0
    """Text begins so far right."""
    here: int | None = None
    """Place of the match or line that was jumped to."""
    follows: bool = True
    cause: int | None = None
    """The number of the line that says why it failed."""
    dropped: int = 0
    is_simulated: bool = False
    wall_of: WallClock = no_clock
    keys: Keys = ()
    glyphs: Glyphs = UNICODE


def shown_lines(page: LogPage) -> tuple[LogLine, ...]:
    """Return the lines that pass the filter: what nobody said belongs to everybody."""
    if not page.rank:
        return page.lines
    return tuple(line for line in page.lines if line.rank == page.rank)


def page_room(height: int) -> int:
    """Return how many lines fit."""
    return max(1, height - 1 - (1 if height >= FOOTER_FROM else 0))


def clamped(page: LogPage, room: int) -> LogPage:
    """Return the page with its top where there are lines; at the end where it follows."""
    last = max(0, len(shown_lines(page)) - room)
    return page._replace(top=last if page.follows else max(0, min(page.top, last)))


def moved(page: LogPage, step: int, room: int) -> LogPage:
    """Scroll; at the end it follows again."""
    page = clamped(page, room)
    last = max(0, len(shown_lines(page)) - room)
    top = max(0, min(page.top + step, last))
    return page._replace(top=top, follows=top >= last and step > 0)


def searched(page: LogPage, room: int, step: int) -> LogPage:
    """Go to the next place where the words stand, round and round; step 0: the nearest."""
    lines = shown_lines(page)
    places = found_in(lines, page.words)
    if not places:
        return page._replace(here=None)
    page = clamped(page, room)
    start = page.here if page.here is not None else page.top
    if step > 0:
        at = bisect_left(places, start + 1 if page.here is not None else start) % len(places)
    elif step < 0:
        at = (bisect_left(places, start) - 1) % len(places)
    else:
        at = min(bisect_left(places, page.top), len(places) - 1)
    return jumped(page, places[at], room)


def jumped(page: LogPage, place: int, room: int) -> LogPage:
    """Show one line, a third from the top."""
    page = page._replace(here=place, top=max(0, place - room // 3), follows=False)
    return clamped(page, room)


def to_cause(page: LogPage, room: int) -> LogPage:
    """Go to the line that says why it failed; the filter gives way where it hides it."""
    cause = page.cause
    if cause is None:
        return page
    at = place_of(shown_lines(page), cause)
    if at is None:
        page = page._replace(rank="")
        at = place_of(page.lines, cause)
    return page if at is None else jumped(page, at, room)


def log_page_rows(page: LogPage, width: int, height: int) -> tuple[Row, ...]:
    """Paint the screen: one row of head, lines, the footer."""
    glyphs, room = page.glyphs, page_room(height)
    page = clamped(page, room)
    lines = shown_lines(page)
    shown = lines[page.top : page.top + room]
    rank = 0 if page.rank else rank_width(shown)
    digits = len(str(shown[-1].number)) if shown else 1
    body = [
        _line(page, line, width, rank, digits, is_here=page.here == page.top + at)
        for at, line in enumerate(shown)
    ]
    if not body:
        nothing = "no line of this rank" if page.rank else "no line yet"
        body = [((f" {nothing}", "text-muted"),)]
    body = [*body, *[()] * (room - len(body))][:room]
    footer: tuple[Row, ...] = ()
    if height >= FOOTER_FROM:
        keys = tuple(one for one in page.keys if one[1] != WHY or page.cause is not None)
        footer = (footer_row(keys, width, glyphs),)
    rows = (_head(page, lines, width), *body)
    return (*(finished(row, width, glyphs) for row in rows), *footer)[:height]


def _head(page: LogPage, lines: tuple[LogLine, ...], width: int) -> Row:
    start: Row = ((" log ", "key b"), (outside(page.title, 60), "text-strong b"))
    if page.is_simulated:
        start = (*SIMULATED, *start)
    if page.is_typing:
        return fit((*start, ("  /", "key b"), (page.words, "text-strong"), ("_", "key b")), width)
    if page.words:
        count = len(found_in(lines, page.words))
        style = "text" if count else "unknown"
        times = "nowhere" if not count else "once" if count == 1 else f"{count} times"
        start = (*start, (f"  /{outside(page.words, 40)}", "key b"), (f"  {times}", style))
    end: Row = ((f"{page.rank}  ", "key b"),) if page.rank else ()
    end += ((plural(len(lines), "line"), "text-muted"),)
    if page.dropped:
        end += ((f", {grouped(page.dropped)} older gone", "text-muted"),)
    end += (("  following ", "clear"),) if page.follows else (("  standing still ", "text-muted"),)
    if row_width(end) + row_width(start) > width:
        end = ()
    return spread(start, end, width, page.glyphs.cut)


def _line(
    page: LogPage, line: LogLine, width: int, rank: int, digits: int, *, is_here: bool
) -> Row:
    is_cause = line.number == page.cause
    mark = page.glyphs.cursor if is_cause or is_here else " "
    row: Row = ((mark, "leftover" if is_cause else "border-focus"),)
    if width >= 60:
        row += ((f"{line.number:>{digits}}  {page.wall_of(line.at_s)}  ", "text-muted"),)
    if rank:
        row += ((left(outside(line.rank, 10), rank), "leftover" if is_cause else "key"),)
    style = "text-strong" if is_cause or is_here else "text"
    text = indented(line.text)[page.column :]
    row = fit((*row, *marked(text, page.words, style)), width, page.glyphs.cut)
    return (
        on_background(row, "tint-bad" if is_cause else "row-cursor") if is_cause or is_here else row
    )
