"""The page behind `?`: every key with its sentence, what colours and words mean."""

from __future__ import annotations

from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, cell_width, finished, left, wrapped

Entry = tuple[str, str, str]
"""A key or word, its style key, and what it means."""

_NARROW = 60


def colour_entries(glyphs: Glyphs) -> tuple[Entry, ...]:
    """Return what the colours of bars and letters say."""
    use, hatch = glyphs.use, glyphs.hatch
    if glyphs.has_patterns:
        return (
            ("#", "alive b", "yours and alive"),
            (hatch, "leftover b", "yours and left over: its purpose is gone"),
            ("=", "foreign b", "someone else's"),
            ("?", "unknown b", "whose it is was not told"),
            (hatch, "unknown b", "a dead pid, or memory that no process accounts for"),
        )
    return (
        (f"{use} blue", "alive b", "yours and alive"),
        (f"{use} red", "leftover b", "yours and left over: its purpose is gone"),
        (f"{use} violet", "foreign b", "someone else's"),
        (f"{use} amber", "unknown b", "whose it is was not told"),
        (f"{hatch} hatched", "unknown b", "a dead pid, or memory that no process accounts for"),
    )


def word_entries(glyphs: Glyphs) -> tuple[Entry, ...]:
    """Return what the words of the banner mean."""
    return (
        (f"{glyphs.use} IN USE", "alive b", "memory is held, and every holder is known"),
        (
            f"{glyphs.bad} NOT CLEAR",
            "leftover b",
            "leftovers, unexplained memory, a lost GPU, or one that needs a reset",
        ),
        ("? UNKNOWN", "unknown b", "a reading is missing: nothing can be proven zero"),
        (
            f"{glyphs.zero} ZERO",
            "holding b",
            "one reading of 0 MiB on every GPU; it says nothing of the next second",
        ),
        (f"{glyphs.zero} HOLDING", "holding b", "every GPU reads 0 MiB, and has to for 10 s"),
        (
            f"{glyphs.clear} ALL CLEAR",
            "clear b",
            "0 MiB in every reading of the hold, and in each one since",
        ),
        (f"{glyphs.going} CLEANING", "unknown b", "families of a confirmed plan are being ended"),
        (f"{glyphs.going} STARTING", "alive b", "a family of yours took memory and is on its way"),
        (f"{glyphs.clear} READY", "clear b", "a start-up is ready: for a minute"),
        (f"{glyphs.bad} FAILED", "leftover b", "a start-up failed: for a minute, with its cause"),
        (f"{glyphs.waiting} PAUSED", "unknown b", "values stand still because you asked for it"),
    )


def help_rows(keys: tuple[tuple[str, str], ...], width: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Paint the page. `keys`: keys as written on the screen, and a sentence for each."""
    entries = tuple((key, "key b", words) for key, words in keys)
    sections = (
        ("Keys", entries),
        ("Colours say who, letters say which family", colour_entries(glyphs)),
        ("Words say what", word_entries(glyphs)),
    )
    column = 3 + max(cell_width(one[0]) for _, section in sections for one in section)
    rows: list[Row] = []
    for title, section in sections:
        rows += [(), ((f" {title}", "text-strong b"),)] if rows else [_title(title)]
        for entry in section:
            rows += _entry(entry, column, width)
    rows.append(())
    closing = "A click on a GPU moves the cursor, a click on a key presses it."
    rows += [((f" {line}", "text-muted"),) for line in wrapped(closing, width - 2)]
    return tuple(finished(row, width, glyphs) for row in rows)


def _title(text: str) -> Row:
    return ((f" {text}", "text-strong b"),)


def _entry(entry: Entry, column: int, width: int) -> list[Row]:
    """Lay out one entry: sentences hang beside their key, on a narrow screen below it."""
    name, style, words = entry
    if width < _NARROW:
        return [
            ((f"  {name}", style),),
            *(((f"    {line}", "text"),) for line in wrapped(words, width - 5, 4)),
        ]
    first, *more = wrapped(words, width - column - 3, 4)
    return [
        ((f"  {left(name, column)}", style), (first, "text")),
        *(((" " * (column + 2) + line, "text"),) for line in more),
    ]
