"""`i` in the details: the environment of one process, its secrets masked on its host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from gpudash.core.masking import MASK
from gpudash.core.names import clean_text
from gpudash.sources.base import SourceError
from gpudash.ui.bindings import bound
from gpudash.ui.giving import copy_out
from gpudash.ui.screens.page import SIMULATED, PageScreen

Variables = tuple[tuple[str, str], ...]
NOTE = (
    f"What looks like a secret reads {MASK}, and never left its host.\n"
    "This is what the process began with: what it changed since is not seen."
)


class EnvironmentScreen(PageScreen):
    """Asks when it opens; shows names and values in the order of their names."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,i,q,enter", "dismiss", "close"),
        bound("text.copy", "copy"),
    ]

    def __init__(
        self, title: str, ask: Callable[[], Awaitable[Variables]], *, is_simulated: bool
    ) -> None:
        super().__init__(title, "y copies · esc closes", is_simulated=is_simulated)
        self._ask = ask
        self._mark = SIMULATED if is_simulated else ""
        self._area = TextArea(
            "asking …",
            read_only=True,
            show_cursor=False,
            show_line_numbers=False,
            highlight_cursor_line=False,
            soft_wrap=True,
            id="page",
        )

    def compose_page(self) -> ComposeResult:
        """Mount one read-only text."""
        yield self._area

    def on_mount(self) -> None:
        """Lay out, and ask."""
        super().on_mount()
        self.run_worker(self._fill())

    async def _fill(self) -> None:
        try:
            found = await self._ask()
        except SourceError as error:
            self._area.text = f"{error}\n{error.hint}".strip()
            return
        self._area.text = environment_text(found)

    def action_scroll_page(self, step: int) -> None:
        """Scroll by lines."""
        self._area.scroll_relative(y=step, animate=False)

    def action_copy(self) -> None:
        """Copy what is selected, or all."""
        text = self._area.selected_text or self._area.text
        self.run_worker(copy_out(self.app, f"{self._mark}\n\n{text}" if self._mark else text))


def environment_text(found: Variables) -> str:
    """Return an environment as lines of text."""
    lines = [
        f"{clean_text(name, 200)}={clean_text(value, 400)}" if name else clean_text(value)
        for name, value in sorted(found, key=lambda row: (not row[0], row[0]))
    ]
    return "\n".join([*(lines or ["It is empty."]), "", NOTE])
