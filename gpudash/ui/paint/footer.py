"""The last row: keys of this screen, by use; what has no room is dropped, help and quit last."""

from __future__ import annotations

from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, finished, row_width
from gpudash.ui.paint.story import Keys

_KEPT = ("?", "q")


def footer_row(keys: Keys, width: int, glyphs: Glyphs) -> Row:
    """Paint the footer."""
    shown = list(keys)
    while True:
        row = _drawn(shown)
        dropped = next((one for one in reversed(shown) if one[0] not in _KEPT), None)
        if row_width(row) <= width or dropped is None:
            return finished(row, width, glyphs)
        shown.remove(dropped)


def _drawn(keys: list[tuple[str, str]]) -> Row:
    row: Row = ((" ", "text"),)
    for position, (key, label) in enumerate(keys):
        row += (("  ", "text"),) if position else ()
        row += ((key, "key b"), (f" {label}", "text-muted"))
    return row
