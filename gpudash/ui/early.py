"""The terminal before Textual has it, and after: one plain frame, and order whatever happens.

Textual takes 0.2 to 0.6 s to import. The first readings are there sooner, so the same painters
draw them at once; Textual then paints the same screen over it without clearing.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

from gpudash.core.actions import Situation
from gpudash.services.clock import SystemClock
from gpudash.sources.terminal import Modes, restore, without_echo
from gpudash.ui.actions import DEFAULT_ACTIONS, Actions
from gpudash.ui.leaving import LEAVE, LastResort
from gpudash.ui.paint.ansi import Depth, to_ansi
from gpudash.ui.paint.frame import FrameView, frame_rows

if TYPE_CHECKING:
    from gpudash.core.model import Fleet
    from gpudash.ui.paint.glyphs import Glyphs
    from gpudash.ui.paint.view import Density
    from gpudash.ui.theme import Theme

ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H"


class EarlyScreen:
    """Owns the terminal's modes; a context manager that gives them back."""

    def __init__(self) -> None:
        self.is_drawn = False
        """A frame stands on the alternate screen."""
        self.is_handed_over = False
        """Textual has the screen, and leaves it by itself."""
        self.last_resort = LastResort(self._restore)
        self._modes: Modes | None = None

    def __enter__(self) -> EarlyScreen:
        """Be ready to leave in order when told to."""
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._leave)
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_drawn and not self.is_handed_over:
            with suppress(OSError):
                sys.stdout.write(LEAVE)
                sys.stdout.flush()
        self._restore()

    def _restore(self) -> None:
        if self._modes is not None:
            restore(self._modes)

    def _leave(self, number: int, _frame: FrameType | None) -> None:
        # The terminal may not take what leaves the screen.
        self.last_resort.arm(128 + number)
        raise SystemExit(128 + number)

    def draw(
        self,
        fleet: Fleet,
        theme: Theme,
        glyphs: Glyphs,
        depth: Depth,
        density: Density | None,
        actions: Actions = DEFAULT_ACTIONS,
    ) -> None:
        """Draw one frame on the alternate screen; keys pressed from now on are not echoed."""
        self._modes = without_echo()
        clock = SystemClock()
        size = os.get_terminal_size(sys.stdout.fileno())
        view = FrameView(
            fleet=fleet,
            now_s=clock.now(),
            wall_of=clock.wall,
            glyphs=glyphs,
            density=density,
            focus=fleet.hosts[0].name if fleet.hosts else None,
            cursor=0,
            keys=actions.footer_keys(Situation(has_several=len(fleet.hosts) > 1)),
            renamed=actions.renamed,
        )
        rows = frame_rows(view, size.columns, size.lines)
        self.is_drawn = True
        sys.stdout.write(ENTER + "\r\n".join(to_ansi(row, theme, depth) for row in rows))
        sys.stdout.flush()
