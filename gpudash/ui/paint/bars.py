"""Memory bars and sparklines.

Bars have a fixed scale from 0 to the total: anything above zero shows, and a bar is full only
when every byte is used. Drawing is cached by what can be seen, so a value that moves by less
than an eighth of a cell costs nothing.
"""

from __future__ import annotations

from functools import lru_cache

from gpudash.ui.paint.glyphs import PATTERNS, Glyphs
from gpudash.ui.paint.spans import Row, Span

Part = tuple[str, bool, int]
"""Theme variable of the bar, hatched or not, bytes."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def memory_bar(
    width: int,
    parts: tuple[Part, ...],
    used: int | None,
    total: int | None,
    *,
    stacked: bool,
    glyphs: Glyphs,
) -> Row:
    """Draw who holds how much of one GPU.

    `parts` are drawn in their order and share the length that `used` gives. `stacked` bars
    leave air to the row below and end on whole cells. Unknown memory is dots, never empty.
    """
    if width <= 0:
        return ()
    if used is None or not total or total < 0:
        return ((glyphs.nothing * width, "decor"),)
    used = min(max(used, 0), total)
    eighths = _end_in_eighths(width, used, total)
    shown = tuple(part for part in parts if part[2] > 0)
    if not shown:
        shown = (("unknown-bar", True, used),)
    in_eighths = not (stacked or glyphs.has_patterns or shown[-1][1])
    if not in_eighths:
        eighths = _whole_cells(width, eighths, used, total) * 8
    bounds = _bounds(tuple(part[2] for part in shown), eighths)
    cells = tuple((shown[i][0], shown[i][1], bound) for i, bound in enumerate(bounds))
    return _drawn(width, cells, eighths, stacked, glyphs)


def with_ghost(bar: Row, width: int, before: int, total: int | None) -> Row:
    """Return a bar with the memory that was given back drawn as a shadow of what it was."""
    if not total or before <= 0:
        return bar
    end = max(1, min(width, round(width * before / total)))
    spans: list[Span] = []
    at = 0
    for text, style in bar:
        inside = max(0, min(len(text), end - at))
        if "bar-track" in style and inside:
            spans.append((text[:inside], style.replace("bar-track", "bar-ghost")))
            text = text[inside:]
            at += inside
        if text:
            spans.append((text, style))
        at += len(text)
    return tuple(spans)


def _end_in_eighths(width: int, used: int, total: int) -> int:
    if used == 0:
        return 0
    if used == total:
        return width * 8
    return max(2, min(round(width * 8 * used / total), width * 8 - 1))


def _whole_cells(width: int, eighths: int, used: int, total: int) -> int:
    if used in (0, total):
        return eighths // 8
    return max(1, min((eighths + 4) // 8, width - 1))


def _bounds(sizes: tuple[int, ...], eighths: int) -> tuple[int, ...]:
    """Return where each part ends, in whole cells; the last end is the bar's, rounded up."""
    end = -(-eighths // 8)
    count = min(len(sizes), end)
    if count == 0:
        return ()
    whole = sum(sizes)
    bounds: list[int] = []
    so_far = previous = 0
    for number in range(count - 1):
        so_far += sizes[number]
        at = round(eighths / 8 * so_far / whole)
        previous = max(previous + 1, min(at, end - (count - 1 - number)))
        bounds.append(previous)
    return (*bounds, end)


@lru_cache(maxsize=4096)
def _drawn(
    width: int,
    cells: tuple[tuple[str, bool, int], ...],
    eighths: int,
    stacked: bool,
    glyphs: Glyphs,
) -> Row:
    spans: list[Span] = []
    start = 0
    under = "" if stacked or glyphs.has_patterns else " on bar-track"
    for style, is_hatched, end in cells:
        rest = eighths - start * 8 if end * 8 > eighths else 0
        full = (end - start) - (1 if rest else 0)
        char = _fill(style, is_hatched, stacked, glyphs)
        text = char * full
        if rest:
            text = char * (rest // 8) + _EIGHTHS[rest % 8]
        spans.append((text, style + under))
        start = end
    if start < width:
        spans.append(_track(width - start, stacked, glyphs))
    return tuple(span for span in spans if span[0])


def _fill(style: str, is_hatched: bool, stacked: bool, glyphs: Glyphs) -> str:
    if is_hatched:
        return glyphs.hatch
    if glyphs.has_patterns:
        return PATTERNS.get(style, "#")
    return "▆" if stacked else "█"


def _track(width: int, stacked: bool, glyphs: Glyphs) -> Span:
    if glyphs.has_patterns:
        return "." * width, "decor"
    if stacked:
        return "▆" * width, "bar-track"
    return " " * width, "text on bar-track"


@lru_cache(maxsize=4096)
def sparkline(values: tuple[int | None, ...], *, is_old: bool, glyphs: Glyphs) -> Row:
    """Draw percentages on a fixed scale from 0 to 100, oldest first; None is a gap."""
    return _columns(tuple(_column(value, glyphs) for value in values), is_old=is_old)


@lru_cache(maxsize=4096)
def chart_row(
    values: tuple[int | None, ...], row: int, rows: int, *, is_old: bool, glyphs: Glyphs
) -> Row:
    """Draw one row, counted from the bottom, of a chart of percentages from 0 to 100.

    The topmost row leaves air under the bar above it, as a sparkline does.
    """
    cells = tuple(_chart_cell(value, row, rows, glyphs) for value in values)
    return _columns(cells, is_old=is_old)


def _columns(cells: tuple[tuple[str, str], ...], *, is_old: bool) -> Row:
    spans: list[Span] = []
    text = style = ""
    for char, colour in cells:
        if is_old and colour not in ("decor", "text"):
            colour = "stale-bar"
        if colour != style and text:
            spans.append((text, style))
            text = ""
        text += char
        style = colour
    if text:
        spans.append((text, style))
    return tuple(spans)


def _chart_cell(value: int | None, row: int, rows: int, glyphs: Glyphs) -> tuple[str, str]:
    """Return a cell of a chart; its colour says how high it stands."""
    if value is None or value <= 0:
        return _column(value, glyphs) if row == 0 else (" ", "text")
    levels = glyphs.chart
    steps = len(levels)
    top = (rows - 1) * steps + min(len(glyphs.spark), steps)
    level = min(max(1, -(-min(value, 100) * top // 100)) - row * steps, steps)
    if level <= 0:
        return " ", "text"
    height = min(value, 100 * ((row + 1) * steps) // top)
    return levels[level - 1], "spark-1" if height < 34 else "spark-2" if height < 67 else "spark-3"


def _column(value: int | None, glyphs: Glyphs) -> tuple[str, str]:
    if value is None:
        return glyphs.nothing, "decor"
    levels = glyphs.spark
    if value <= 0:
        return levels[0], "spark-base"
    value = min(value, 100)
    first = 1 if glyphs.is_ascii else 0
    steps = len(levels) - first
    level = levels[first + min(-(-value * steps // 100), steps) - 1]
    return level, "spark-1" if value < 34 else "spark-2" if value < 67 else "spark-3"
