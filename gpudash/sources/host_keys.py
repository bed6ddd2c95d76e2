"""Known hosts: which key is trusted, which is unknown, which has changed (law 6).

There is no switch here that trusts everything. A key is trusted because a known_hosts file says
so, because the user said so for this run, or because the user's own ssh configuration does not
check that host at all, which is then shown for as long as it lasts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import asyncssh


class Trust(Enum):
    """What is known of a host key."""

    TRUSTED = "trusted"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedKey:
    """A key that a host offered and that was not trusted."""

    trust: Trust
    fingerprint: str
    """As ssh prints it: `SHA256:…`."""
    algorithm: str
    line: str
    """Its line for a known_hosts file."""
    known_fingerprints: tuple[str, ...] = ()
    """Of the keys that were expected instead."""


def read_known(files: tuple[str, ...]) -> str:
    """Return the sound lines of all known_hosts files; one odd line costs only itself."""
    kept: list[str] = []
    for name in files:
        try:
            text = Path(name).expanduser().read_text(errors="replace")
        except OSError:
            continue
        kept += [line for line in text.splitlines() if _is_sound(line)]
    return "\n".join(kept) + "\n"


def _is_sound(line: str) -> bool:
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return False
    try:
        asyncssh.import_known_hosts(stripped + "\n")
    except (ValueError, asyncssh.KeyImportError):
        return False
    return True


def name_in_file(host: str, port: int) -> str:
    """Return how a host stands in known_hosts: `[host]:port` unless the port is 22."""
    return host if port == 22 else f"[{host}]:{port}"


def judge_key(
    known: asyncssh.SSHKnownHosts, host: str, address: str, port: int, key: asyncssh.SSHKey
) -> OfferedKey:
    """Say what a known_hosts says of an offered key."""
    keys, _authorities, revoked, *_ = asyncssh.match_known_hosts(known, host, address, port)
    public = key.export_public_key("openssh").decode().split()[:2]
    line = " ".join([name_in_file(host, port), *public])
    if key in revoked:
        trust = Trust.REVOKED
    elif key in keys:
        trust = Trust.TRUSTED
    else:
        # A host may have keys of several kinds; one of another kind is new, not changed, yet a
        # known host that suddenly offers only a new kind is not to be waved through.
        trust = Trust.CHANGED if keys else Trust.UNKNOWN
    return OfferedKey(
        trust=trust,
        fingerprint=key.get_fingerprint(),
        algorithm=key.get_algorithm(),
        line=line,
        known_fingerprints=tuple(expected.get_fingerprint() for expected in keys),
    )


def remember_key(line: str, files: tuple[str, ...]) -> Path:
    """Append a key to the user's first known_hosts file. Raises OSError."""
    path = Path(files[0] if files else "~/.ssh/known_hosts").expanduser()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(fd, "a") as file:
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())
    return path
