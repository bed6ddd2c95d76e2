"""Known hosts: which key is trusted, which is unknown, which has changed (law 6).

There is no switch here that trusts everything. A key is trusted because a known_hosts file says
so, because the user said so for this run, or because the user's own ssh configuration does not
check that host at all, which is then shown for as long as it lasts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from gpudash.core.hostkeys import OfferedKey, Trust
from gpudash.core.ssh_settings import SshSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the known_hosts files say of one host."""

    expected: tuple[asyncssh.SSHKey, ...]
    """Under its name with its port."""
    trusted: tuple[asyncssh.SSHKey, ...]
    """Also under its name without a port, which counts for every port."""
    authorities: tuple[asyncssh.SSHKey, ...]
    revoked: tuple[asyncssh.SSHKey, ...]


def read_known(files: tuple[str, ...]) -> asyncssh.SSHKnownHosts:
    """Parse known_hosts files; one odd line costs only itself."""
    kept: list[str] = []
    for name in files:
        try:
            text = Path(name).expanduser().read_text(errors="replace")
        except OSError:
            continue
        kept += [line for line in text.splitlines() if line.strip()]
    try:
        return asyncssh.import_known_hosts("\n".join(kept) + "\n")
    except (ValueError, asyncssh.KeyImportError):
        sound = [line for line in kept if _is_sound(line)]
        return asyncssh.import_known_hosts("\n".join(sound) + "\n")


def _is_sound(line: str) -> bool:
    try:
        asyncssh.import_known_hosts(line + "\n")
    except (ValueError, asyncssh.KeyImportError):
        return False
    return True


def stamp_of(files: tuple[str, ...]) -> tuple[tuple[int, int] | None, ...]:
    """Return what changes when one of the files does."""
    stamps: list[tuple[int, int] | None] = []
    for name in files:
        try:
            status = Path(name).expanduser().stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_size))
    return tuple(stamps)


def look_up(known: asyncssh.SSHKnownHosts, settings: SshSettings) -> Known:
    """Return the keys that stand for a host under its name alone.

    An address says nothing of who answers there, so it is not asked about (ssh: CheckHostIP no).
    """
    keys, authorities, revoked, *_ = asyncssh.match_known_hosts(
        known, name_in_file(settings), "", None
    )
    bare = settings.host_key_alias or settings.hostname
    more, more_authorities, more_revoked, *_ = asyncssh.match_known_hosts(known, bare, "", None)
    return Known(
        expected=tuple(keys),
        trusted=(*keys, *more),
        authorities=(*authorities, *more_authorities),
        revoked=(*revoked, *more_revoked),
    )


def name_in_file(settings: SshSettings) -> str:
    """Return how a host stands in known_hosts: `[host]:port` unless the port is 22."""
    if settings.host_key_alias:
        return settings.host_key_alias
    if settings.port == 22:
        return settings.hostname
    return f"[{settings.hostname}]:{settings.port}"


def judge_key(known: Known, settings: SshSettings, key: asyncssh.SSHKey) -> OfferedKey:
    """Say what known_hosts says of an offered key."""
    keys = known.expected
    if key in known.revoked:
        trust = Trust.REVOKED
    elif key in known.trusted:
        trust = Trust.TRUSTED
    else:
        # Keys of known kinds are asked for first, so a known host that offers only one of another
        # kind is not to be waved through.
        trust = Trust.CHANGED if keys else Trust.UNKNOWN
    may_be_accepted = settings.strict_host_keys not in ("yes", "true")
    files = settings.user_known_hosts
    return OfferedKey(
        host=name_in_file(settings),
        trust=trust,
        fingerprint=key.get_fingerprint(),
        algorithm=key.get_algorithm(),
        public=" ".join(key.export_public_key("openssh").decode().split()[:2]),
        known_fingerprints=tuple(expected.get_fingerprint() for expected in keys),
        file=(files[0] if files else "~/.ssh/known_hosts") if may_be_accepted else "",
        is_hashed=settings.hashes_known_hosts,
    )


def remember_key(offered: OfferedKey) -> Path:
    """Append a key to its known_hosts file. Raises OSError."""
    path = Path(offered.file).expanduser()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = hashed(offered.host, os.urandom(20)) if offered.is_hashed else offered.host
    line = f"{name} {offered.public}\n"
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(fd, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            line = line if file.read(1) == b"\n" else "\n" + line
        file.write(line.encode())
        os.fsync(fd)
    return path


def hashed(name: str, salt: bytes) -> str:
    """Return a host name as HashKnownHosts writes it (ssh-keygen(1), -H)."""
    digest = hmac.new(salt, name.encode(), hashlib.sha1).digest()
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"
