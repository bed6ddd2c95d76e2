"""A host key that was offered, as a value: what a person is shown and decides on (law 6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Trust(Enum):
    """What known_hosts says of a host key."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedKey:
    """A key that a host offered."""

    host: str
    """As it stands in known_hosts: a name, or `[name]:port`."""
    trust: Trust
    fingerprint: str
    """As ssh prints it: `SHA256:…`."""
    algorithm: str
    public: str
    """`ssh-ed25519 AAAA…`."""
    known_fingerprints: tuple[str, ...] = ()
    """Of the keys that were expected instead."""
    file: str = ""
    """The known_hosts file it would be written to; empty where it may not be accepted at all."""
    is_hashed: bool = False
    """Names in that file are hashed (HashKnownHosts)."""
