"""Ctrl-c and SIGTERM as a call, where the system can."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable


def on_interrupt(call: Callable[[], None]) -> None:
    """Call this at SIGINT and SIGTERM, as long as the running event loop lasts."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, call)
