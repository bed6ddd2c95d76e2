"""Who answers when a login asks: nobody by itself, a person when one is there.

A person is there for one attempt at a time: the one that was asked for. Passwords and passphrases
stay in memory until the process ends, so that a reconnect needs nobody. Codes that are good once
are never kept, and a place that asked for one is not tried again by itself.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from gpudash.core.hostkeys import OfferedKey

Ask = Callable[[str, str, bool], Awaitable[str | None]]
"""Host, prompt, whether the answer may be seen: the answer, or None when nobody gives one."""

_LASTING = re.compile(r"password|passphrase|passwort|mot de passe|contraseña", re.I)
_ONCE = re.compile(
    r"one.?time|\botp\b|verification|token|passcode|\bcode\b|duo|\b2fa\b|\bpin\b|yubi", re.I
)


def is_one_time(prompt: str) -> bool:
    """Tell whether what a prompt asks for may be good only once: then it is not kept.

    What is clearly a password lasts; everything else is taken for a code.
    """
    return bool(_ONCE.search(prompt)) or not _LASTING.search(prompt)


@dataclass(slots=True)
class Logins:
    """What was typed and decided so far, and who may be asked now."""

    ask: Ask | None = None
    """None: nobody is there, and a login that needs somebody fails at once."""
    offered: dict[str, OfferedKey] = field(default_factory=dict)
    """Host to the unknown key that waits for a decision."""
    accepted: set[tuple[str, str]] = field(default_factory=set)
    """(name in known_hosts, key) that the user accepted for this run."""
    saved: list[OfferedKey] = field(default_factory=list)
    """Keys that the user wants to be written down; the next attempt does."""
    _invited: set[str] = field(default_factory=set)
    _kept: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)
    _once: set[str] = field(default_factory=set)

    def invite(self, host: str) -> None:
        """Let the next attempt at a host ask the person who is there."""
        if self.ask is not None:
            self._invited.add(host)

    def take_invitation(self, host: str) -> bool:
        """Tell whether this attempt may ask; the next one may not."""
        is_invited = host in self._invited
        self._invited.discard(host)
        return is_invited

    def accept(self, host: str, *, save: bool) -> None:
        """Trust the key that a host offered, for this run or for good. Raises KeyError."""
        offered = self.offered.pop(host)
        self.accepted.add((offered.host, offered.public))
        if save:
            self.saved.append(offered)

    def is_accepted(self, offered: OfferedKey) -> bool:
        """Tell whether the user accepted this key for this host in this run."""
        return (offered.host, offered.public) in self.accepted

    def asks_once(self, place: str) -> bool:
        """Tell whether a place asked for a code that is good once: only a person can log in."""
        return place in self._once

    def has_kept(self, place: str) -> bool:
        """Tell whether something was typed for a place that may serve again."""
        return any(known == place for known, _ in self._kept)

    async def answer(
        self, place: str, prompt: str, *, is_attended: bool, is_seen: bool = False
    ) -> str | None:
        """Return the answer to a prompt of `user@host`: kept, or asked for now."""
        key = (place, prompt)
        once = is_one_time(prompt)
        if once:
            self._once.add(place)
        elif key in self._kept:
            return self._kept[key]
        if self.ask is None or not is_attended:
            return None
        given = await self.ask(place, prompt, is_seen)
        if given is not None and not once:
            self._kept[key] = given
        return given

    def forget(self, place: str, prompt: str) -> None:
        """Drop what was typed: it was refused."""
        self._kept.pop((place, prompt), None)
