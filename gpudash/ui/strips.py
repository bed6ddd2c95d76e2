"""Painted rows as Textual strips."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from gpudash.ui.paint.spans import Row
from gpudash.ui.theme import Theme


class Ink:
    """Turns rows into strips in the colours of one theme."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._styles: dict[str, Style] = {}
        self._ground = theme.colour("app-bg")
        # Most rows are the same from tick to tick; a strip also keeps its own render cache.
        self.strip = lru_cache(maxsize=2048)(self._strip)

    def style(self, key: str) -> Style:
        """Return the rich style of a style key."""
        known = self._styles.get(key)
        if known is None:
            look = self.theme.look(key)
            known = self._styles[key] = Style(
                color=look.fg,
                bgcolor=look.bg or self._ground,
                bold=look.is_bold or None,
                dim=look.is_dim or None,
                reverse=look.is_reversed or None,
            )
        return known

    def _strip(self, row: Row, width: int) -> Strip:
        """Return a row, which is exactly `width` cells wide, as a strip."""
        return Strip([Segment(text, self.style(key)) for text, key in row], width)
