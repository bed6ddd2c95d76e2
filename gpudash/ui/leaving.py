"""The way out that needs no event loop.

Textual hands its output to a thread by a bounded queue. A terminal that reads no more, or is
gone, lets that queue fill up, and then the loop waits in it for ever: nothing that runs in the
loop can end the process, and its samplers keep the driver open.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio  # not needed by the first frame

PATIENCE_S = 3.0
"""So long the loop may take to leave in order."""
LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_TEXTUAL_OFF = "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[<u"


class LastResort:
    """Ends the process when leaving in order takes too long.

    Threads come from `_thread`: a signal handler may interrupt the main thread while it holds a
    lock of `threading`.
    """

    def __init__(self, give_back: Callable[[], None]) -> None:
        """`give_back` restores the terminal's modes; it must not wait."""
        self._give_back = give_back
        self._is_armed = False

    def arm(self, code: int) -> None:
        """End the process with this code unless it has ended by then; may be called twice."""
        if not self._is_armed:
            self._is_armed = True
            _thread.start_new_thread(self._end, (code,))

    def _end(self, code: int) -> None:
        time.sleep(PATIENCE_S)
        self._give_back()
        _leave_screen()
        # Samplers and hands end by themselves: this closes the pipes that they read.
        os._exit(code)

    def watch_terminal(self, leave: Callable[[int], None]) -> None:
        """Call `leave` with SIGHUP when the terminal is gone, from a thread of its own."""
        if sys.platform == "linux":
            with suppress(OSError, ValueError):
                _thread.start_new_thread(_await_hangup, (sys.stdin.fileno(), leave))


def heed_signals(
    loop: asyncio.AbstractEventLoop,
    leave_by: Callable[[int], None],
    last_resort: LastResort | None,
) -> None:
    """Have `leave_by` called in the loop with the signal that asks this process to end."""
    if sys.platform == "win32":
        return

    def leave(number: int) -> None:
        # The loop may wait for a terminal that reads no more: then this is never called.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(leave_by, number)
        if last_resort is not None:
            last_resort.arm(128 + number)

    # Not the loop's own handlers: those wait for the loop.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: leave(number))
    if last_resort is not None:
        last_resort.watch_terminal(leave)


def _await_hangup(fd: int, leave: Callable[[int], None]) -> None:
    """Wait without any cost: a poll for no event returns at a hang-up only."""
    if not os.isatty(fd):
        return
    poll = select.poll()
    poll.register(fd, 0)
    poll.poll()
    leave(signal.SIGHUP)


def _leave_screen() -> None:
    """Write what leaves the screen if it can be taken; our own terminal's writer may be stuck."""
    with suppress(OSError):
        fd = os.open("/dev/tty", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        os.write(fd, (_TEXTUAL_OFF + LEAVE).encode())
