"""What all hosts of one run share: known hosts, keys, logins, and the way through jump hosts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import asyncssh

from gpudash.core.ssh_settings import SshSettings
from gpudash.sources.logins import Logins
from gpudash.sources.ssh.identities import KeyRing
from gpudash.sources.ssh.known import Known, look_up, read_known, stamp_of

HANDSHAKES = 4
"""In flight in all: 8 cost 0.4 s of loop lag, and sshd drops a sixth of 128 at 16 (MaxStartups)."""

_Files = tuple[str, ...]
_Stamp = tuple[tuple[int, int] | None, ...]


@dataclass(slots=True)
class Jump:
    """The one connection to a jump host, or the attempt at it."""

    task: asyncio.Task[asyncssh.SSHClientConnection]
    is_attended: bool
    """Somebody was there to be asked."""

    @property
    def has_failed(self) -> bool:
        """Tell whether the attempt ended without a connection."""
        return self.task.done() and (self.task.cancelled() or self.task.exception() is not None)

    @property
    def is_dead(self) -> bool:
        """Tell whether it was there and is gone."""
        return self.task.done() and not self.has_failed and self.task.result().is_closed()


@dataclass(slots=True)
class SshSpace:
    """Shared by all hosts of one run."""

    logins: Logins
    keys: KeyRing = field(default_factory=KeyRing)
    handshakes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(HANDSHAKES))
    person: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the one login that may ask: nobody types two passwords at once."""
    jumps: dict[tuple[str, ...], Jump] = field(default_factory=dict)
    _known: dict[_Files, tuple[_Stamp, asyncssh.SSHKnownHosts]] = field(default_factory=dict)

    def known(self, settings: SshSettings) -> Known:
        """Return what known_hosts says of a host; files are read again when they changed."""
        files = (*settings.user_known_hosts, *settings.global_known_hosts)
        stamp = stamp_of(files)
        kept = self._known.get(files)
        if kept is None or kept[0] != stamp:
            kept = self._known[files] = (stamp, read_known(files))
        return look_up(kept[1], settings)

    async def close(self) -> None:
        """End the connections to jump hosts."""
        jumps, self.jumps = list(self.jumps.values()), {}
        for jump in jumps:
            jump.task.cancel()
        for jump in jumps:
            (result,) = await asyncio.gather(jump.task, return_exceptions=True)
            if isinstance(result, asyncssh.SSHClientConnection):
                result.abort()
