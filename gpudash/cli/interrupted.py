"""Ctrl-c, SIGTERM and SIGHUP are one thing: the user, or the terminal, wants an end (130).

What was ignored when gpudash started stays ignored: `nohup` and a shell's `&` mean it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


def interrupts_raise() -> None:
    """Let each of them raise KeyboardInterrupt from now on, until somebody listens."""
    _handle(_raise)


def on_interrupt(call: Callable[[], None]) -> None:
    """Call this at each of them while the running event loop lasts; later they raise."""
    loop = asyncio.get_running_loop()

    def heard(number: int, frame: FrameType | None) -> None:
        if loop.is_closed():
            _raise(number, frame)
        loop.call_soon_threadsafe(call)

    _handle(heard)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise KeyboardInterrupt


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    known = (getattr(signal, name) for name in _NAMES if hasattr(signal, name))
    for number in known:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
