"""`/`: the prompt of the filter, over the last rows; what is typed shows at once what it finds.

What is wrong is said under the character that it is about, as it is typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input

from gpudash.core.query.language import MOST_CHARACTERS, Mistake, Query, parse
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.prompt import hint_row, prompt_row
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.rows import Rows


class FilterScreen(ModalScreen[None]):
    """Asks for a filter; enter keeps it, escape goes back to what was there before."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "cancel"),
        Binding("enter", "keep", "keep", priority=True),
    ]

    def __init__(
        self,
        ink: Ink,
        glyphs: Glyphs,
        text: str,
        changed: Callable[[str, Query], str],
    ) -> None:
        """`changed` shows what a filter finds, and returns how much that is, in words."""
        super().__init__()
        self._before = text
        self._changed = changed
        self._glyphs = glyphs
        self._mistake: Mistake | None = None
        self._early = ""
        self._head = Rows(ink, id="prompt")
        self._input = Input(text, compact=True, max_length=MOST_CHARACTERS, select_on_focus=False)
        self._hint = Rows(ink, id="hint")

    def compose(self) -> ComposeResult:
        """Mount the line and what is said of it."""
        with Horizontal(id="line"):
            yield self._head
            yield self._input
        yield self._hint

    def on_mount(self) -> None:
        """Say what can be typed."""
        self._head.show((prompt_row(),), 2)
        text = self._before + self._early
        self._input.value = text
        self._input.cursor_position = len(text)
        self._input.focus()
        self._look(text)

    def on_key(self, event: events.Key) -> None:
        """Take what was typed before the line had the focus."""
        self.take(event)

    def take(self, event: events.Key) -> None:
        """Take a key that came too early for the line: nothing that was typed is lost.

        What the line itself took never comes by here.
        """
        if not event.is_printable or not event.character:
            return
        event.stop()
        event.prevent_default()
        if self._input.is_mounted:
            self._input.insert_text_at_cursor(event.character)
        else:
            self._early += event.character

    def on_resize(self) -> None:
        """Lay out at the new size."""
        self._look(self._input.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        """Show what it finds so far; with a mistake in it, what was shown before the prompt."""
        message.stop()
        self._look(message.value)

    def _look(self, text: str) -> None:
        query, self._mistake = parse(text)
        if self._mistake is None:
            found = self._changed(text, query)
        else:
            found = self._changed(self._before, parse(self._before)[0])
        width = max(1, self.app.size.width)
        self._hint.show((hint_row(text, self._mistake, found, width, self._glyphs),), width)

    def action_keep(self) -> None:
        """Keep the filter; one with a mistake is not done yet."""
        if self._mistake is None:
            self.dismiss()
        else:
            self.app.bell()
            self._input.cursor_position = self._mistake.at

    def action_cancel(self) -> None:
        """Show what was shown before."""
        self._changed(self._before, parse(self._before)[0])
        self.dismiss()
