"""What a plan leaves: each GPU now and afterwards, in cells and in words."""

from __future__ import annotations

from collections.abc import Callable

from gpudash.core.cleanup.forecast import Forecast, forecast
from gpudash.core.cleanup.plan import FamilyId, Plan
from gpudash.core.model import Owner
from gpudash.core.units import format_memory, plural
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, left, row_width

_CELL_OF = {
    Owner.MINE: "on-cell b on cell-alive",
    Owner.LEFTOVER: "on-cell b on cell-leftover",
    Owner.FOREIGN: "on-cell b on cell-foreign",
    Owner.UNKNOWN: "on-badge-loud b on badge-unknown",
}
_EMPTY_NOW = "text-muted on bar-track"
_ZERO = "on-cell b on cell-clear"
_MARK_OF = {Owner.MINE: "#", Owner.LEFTOVER: "%", Owner.FOREIGN: "=", Owner.UNKNOWN: "?"}
_MOST_CELLS = 16


def result_rows(
    plans: tuple[Plan, ...],
    picked: Callable[[Plan], frozenset[FamilyId]],
    width: int,
    glyphs: Glyphs,
) -> tuple[Row, ...]:
    """Paint `now` and `after`; nothing without a plan."""
    if not plans:
        return ()
    cells = [one for plan in plans for one in forecast(plan, picked(plan))]
    now, after = _now(cells), _after(cells)
    label = 16 if width >= 98 else 9
    first: Row = ((left("  result", label), "text-muted"), ("now    ", "text-muted"))
    second: Row = ((" " * label, "text"), ("after  ", "text"))
    if len(plans) == 1 and len(cells) <= _MOST_CELLS:
        drawn = _drawn(cells, is_after=False, gap=_gap(len(cells), width), glyphs=glyphs)
        if row_width(first) + row_width(drawn) + row_width(after) + 2 <= width:
            first = (*first, *drawn, ("  ", "text"))
            drawn = _drawn(cells, is_after=True, gap=_gap(len(cells), width), glyphs=glyphs)
            second = (*second, *drawn, ("  ", "text"))
    return (*first, *now), (*second, *after)


def _gap(cells: int, width: int) -> int:
    return 2 if width >= 98 and cells <= 8 else 0


def _drawn(cells: list[Forecast], *, is_after: bool, gap: int, glyphs: Glyphs) -> Row:
    spans: Row = ()
    for one in cells:
        owner = one.left_owner if is_after else one.owner
        if one.is_open:
            owner = Owner.UNKNOWN
        style = _CELL_OF[owner] if owner else _ZERO if is_after else _EMPTY_NOW
        mark = "?" if one.is_open else ""
        if glyphs.has_patterns:
            mark = _MARK_OF[owner] if owner else "o"
        text = f"{one.index}{mark}".center(3)
        spans += ((text, style), (" " * gap, "text"))
    return spans


def _now(cells: list[Forecast]) -> Row:
    held = [one for one in cells if one.owner]
    total = format_memory(sum(one.used_bytes for one in cells))
    return ((f"{total} on {plural(len(held), 'GPU')}", "text"),)


def _after(cells: list[Forecast]) -> Row:
    zero = sum(one.left_owner is None and not one.is_open for one in cells)
    stay = [one for one in cells if one.left_owner is not None]
    unknown = sum(one.is_open for one in cells)
    row: Row = ((f"{plural(zero, 'GPU')} at zero", "clear b" if zero else "text-muted"),)
    if stay:
        words = f"{format_memory(sum(one.left_bytes for one in stay))}"
        row = (*row, (f"; {words} stay{'s' if len(stay) == 1 else ''}", "text"))
    return (*row, (f"; {plural(unknown, 'GPU')} can't be told", "unknown")) if unknown else row
