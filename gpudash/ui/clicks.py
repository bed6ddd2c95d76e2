"""Which key a click was on: rows say it by their styles."""

from __future__ import annotations

from gpudash.ui.paint.spans import Row, cell_width


def key_at(row: Row, x: int) -> str | None:
    """Return the key whose cap or label is at a column of a painted row, or None.

    A key is a span in style `key b` or on `key-cap`; what follows up to a gap is its label.
    """
    at = 0
    key: str | None = None
    for text, style in row:
        word = text.strip()
        if style == "key b" or style.endswith("on key-cap"):
            key = word
        elif not word or style.endswith("border"):
            key = key if len(text) < 2 else None
        if at <= x < at + cell_width(text):
            return key
        at += cell_width(text)
    return None
