"""From the HOST words of a command line to hosts: ranges, groups, exclusions, each host once.

The order is the order in which hosts were named. Nothing named is never read as "this machine",
and an exclusion that would exclude nothing is an error: somebody meant to keep a host out.

    word     = ssh line | item { ("," | "!") item }     `!` takes away from what stands before
    item     = "@" group | range | destination
    group    = words of the configuration's [groups], with ranges, groups and exclusions
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from gpudash.core.errors import UsageError
from gpudash.core.hostranges import MAX_HOSTS, expand_range, has_range, too_many
from gpudash.core.hostspec import HostSpec, parse_destination, refuse, shown
from gpudash.core.nearest import nearest

MAX_DEPTH = 32
"""Groups within groups."""
GROUP_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_PIECE = re.compile(r"(?:\[[^\[\]]*\]|[^,!])+|[,!]")
"""A name whose brackets hold any commas, or a mark between names."""

Groups = Mapping[str, Sequence[str]]
"""Words by group name, without the `@`."""


def parse_host(word: str) -> HostSpec:
    """Read one HOST word that stands for one host. Raises UsageError.

    Ranges, groups and exclusions are `expand_hosts`'s.
    """
    from gpudash.core.sshline import is_ssh_line, parse_ssh_line

    return parse_ssh_line(word) if is_ssh_line(word) else parse_destination(word)


def expand_hosts(words: Iterable[str], groups: Groups | None = None) -> tuple[HostSpec, ...]:
    """Return the hosts that the words name, each once, in order.

    No words are no hosts; what "none named" means is the caller's. Raises UsageError for what is
    no HOST, an unknown or circular group, more than MAX_HOSTS hosts, and words that exclude
    everything they name.
    """
    listed = tuple(words)
    found = _Named(groups=groups or {})
    for word in listed:
        found.take(word)
    if listed and not found.hosts:
        raise UsageError(
            f"{shown(' '.join(listed))} names no host at all",
            hint="See what it expands to: gpudash hosts",
        )
    return tuple(found.hosts.values())


def group_members(name: str, groups: Groups) -> tuple[HostSpec, ...]:
    """Return the hosts of one group, which may be none. Raises UsageError as `expand_hosts`."""
    found = _Named(groups=groups)
    found.take(f"@{name}")
    return tuple(found.hosts.values())


@dataclass(slots=True)
class _Named:
    """The hosts named so far, and the groups read on the way."""

    groups: Groups
    hosts: dict[str, HostSpec] = field(default_factory=dict)
    known: dict[str, tuple[HostSpec, ...]] = field(default_factory=dict)
    """Groups that were expanded already: each is read once, however often it is named."""
    path: tuple[str, ...] = ()
    """Groups around the word that is being read."""

    def take(self, word: str) -> None:
        """Add or take away what one word names."""
        from gpudash.core.sshline import is_ssh_line, parse_ssh_line

        if is_ssh_line(word):
            self._add(parse_ssh_line(word), word)
            return
        for is_out, item in _items(word):
            found = self._item(item)
            if is_out:
                self._remove(found, item)
            else:
                for spec in found:
                    self._add(spec, word)

    def _item(self, item: str) -> tuple[HostSpec, ...]:
        if item.startswith("@"):
            return self._group(item[1:])
        return tuple(parse_destination(name) for name in expand_range(item))

    def _add(self, spec: HostSpec, word: str) -> None:
        known = self.hosts.setdefault(spec.name, spec)
        if known is not spec and replace(known, notes=()) != replace(spec, notes=()):
            raise UsageError(
                f"host {spec.name} is named twice, with different ssh options",
                hint="One of the two is enough.",
            )
        if len(self.hosts) > MAX_HOSTS:
            raise too_many(len(self.hosts), word)

    def _remove(self, out: tuple[HostSpec, ...], item: str) -> None:
        names = {spec.name for spec in out}
        # One that tells neither user nor port means the host however it is reached.
        places = {spec.address for spec in out if spec.user is None and spec.port is None}
        gone = [
            name for name, spec in self.hosts.items() if name in names or spec.address in places
        ]
        if not gone and not item.startswith("@") and not has_range(item):
            refuse(f"!{item}", "excludes nothing that is named before it")
        for name in gone:
            del self.hosts[name]

    def _group(self, name: str) -> tuple[HostSpec, ...]:
        if name in self.path:
            chain = " → ".join(f"@{group}" for group in (*self.path[self.path.index(name) :], name))
            raise UsageError(f"group @{name} contains itself: {chain}")
        if name in self.known:
            return self.known[name]
        if name not in self.groups:
            raise _unknown_group(name, self.groups)
        if len(self.path) >= MAX_DEPTH:
            raise UsageError(f"group @{name}: groups within groups go {MAX_DEPTH} deep at most")
        inner = _Named(groups=self.groups, known=self.known, path=(*self.path, name))
        for member in self.groups[name]:
            inner.take_member(member)
        self.known[name] = tuple(inner.hosts.values())
        return self.known[name]

    def take_member(self, word: str) -> None:
        """Take one word of the innermost group; an error says which group that is."""
        try:
            self.take(word)
        except UsageError as error:
            if error.message.startswith("group "):
                raise
            message = f"group @{self.path[-1]}: {error.message}"
            raise UsageError(message, hint=error.hint) from error


def _items(word: str) -> Iterator[tuple[bool, str]]:
    """Split a word at commas and exclamation marks outside brackets: (is it excluded, item)."""
    mark: str | None = ""
    for piece in _PIECE.findall(word):
        if piece not in (",", "!"):
            yield mark == "!", piece
            mark = None
        elif mark in (None, "") and (mark is None or piece == "!"):
            mark = piece
        else:
            break
    if mark is not None:
        _refuse_gap(word)


def _refuse_gap(word: str) -> NoReturn:
    if not word:
        refuse(word, "a name is missing", "Write [user@]name[:port].")
    refuse(word, "a name is missing beside , or !", "Example: '@lab!node07'")


def _unknown_group(name: str, groups: Groups) -> UsageError:
    guess = nearest(name, groups)
    if guess:
        hint = f"Did you mean @{guess}?"
    elif groups:
        hint = f"Known: {', '.join(f'@{group}' for group in list(groups)[:16])}"
    else:
        hint = 'Groups stand in the configuration: [groups] lab = ["gpu-a", "node[01-32]"]'
    return UsageError(f"unknown group @{shown(name)}", hint=hint)
