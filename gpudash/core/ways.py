"""How one host is reached, as the user said it: ssh, a command, or not at all, for it is here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudash.core.errors import UsageError

LOCAL = "local"
_WORD = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?(?:\[(?P<v6>[0-9A-Fa-f:.%\w]+)\]|(?P<name>[\w.+-]+))(?::(?P<port>\d{1,5}))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one host is reached."""

    name: str
    """As typed; unique."""
    address: str = ""
    """What ssh is given; empty for this machine and for a command."""
    options: tuple[str, ...] = ()
    """ssh's options before it, such as `-p 2222`."""
    configuration: tuple[str, ...] = ()
    """`-F FILE`; empty for the user's own configuration."""
    transport: str = ""
    """`openssh`, `asyncssh`, or empty for whichever fits."""
    command: tuple[str, ...] = ()
    """Words that run a program there instead of ssh: `kubectl exec -i POD -- sh`."""
    python: str = ""
    """Tried before the usual ones."""

    @property
    def is_local(self) -> bool:
        """Tell whether it is this machine."""
        return not self.address and not self.command


def way_of(word: str) -> Way:
    """Read `local` or `[user@]name[:port]`. Raises UsageError."""
    if word == LOCAL:
        return Way(name=LOCAL)
    found = _WORD.fullmatch(word)
    if found is None or word.startswith("-") or (found["name"] or "").startswith("-"):
        raise UsageError(f"host {word!r} is no name", hint="Write [user@]name[:port].")
    options = (*(("-l", found["user"]) if found["user"] else ()),)
    if found["port"]:
        options = (*options, "-p", found["port"])
    return Way(name=word, address=found["v6"] or found["name"], options=options)
