"""The plan of a cleanup over the screen before: it takes few keys, and none typed ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from gpudash.core.cleanup.plan import FamilyId, Plan
from gpudash.ui.keystrokes import ALONE_S, Keystrokes
from gpudash.ui.paint.plandialog import (
    FOLDED_BELOW,
    PlanView,
    dialog_size,
    overflow,
    plan_dialog,
)
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.keyed import KeyedRows

Turned = frozenset[tuple[str, FamilyId]]
_UP = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -8, "pagedown": 8}


class PlanScreen(ModalScreen[None]):
    """Shows a plan that does not move, and takes what is decided about it."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(
        self,
        ink: Ink,
        keys: Keystrokes,
        now: Callable[[], float],
        agree: Callable[[tuple[Plan, ...], Turned], None],
        cancel: Callable[[], None],
    ) -> None:
        """`agree` gets the plans as they were on the screen, and the families that were turned."""
        super().__init__()
        self._rows = KeyedRows(ink, blank="text on raised")
        self._keys = keys
        self._now = now
        self._agree = agree
        self._cancel = cancel
        self._view = PlanView()
        self._toggled: Turned = frozenset()
        self._top = 0
        self._is_folded: bool | None = None
        self._painted_s: float | None = None
        self._has_decided = False

    @property
    def view(self) -> PlanView:
        """Return what is shown."""
        return self._view._replace(toggled=self._toggled, top=self._top, is_folded=self._folds())

    def compose(self) -> ComposeResult:
        """Mount the rows; their size comes with the first view."""
        yield self._rows

    def on_mount(self) -> None:
        """Draw before anything is seen."""
        self._draw()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw at the new size."""
        self._draw()

    def show(self, view: PlanView) -> None:
        """Show this; another plan than before takes no key until it was read, too."""
        before = self._view.digests
        self._view = view
        if view.digests != before:
            self._toggled, self._top, self._painted_s = frozenset(), 0, None
        if self.is_mounted:
            self._draw()

    def _folds(self) -> bool:
        if self._is_folded is None:
            return self.app.size.height < FOLDED_BELOW
        return self._is_folded

    def _draw(self) -> None:
        across, down = self.app.size
        width, height = dialog_size(across, down, self.view)
        most = overflow(self.view, width, height, down)
        self._top = max(0, min(self._top, most))
        rows = plan_dialog(self.view, width, height, down)
        self._rows.styles.width, self._rows.styles.height = width, len(rows)
        self._rows.show(rows, width)
        if self._painted_s is None and self._view.plans and not self._view.is_looking:
            self.call_after_refresh(self._was_painted)

    def _was_painted(self) -> None:
        if self._painted_s is None and self._view.plans:
            self._painted_s = self._now()

    # -- what is decided -----------------------------------------------------------------------

    def action_cancel(self) -> None:
        """Touch nobody; that is possible at once."""
        if not self._has_decided:
            self._has_decided = True
            self._cancel()

    def on_key(self, event: events.Key) -> None:
        """Take a key that was meant; all others are nobody's."""
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        if event.key in _UP:
            self._top = max(0, self._top + _UP[event.key])
            self._draw()
        elif self._keys.is_meant_for(self._painted_s):
            self._consider(event.character or "")

    def on_paste(self, event: events.Paste) -> None:
        """Take no pasted text for keys."""
        event.stop()

    def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does; nothing is confirmed by a click."""
        message.stop()
        if message.key == "esc":
            self.action_cancel()
        elif message.key != "y" and self._painted_s is not None:
            self._turn(message.key)

    def _consider(self, key: str) -> None:
        """Wait whether more follows: then it was a paste, whatever its letters are.

        What a key means is what was on the screen when it was pressed.
        """
        count, seen = self._keys.count, self.view
        self.set_timer(ALONE_S, lambda: self._decide(key, count, seen))

    def _decide(self, key: str, count: int, seen: PlanView) -> None:
        if count != self._keys.count or self._painted_s is None or self._has_decided:
            return
        if seen.digests != self._view.digests:
            return
        if key == "y":
            if any(seen.picked(plan) for plan in seen.plans):
                self._has_decided = True
                self._agree(seen.plans, seen.toggled)
            return
        self._turn(key)

    def _turn(self, key: str) -> None:
        if key == "d":
            self._is_folded = not self._folds()
        for one in self._view.toggles:
            if one.key == key:
                self._toggled ^= {(one.host, one.family)}
        self._draw()
