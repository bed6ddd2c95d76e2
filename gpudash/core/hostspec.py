"""One host as the user named it, and what a name may be made of.

A name reaches command lines, JSON and screens, so it holds letters, digits and `._-+` and nothing
that a shell, a terminal or a markup language would read as more. `HostSpec.name` is the key of a
host everywhere: what was typed, never what it resolves to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from gpudash.core.errors import UsageError

LOCAL = "local"
MAX_NAME = 253
"""Characters in a host name (RFC 1035)."""
MAX_SHOWN = 80
"""Characters of typed text in a sentence."""
_NAME_MARKS = frozenset("._-+")
_USER_MARKS = frozenset("._-+@")
_PORT = re.compile(r"[0-9]{1,5}")
_SSH_URL = "ssh://"
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SshOptions:
    """What a pasted ssh line says beyond destination, user and port."""

    identity_files: tuple[str, ...] = ()
    """Paths after -i, as typed."""
    jump: tuple[str, ...] = ()
    """Hops after -J in order, each `[user@]name[:port]`; `("none",)` is ssh's own "no jump"."""
    config_file: str | None = None
    """Path after -F; None is the user's own file."""
    settings: tuple[tuple[str, str], ...] = ()
    """(keyword, value) of each -o in order; ssh takes the first of a keyword."""

    def __bool__(self) -> bool:
        """Tell whether anything was said."""
        return self != _NOTHING


_NOTHING = SshOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """One host that was named."""

    name: str
    """As typed; of a pasted ssh line its `[user@]name[:port]`. Unique among the hosts named."""
    address: str
    """The host part: an alias of ~/.ssh/config, a DNS name or an address without brackets."""
    user: str | None = None
    """None leaves it to the ssh configuration."""
    port: int | None = None
    """None leaves it to the ssh configuration."""
    options: SshOptions = _NOTHING
    notes: tuple[str, ...] = ()
    """Parts of a pasted ssh line that are ignored, one sentence for each kind."""

    @property
    def is_local(self) -> bool:
        """Tell whether this is the machine gpudash runs on, reached without ssh."""
        return self.name == LOCAL


def parse_destination(text: str) -> HostSpec:
    """Read `local`, `[user@]name[:port]`, `[v6]:port`, a bare v6 address or `ssh://…`.

    Raises UsageError naming what is wrong with it.
    """
    rest = text
    if is_url := text[: len(_SSH_URL)].lower() == _SSH_URL:
        rest = text[len(_SSH_URL) :].removesuffix("/")
    user, has_user, place = rest.rpartition("@")
    address, port = _split_place(place, text)
    if has_user:
        _check(user, _USER_MARKS, text, "a user name")
    return HostSpec(
        name=remote_name(rest) if is_url else text,
        address=address,
        user=user if has_user else None,
        port=None if port is None else parse_port(port, text),
    )


def remote_name(name: str) -> str:
    """Return the name of a host that is reached by ssh even where it is called `local`."""
    return _SSH_URL + name if name == LOCAL else name


def parse_port(text: str, word: str) -> int:
    """Read a port. Raises UsageError naming the whole word."""
    if not _PORT.fullmatch(text) or not 1 <= int(text) <= 65535:
        what = f"the port is {shown(text) or 'missing'}"
        refuse(word, what, "A port is a number from 1 to 65535.")
    return int(text)


def refuse(word: str, why: str, hint: str = "") -> NoReturn:
    """Raise UsageError about one HOST."""
    raise UsageError(f"host {shown(word) or repr('')}: {why}", hint=hint)


def shown(text: str) -> str:
    """Return typed text fit for a sentence: one line, nothing invisible, at most 80 characters."""
    kept = "".join(
        char if char.isprintable() else " " * char.isspace() for char in text[:MAX_SHOWN]
    ).strip()
    return kept if len(text) <= MAX_SHOWN else kept + "…"


def _split_place(place: str, word: str) -> tuple[str, str | None]:
    """Return address and port text of what follows the `@`."""
    if place.startswith("["):
        inside, is_closed, after = place[1:].partition("]")
        if not is_closed:
            refuse(word, "the bracket is not closed", "Quote ranges: 'node[01-32]'")
        if after and not after.startswith(":"):
            refuse(word, f"unexpected {shown(after)} after the address")
        return _v6(inside, word), after[1:] if after else None
    if place.count(":") > 1:
        return _v6(place, word), None
    address, has_port, port = place.partition(":")
    _check(address, _NAME_MARKS, word, "a name")
    return address, port if has_port else None


def _v6(text: str, word: str) -> str:
    """Return an IPv6 address, its zone kept. Raises UsageError for anything else."""
    from ipaddress import AddressValueError, IPv6Address

    address, has_zone, zone = text.partition("%")
    try:
        IPv6Address(address)
    except AddressValueError:
        hint = "Write [2001:db8::7]:22, or name:port"
        refuse(word, f"{shown(text) or 'nothing'} is no IPv6 address", hint)
    if has_zone and not _ZONE.fullmatch(zone):
        refuse(word, f"{shown(zone) or 'nothing'} is no IPv6 zone")
    return text


def _check(text: str, marks: frozenset[str], word: str, what: str) -> None:
    """Raise UsageError for what no name is made of."""
    if not text:
        refuse(word, f"{what} is missing", "Write [user@]name[:port].")
    if text.startswith("-"):
        refuse(word, f"{what} can't begin with -")
    if len(text) > MAX_NAME:
        refuse(word, f"{what} has at most {MAX_NAME} characters")
    for char in text:
        if not (char.isalnum() or char in marks):
            refuse(word, f"{what} can't contain {_named(char)}", _advice(char))
    if not any(char.isalnum() for char in text):
        refuse(word, f"{what} needs a letter or a digit")


def _named(char: str) -> str:
    if char.isspace():
        return "a blank"
    return char if char.isprintable() else f"the invisible character U+{ord(char):04X}"


def _advice(char: str) -> str:
    if char.isspace():
        return "Several hosts are several words; a pasted line begins with ssh and is one word."
    if char in "[]":
        return "A range looks like 'node[01-32,40]' or 'node[0-10/2]', in quotes."
    if char == "*":
        return "Globs are for [hosts.…] in the configuration; name hosts by range or @group."
    return ""
