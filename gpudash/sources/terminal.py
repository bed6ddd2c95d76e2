"""The terminal's echo and what was typed ahead; where there is none, nothing happens."""

from __future__ import annotations

import sys
from typing import Any

Modes = list[Any]
"""What tcgetattr(3) returned."""

_FLAGS = 3


def without_echo() -> Modes | None:
    """Let keys be read later and not be shown now; return the modes before, None without any."""
    if sys.platform == "win32":
        return None
    import termios

    try:
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
        after = list(before)
        after[_FLAGS] &= ~termios.ECHO
        termios.tcsetattr(fd, termios.TCSANOW, after)
    except (termios.error, OSError, ValueError):
        return None
    return before


def restore(modes: Modes) -> None:
    """Set the modes that `without_echo` returned; a terminal that is gone is no error."""
    if sys.platform == "win32":
        return
    import termios

    try:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, modes)
    except (termios.error, OSError, ValueError):
        return


def forget_typed() -> None:
    """Drop what was typed and not read yet."""
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getch()
        return
    import termios

    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        return
