"""Painted rows as Textual strips."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from gpudash.ui.paint.ansi import Depth, few_colours
from gpudash.ui.paint.spans import Row
from gpudash.ui.theme import MONO, Theme


class Ink:
    """Turns rows into strips in the colours of one theme, as far as the terminal shows them."""

    def __init__(self, theme: Theme, depth: Depth = Depth.TRUE) -> None:
        self.theme = MONO if depth is Depth.NONE else theme
        self.depth = depth
        self._styles: dict[str, Style] = {}
        self._ground = self.theme.colour("app-bg")
        # Most rows are the same from tick to tick; a strip also keeps its own render cache.
        self.strip = lru_cache(maxsize=2048)(self._strip)

    def style(self, key: str) -> Style:
        """Return the rich style of a style key."""
        known = self._styles.get(key)
        if known is None:
            known = self._styles[key] = self._made(key)
        return known

    def _made(self, key: str) -> Style:
        look = self.theme.look(key)
        front: Color | str | None = look.fg
        back: Color | str | None = look.bg or self._ground
        if self.depth is Depth.FEW and not self.theme.is_mono:
            front, back = (
                None if number is None else Color.from_ansi(number) for number in few_colours(key)
            )
        return Style(
            color=front,
            bgcolor=back,
            bold=look.is_bold or None,
            dim=look.is_dim or None,
            reverse=look.is_reversed or None,
        )

    def _strip(self, row: Row, width: int) -> Strip:
        """Return a row, which is exactly `width` cells wide, as a strip.

        Blanks show nothing but their background: they join what is before them where that is the
        same, and neighbours in one style are one piece. That is a third of all pieces.
        """
        pieces: list[Segment] = []
        last = ""
        style: Style | None = None
        for text, key in row:
            own = self.style(key)
            if style is not None and (own is style or _is_blank_on(text, own, style)):
                last += text
                continue
            if style is not None:
                pieces.append(Segment(last, style))
            last, style = text, own
        if style is not None:
            pieces.append(Segment(last, style))
        return Strip(pieces, width)


def _is_blank_on(text: str, own: Style, before: Style) -> bool:
    return (
        text.isspace() and own.bgcolor == before.bgcolor and not own.reverse and not before.reverse
    )
