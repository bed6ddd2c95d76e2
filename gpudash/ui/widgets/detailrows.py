"""A whole screen as rows that can be pointed at."""

from __future__ import annotations

from textual import events
from textual.message import Message

from gpudash.ui.widgets.keyed import KeyedRows


class DetailRows(KeyedRows):
    """The whole screen as rows; says which row was clicked where there is no key."""

    class RowClicked(Message):
        """A row was clicked."""

        def __init__(self, y: int) -> None:
            super().__init__()
            self.y = y

    def on_click(self, event: events.Click) -> None:
        """Tell of the row; of keys tells what this is made from, which gets the click as well."""
        self.post_message(self.RowClicked(event.y))
