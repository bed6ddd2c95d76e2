"""Rows with keys in them: a click on a key does what the key does."""

from __future__ import annotations

from textual import events
from textual.message import Message

from gpudash.ui.clicks import key_at
from gpudash.ui.widgets.rows import Rows


class KeyedRows(Rows):
    """Rows among which are the banner or the footer."""

    class KeyClicked(Message):
        """A key was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def on_click(self, event: events.Click) -> None:
        """Tell which key was clicked."""
        if event.y < len(self.rows):
            key = key_at(self.rows[event.y], event.x)
            if key is not None:
                self.post_message(self.KeyClicked(key))
