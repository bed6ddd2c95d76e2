"""GPU memory below the steps of a start-up, on their axis."""

from __future__ import annotations

from statistics import median

from gpudash.core.startup.model import Outcome
from gpudash.core.startup.timeline import Timeline
from gpudash.core.units import gib
from gpudash.ui.paint.spans import Row, left
from gpudash.ui.paint.startupaxis import Axis, joined_cells, put_now
from gpudash.ui.paint.startupview import Curve, StartupView

MEMORY_LEAST = 4
"""Rows: with fewer a curve says nothing."""


def air_row(view: StartupView, line: Timeline, axis: Axis) -> Row:
    """Paint a row with nothing but the line at now."""
    cells = [(" ", "text")] * axis.width
    put_now(view, line, axis, cells)
    return ((" " * axis.label, "text"), *joined_cells(cells))


def memory_rows(view: StartupView, line: Timeline, axis: Axis, height: int) -> list[Row]:
    """Paint the curve of memory, and the earlier run\'s behind now."""
    one = view.followed
    total = max((view.totals.get(gpu, 0) for gpu in one.memory), default=0)
    (now,) = medians(view, [one.now_s - one.started_s])
    peak = max((used for curve in one.memory.values() for _, used in curve), default=0)
    top = total or max(peak, 1)
    begun = one.started_s - line.zero_s
    until = axis.column(line.now)
    times = [(at + 1) / axis.width * axis.seconds - begun for at in range(until + 1)]
    heights = [min(1.0, (seen or 0) / top) for seen in medians(view, times)]
    curves: list[Curve] = []
    before = one.earlier.memory if one.earlier is not None else ()
    is_open = one.startup.outcome is Outcome.STARTING
    if before and is_open:
        curves.append(_expected(before, line, axis, top, heights[-1] if heights else 0.0))
    style = "leftover-bar" if one.startup.outcome is Outcome.FAILED else "alive-bar"
    curves.append((0, tuple(heights), style))
    drawn = view.chart(tuple(curves), axis.width, height)
    return [
        (
            *_memory_label(number, axis),
            *_with_now(view, line, axis, row),
            *_memory_words(number, height, top, total, now, max((b for _, b in before), default=0)),
        )
        for number, row in enumerate(drawn)
    ]


def _expected(
    before: tuple[tuple[float, int], ...], line: Timeline, axis: Axis, top: int, now: float
) -> Curve:
    """Return the earlier run's curve behind now, shifted by what this one is late."""
    first = axis.column(line.now) + 1
    last_s = before[-1][0]
    shift = (line.expected_end or last_s) - last_s
    heights = []
    for at in range(first, axis.width):
        then = (at + 0.5) / axis.width * axis.seconds
        if then > (line.expected_end or last_s):
            break
        used = max((b for s, b in before if s <= then - shift), default=0)
        heights.append(min(1.0, max(now, used / top)))
    return first, tuple(heights), "bar-plan"


def medians(view: StartupView, times: list[float]) -> list[int | None]:
    """Return the median over the GPUs at each of these times since it began, ascending.

    None where nothing is known yet.
    """
    columns: list[list[int]] = [[] for _ in times]
    for curve in view.followed.memory.values():
        at, held = 0, None
        for column, when in zip(columns, times, strict=True):
            while at < len(curve) and curve[at][0] <= when:
                held = curve[at][1]
                at += 1
            if held is not None:
                column.append(held)
    return [int(median(column)) if column else None for column in columns]


def _memory_label(number: int, axis: Axis) -> Row:
    if number == 0:
        return ((left(" GPU memory", axis.label), "text-strong b"),)
    if number == 1:
        words = " per GPU, median" if axis.label >= 17 else " median"
        return ((left(words, axis.label), "text-muted"),)
    return ((" " * axis.label, "text"),)


def _memory_words(
    number: int, height: int, top: int, total: int, now: int | None, before: int
) -> Row:
    """Write the amounts where they are: the limit at the top, now beside the curve's end."""

    def row_of(used: int) -> int:
        return max(0, min(height - 1, height - 1 - int(used / top * height - 1e-9)))

    words: dict[int, Row] = {}
    if now is not None:
        words[row_of(now)] = ((f" {gib(now)} GiB", "text-strong b"), (" now", "text-muted"))
    if before and row_of(before) not in words:
        words[row_of(before)] = ((f" {gib(before)} GiB", "text"), (" before", "text-muted"))
    if total and 0 not in words:
        words[0] = ((f" {gib(total)} GiB", "text-muted"), (" limit", "text-muted"))
    return words.get(number, ())


def _with_now(view: StartupView, line: Timeline, axis: Axis, row: Row) -> Row:
    cells = [(char, style) for text, style in row for char in text][: axis.width]
    if len(cells) == axis.width:
        put_now(view, line, axis, cells)
    return joined_cells(cells)
