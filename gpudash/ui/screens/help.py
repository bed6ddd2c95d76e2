"""`?`: every key with its sentence, what colours and words mean."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from gpudash.ui.actions import ACTIONS

_WORDS = (
    ("blue", "yours and alive"),
    ("violet", "someone else's"),
    ("amber", "unknown: no process found, or no answer yet"),
    ("green", "zero"),
    ("■ IN USE", "memory is held, and every holder is alive and known"),
    ("× NOT CLEAR", "unexplained memory, a dead holder, a lost GPU, one that needs a reset"),
    ("? UNKNOWN", "a reading is missing: nothing can be proven zero"),
    ("□ ZERO", "one reading of 0 MiB on every GPU; it says nothing of the next second"),
)


class HelpScreen(ModalScreen[None]):
    """All keys and words."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "close"),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Mount one scrolling page."""
        page = VerticalScroll(Static(self._text(), markup=False), classes="dialog", id="page")
        page.border_title = "help"
        page.border_subtitle = "esc closes"
        yield page

    @staticmethod
    def _text() -> str:
        keys = [
            (" ".join(_spelled(key) for key in entry.keys.split(",")), entry.help)
            for entry in ACTIONS
        ]
        lines = ["Keys", ""]
        lines += [f"  {key:<18}{words}" for key, words in keys]
        lines += ["", "Colours say who, letters say which family, words say what", ""]
        lines += [f"  {word:<18}{meaning}" for word, meaning in _WORDS]
        lines += ["", "A click on a GPU moves the cursor, a click on a key presses it."]
        return "\n".join(lines)

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.query_one("#page", VerticalScroll).scroll_relative(y=step, animate=False)


def _spelled(key: str) -> str:
    return {"question_mark": "?", "up": "↑", "down": "↓"}.get(key, key)
