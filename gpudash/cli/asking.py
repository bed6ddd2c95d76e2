"""One question before something is done that can't be undone: only a deliberate yes counts.

What was typed before the question came up is dropped. A line with more behind it was pasted, and a
paste is no answer; neither is an empty line.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
import time

from gpudash.cli import diagnostics
from gpudash.sources.terminal import forget_typed

QUIET_S = 0.4
"""So long before the question comes up: what is typed at the plan is dropped."""
PASTE_S = 0.05
"""What comes so soon after a line was pasted with it."""


async def agreed(question: str) -> bool:
    """Ask, and tell whether somebody said yes. The thread is a daemon: leaving must not wait."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()

    def give(value: bool) -> None:
        if not answer.done():
            answer.set_result(value)

    def work() -> None:
        value = _asked(question)
        loop.call_soon_threadsafe(give, value)

    threading.Thread(target=work, name="ask", daemon=True).start()
    return await answer


def _asked(question: str) -> bool:
    time.sleep(QUIET_S)
    forget_typed()
    diagnostics.say(question)
    try:
        line = _line()
    except OSError:
        return False
    return is_yes(line)


def is_yes(line: bytes) -> bool:
    """Tell whether what was read is one line that says yes, and nothing else."""
    words, newline, rest = line.partition(b"\n")
    return bool(newline) and not rest and words.strip().lower() in (b"y", b"yes")


def _line() -> bytes:
    """Return one line, with what came at once behind it. Raises OSError."""
    fd = sys.stdin.fileno()
    data = b""
    while b"\n" not in data:
        more = os.read(fd, 4096)
        if not more:
            return data
        data += more
    if sys.platform != "win32" and select.select([fd], [], [], PASTE_S)[0]:
        data += os.read(fd, 4096) or b"?"
    return data
