"""One question before something is done that can't be undone: only a deliberate yes counts.

What was typed before the question came up is dropped. A line with more behind it was pasted, and a
paste is no answer; neither is an empty line.
"""

from __future__ import annotations

import asyncio
import contextlib
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
    """Ask, and tell whether somebody said yes."""
    return is_yes(await _typed(question))


async def answer_to(question: str) -> str:
    """Ask, and return the one word that was typed, in lower case; empty for anything else."""
    return word_of(await _typed(question))


async def _typed(question: str) -> bytes:
    """Return what was typed. The thread is a daemon: leaving must not wait."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    def give(value: bytes) -> None:
        if not answer.done():
            answer.set_result(value)

    def work() -> None:
        value = _answered(question)
        with contextlib.suppress(RuntimeError):
            # The loop may have ended meanwhile: then nobody waits for it.
            loop.call_soon_threadsafe(give, value)

    threading.Thread(target=work, name="ask", daemon=True).start()
    return await answer


def _answered(question: str) -> bytes:
    """Return what was typed after the question, empty where nothing can be read."""
    time.sleep(QUIET_S)
    forget_typed()
    diagnostics.say(question)
    try:
        return _line()
    except OSError:
        return b""


def is_yes(line: bytes) -> bool:
    """Tell whether what was read is one line that says yes, and nothing else."""
    return word_of(line) in ("y", "yes")


def word_of(line: bytes) -> str:
    """Return the one word of one line, and an empty text for anything else."""
    words, newline, rest = line.partition(b"\n")
    is_alone = bool(newline) and not rest
    return words.strip().lower().decode("ascii", "replace") if is_alone else ""


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
