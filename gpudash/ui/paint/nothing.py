"""What stands in place of the hosts where a filter hides all of them."""

from __future__ import annotations

from gpudash.core.model import Fleet
from gpudash.ui.paint import box
from gpudash.ui.paint.columns import is_compact
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, finished, outside
from gpudash.ui.paint.view import Chosen


def nothing_rows(chosen: Chosen, fleet: Fleet, width: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Paint three rows: how many match, and the key that shows all."""
    words = f'{chosen.counted(fleet)} match "{outside(chosen.filter, 60)}"'
    row: Row = ((f" {words}   ", "text-strong"), ("esc", "key b"), (" shows all", "text-muted"))
    if is_compact(width):
        return tuple(finished(one, width, glyphs) for one in ((), row, ()))
    rows = (
        box.top((), (), width, "border", glyphs),
        box.side(row, width, "border", glyphs),
        box.bottom((), (), width, "border", glyphs),
    )
    return tuple(finished(one, width, glyphs) for one in rows)
