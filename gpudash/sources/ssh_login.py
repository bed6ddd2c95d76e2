"""Who answers when a login asks: nobody by itself, a person when one is there.

Passwords and passphrases stay in memory until the process ends, so that a reconnect needs nobody.
Codes that are good once are never kept.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Ask = Callable[[str, str, bool], Awaitable[str | None]]
"""Host, prompt, whether the answer may be seen: the answer, or None when nobody gives one."""

_ONCE = re.compile(r"one.?time|\botp\b|verification|token|passcode|\bcode\b|duo|\b2fa\b", re.I)


def is_one_time(prompt: str) -> bool:
    """Tell whether a prompt asks for a code that is good once."""
    return bool(_ONCE.search(prompt))


@dataclass(slots=True)
class Logins:
    """What was typed so far, and who may be asked now."""

    ask: Ask | None = None
    """None: nobody is there, and a login that needs somebody fails at once."""
    _kept: dict[tuple[str, str], str] = field(default_factory=dict)

    async def answer(self, host: str, prompt: str, *, is_seen: bool = False) -> str | None:
        """Return the answer to a prompt: kept, or asked for now."""
        key = (host, prompt)
        once = is_one_time(prompt)
        if not once and key in self._kept:
            return self._kept[key]
        if self.ask is None:
            return None
        given = await self.ask(host, prompt, is_seen)
        if given is not None and not once:
            self._kept[key] = given
        return given

    def forget(self, host: str) -> None:
        """Drop what was typed for a host: it was refused."""
        for key in [key for key in self._kept if key[0] == host]:
            del self._kept[key]
