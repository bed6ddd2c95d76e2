"""`?`: every key with its sentence, what colours and words mean."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from gpudash.core.actions import Action
from gpudash.ui.bindings import bound
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.help import help_rows
from gpudash.ui.paint.spans import on_background
from gpudash.ui.screens.page import Page, PageScreen
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.rows import Rows


class HelpScreen(PageScreen):
    """All keys and words."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "dismiss", "close"),
        bound("app.help", "dismiss"),
        bound("app.quit", "dismiss"),
    ]

    def __init__(
        self,
        ink: Ink,
        glyphs: Glyphs,
        actions: tuple[Action, ...],
        *,
        is_simulated: bool = False,
    ) -> None:
        """`actions` are those that this run offers, with their keys."""
        super().__init__("help", "esc closes", is_simulated=is_simulated)
        self._ink = ink
        self._glyphs = glyphs
        self._actions = actions
        self._rows = Rows(ink, blank="text on raised")

    def compose_page(self) -> ComposeResult:
        """Mount one scrolling page of painted rows."""
        yield Page(self._rows)

    def lay_out(self, width: int) -> None:
        """Paint the page at a width."""
        keys = tuple((entry.shown, entry.help) for entry in self._actions)
        rows = tuple(on_background(row, "raised") for row in help_rows(keys, width, self._glyphs))
        self._rows.styles.height = len(rows)
        self._rows.show(rows, width)
