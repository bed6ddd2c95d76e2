"""Opens the dashboard: first a frame of plain escape sequences, then Textual over it.

Textual takes 0.2 to 0.6 s to import. The first readings are there sooner, so the same painters
draw them at once; Textual then paints the same screen.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudash.core.errors import UsageError
from gpudash.core.nearest import nearest
from gpudash.services.clock import SystemClock
from gpudash.ui.paint.ansi import Depth, to_ansi
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII, UNICODE, Glyphs
from gpudash.ui.theme import DEFAULT, Theme, load_all, load_theme

if TYPE_CHECKING:
    from gpudash.core.model import Fleet
    from gpudash.services.monitor import FleetMonitor
    from gpudash.ui.paint.view import Density

ENTER = "\x1b[?1049h\x1b[?25l\x1b[H"
LEAVE = "\x1b[?25h\x1b[?1049l"


def require_terminal() -> None:
    """Raise UsageError where there is no terminal to draw on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "the dashboard needs a terminal",
            hint="For scripts: gpudash check, or gpudash stream",
        )


def chosen_theme(name: str | None) -> Theme:
    """Return the wanted theme. Raises UsageError naming the nearest one."""
    if name is None and os.environ.get("NO_COLOR"):
        name = "gpudash-mono"
    theme, wrong = load_theme(name or DEFAULT)
    if not wrong:
        return theme
    known, _ = load_all()
    guess = nearest(name or "", known, limit=6)
    hint = f"Did you mean {guess}?" if guess else f"Known: {', '.join(sorted(known))}"
    raise UsageError(f"--theme {name}: {wrong}", hint=hint)


def chosen_glyphs(*, is_ascii: bool) -> Glyphs:
    """Return ASCII where the user, the locale or the terminal wants it."""
    encoding = (sys.stdout.encoding or "").lower()
    if is_ascii or "utf" not in encoding or os.environ.get("TERM") == "linux":
        return ASCII
    return UNICODE


def depth() -> Depth:
    """Return how many colours the terminal shows, as it says itself."""
    if os.environ.get("NO_COLOR"):
        return Depth.NONE
    if os.environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return Depth.TRUE
    return Depth.MANY if "256" in os.environ.get("TERM", "") else Depth.FEW


def first_frame(fleet: Fleet, theme: Theme, glyphs: Glyphs, density: Density | None) -> None:
    """Draw one frame on the alternate screen, where Textual will paint it again."""
    from gpudash.ui.actions import footer_keys

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
        keys=footer_keys(),
    )
    rows = frame_rows(view, size.columns, size.lines)
    text = "\r\n".join(to_ansi(row, theme, depth()) for row in rows)
    sys.stdout.write(ENTER + text)
    sys.stdout.flush()


def leave_first_frame() -> None:
    """Go back to the user's screen; for when Textual never took over."""
    sys.stdout.write(LEAVE)
    sys.stdout.flush()


def show(
    monitor: FleetMonitor,
    theme: Theme,
    glyphs: Glyphs,
    *,
    density: Density | None = None,
    demo: Callable[[], FleetMonitor] | None = None,
) -> int:
    """Run the dashboard until the user leaves; return the exit code."""
    from gpudash.ui.app import GpudashApp
    from gpudash.ui.scene import Scene

    clock = SystemClock()
    others, _ = load_all()
    themes = [theme, *(other for name, other in others.items() if name != theme.name)]
    app = GpudashApp(
        monitor, clock, Scene(clock, glyphs=glyphs, density=density), themes, demo=demo
    )
    # Modules stay for good: a full collection that walks over them costs a tenth of the CPU time.
    gc.freeze()
    app.run()
    return app.return_code or 0
