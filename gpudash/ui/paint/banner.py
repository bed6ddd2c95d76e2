"""The banner: two rows that hold the verdict, read first.

The badge is 17 cells wide and the headline starts at column 19, whatever is said.
"""

from __future__ import annotations

from gpudash.ui.paint.columns import COMPACT_BELOW
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import (
    Row,
    finished,
    fit,
    joined,
    left,
    on_background,
    row_width,
    spread,
)
from gpudash.ui.paint.story import Keys, Story

BADGE = 17
_LOUD = ("bad", "cleaning", "unknown")


def banner_rows(story: Story, width: int, glyphs: Glyphs, notes: Row = ()) -> tuple[Row, Row]:
    """Paint both rows. `notes` (SIMULATED, PAUSED) stand here when the header has no room."""
    rows = _small(story, width, glyphs, notes) if width < COMPACT_BELOW else None
    first, second = rows or _full(story, width, glyphs, notes)
    return finished(first, width, glyphs), finished(second, width, glyphs)


def badge_style(tone: str) -> str:
    """Return the style of text on a badge."""
    text = "on-badge-loud" if tone in _LOUD else "on-badge"
    return f"{text} b on badge-{tone}"


def _symbol(story: Story, glyphs: Glyphs) -> str:
    return str(getattr(glyphs, story.symbol))


def _full(story: Story, width: int, glyphs: Glyphs, notes: Row) -> tuple[Row, Row]:
    style = badge_style(story.tone)
    badge = (left(f" {_symbol(story, glyphs)} {story.word}", BADGE), style)
    below = (left(f"   {story.since}", BADGE), style.replace(" b ", " "))
    room = width - BADGE - 2
    tint = f"tint-{story.tone}"
    headline = facts_in(story.headline, room - 1, least=1, glyphs=glyphs)
    caps = key_caps(story.keys, glyphs)
    end: Row = joined((notes, caps), ("  ", "text")) if notes else caps
    end = (*end, (" ", "text")) if end else ()
    left_room = room - row_width(end) - (1 if end else 0)
    second = facts_in(story.second, left_room, least=1, glyphs=glyphs)
    blank = ("  ", "text")
    first_row = on_background(fit((blank, *headline), width - BADGE), tint)
    second_row = on_background(spread((blank, *second), end, width - BADGE, glyphs.cut), tint)
    return (badge, *first_row), (below, *second_row)


def facts_in(facts: tuple[Row, ...], room: int, *, least: int, glyphs: Glyphs) -> Row:
    """Join facts with dots and leave out from the right what has no room.

    The first `least` facts always stay; only where even they have no room is text cut.
    """
    shown = list(facts)
    gap = (f"  {glyphs.dot}  ", "text-muted")
    while True:
        row = joined(tuple(shown), gap)
        if row_width(row) <= room or len(shown) <= least:
            return row if row_width(row) <= room else fit(row, room, glyphs.cut)
        shown.pop()


def key_caps(keys: Keys, glyphs: Glyphs) -> Row:
    """Draw filled keys with their labels; `[e]` where nothing can be filled."""
    row: Row = ()
    for key, label in keys:
        cap = f"[{key}]" if glyphs.is_ascii else f" {key} "
        row += (("  ", "text"),) if row else ()
        row += ((cap, "key b on key-cap"), (f" {label}", "text"))
    return row


def _small(story: Story, width: int, glyphs: Glyphs, notes: Row) -> tuple[Row, Row]:
    style = badge_style(story.tone)
    word: Row = ((f" {_symbol(story, glyphs)} {story.word}", style),)
    since: Row = ((f"{story.since} ", style.replace(" b ", " ")),)
    first = on_background(spread(word, since, width), f"badge-{story.tone}")
    end = notes or key_caps(story.keys[:1], glyphs)
    end = (*end, (" ", "text")) if end else ()
    if row_width(end) + row_width(story.short) + 2 > width:
        end = (*notes, (" ", "text")) if notes else ()
    start: Row = ((" ", "text"), *story.short)
    second = on_background(spread(start, end, width, glyphs.cut), f"tint-{story.tone}")
    return first, second
