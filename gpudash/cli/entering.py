"""Logging in before anything is shown: first everybody without a question, then those who ask.

A question is put only where a person sits at a terminal; a script never waits for one.
"""

from __future__ import annotations

import asyncio
import sys
import threading

from gpudash.cli import diagnostics
from gpudash.core.model import Problem
from gpudash.core.names import clean_text
from gpudash.sources.hosts import Hosts

PROMPTING = "needs you"


def can_ask() -> bool:
    """Tell whether somebody sits here: stdin and stderr are a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


async def enter(hosts: Hosts, limit_s: float) -> None:
    """Reach all hosts, asking for what they want one after the other; then nobody is asked.

    After the limit, in seconds, hosts that have not answered are left for later.
    """
    hosts.logins.ask = ask_on_terminal
    try:
        waiting = _askable(await hosts.log_in(limit_s))
        while waiting:
            name, problem = waiting.popitem()
            if await hosts.log_in_with_person(name) is not None:
                waiting = {
                    other: its for other, its in waiting.items() if its.gate != (problem.gate or 1)
                }
                continue
            if problem.gate:
                # The gate is open now: whoever waited behind it may need nobody any more.
                behind = {other for other, its in waiting.items() if its.gate == problem.gate}
                still = _askable(await hosts.log_in(limit_s, only=behind))
                waiting = {o: its for o, its in waiting.items() if o not in behind} | still
    finally:
        hosts.logins.ask = None


def _askable(problems: dict[str, Problem]) -> dict[str, Problem]:
    """Return who wants a password, a passphrase or a code, the first one named last."""
    named = [(name, its) for name, its in problems.items() if its.title == PROMPTING]
    return dict(reversed(named))


async def ask_on_terminal(place: str, prompt: str, is_seen: bool) -> str | None:
    """Ask on the terminal; None at ctrl-d.

    The thread is a daemon: one that still waits for a line must not keep gpudash from leaving.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()
    words = clean_text(prompt) or "Answer:"
    if place.rpartition("@")[2] not in words:
        words = f"{place}: {words}"

    def give(value: str | None) -> None:
        if not answer.done():
            answer.set_result(value)

    def work() -> None:
        value = _read(f"{words} ", is_seen=is_seen)
        loop.call_soon_threadsafe(give, value)

    threading.Thread(target=work, name="ask", daemon=True).start()
    return await answer


def _read(words: str, *, is_seen: bool) -> str | None:
    import getpass

    try:
        if not is_seen:
            return getpass.getpass(words)
        diagnostics.say(words)
        return sys.stdin.readline().rstrip("\n") or None
    except (EOFError, OSError):
        return None
