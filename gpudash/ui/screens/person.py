"""What only a person can say: a password or code for a login, and whether a host key is right."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from gpudash.core.hostkeys import OfferedKey
from gpudash.core.names import clean_text

GUARD_S = 0.4
"""A key pressed before the dialog could be read decides nothing."""
SAVE = "save"
ONCE = "once"


class QuestionScreen(ModalScreen[str | None]):
    """One question of a login; what is typed is hidden unless the host wants it seen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "refuse", "cancel")]

    def __init__(self, place: str, prompt: str, *, is_seen: bool) -> None:
        super().__init__()
        self._place = clean_text(place, 80)
        self._prompt = clean_text(prompt, 200)
        self._is_seen = is_seen

    def compose(self) -> ComposeResult:
        """Mount the question and one line to answer in."""
        page = Vertical(
            Static(self._prompt, markup=False),
            Input(password=not self._is_seen, select_on_focus=False),
            classes="dialog",
        )
        page.border_title = f"{self._place} asks".replace("[", "\\[")
        page.border_subtitle = "enter sends · esc cancels"
        yield page

    def on_mount(self) -> None:
        """Be ready to type."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the answer; the field keeps nothing."""
        answer = event.value
        event.input.clear()
        self.dismiss(answer)

    def action_refuse(self) -> None:
        """Give no answer."""
        self.dismiss(None)

    def withdraw(self) -> None:
        """Go away: nobody waits for the answer any more."""
        if self.is_current:
            self.dismiss(None)


class HostKeyScreen(ModalScreen[str | None]):
    """An unknown host key: nothing was sent to that host yet."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide('save')", "accept and save"),
        Binding("o", "decide('once')", "accept once"),
        Binding("n,escape", "decide('')", "refuse"),
    ]

    def __init__(self, host: str, offered: OfferedKey) -> None:
        super().__init__()
        self._host = clean_text(host, 80)
        self._offered = offered
        self._is_armed = False

    def compose(self) -> ComposeResult:
        """Mount the fingerprint and what can be decided."""
        offered = self._offered
        lines = (
            f"The key of {clean_text(offered.host, 80)} is not known here.",
            "",
            f"  {clean_text(offered.algorithm, 40)}  {clean_text(offered.fingerprint, 80)}",
            "",
            "Compare it with what whoever runs the host tells you. Nothing was sent to it yet.",
            "",
            f"  y  accept, and save it in {clean_text(offered.file, 80)}",
            "  o  accept for this run only",
            "  n  refuse",
        )
        page = Vertical(Static("\n".join(lines), markup=False), classes="dialog")
        page.border_title = f"{self._host}: unknown host key".replace("[", "\\[")
        page.border_subtitle = "y save · o once · esc refuses"
        yield page

    def on_mount(self) -> None:
        """Take no decision for a moment."""
        self.set_timer(GUARD_S, self.arm)

    def arm(self) -> None:
        """Take decisions from now on."""
        self._is_armed = True

    def action_decide(self, decision: str) -> None:
        """Return what was decided; refusing is possible at once."""
        if self._is_armed or not decision:
            self.dismiss(decision or None)
