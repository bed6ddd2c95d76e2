"""The TCP connection before the handshake, so that a host that is dead does not hold up others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

from gpudash.core.ssh_settings import SshSettings

QUICK_S = 1.5
"""A host that is there answers within this; one that does not gives its slot to the next."""
_FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}


@contextlib.asynccontextmanager
async def connected(
    settings: SshSettings, slots: asyncio.Semaphore | asyncio.Lock, limit_s: float
) -> AsyncIterator[socket.socket]:
    """Yield a connected socket while holding a slot; the socket is the caller's to close.

    The slot is given up while a host lets us wait, and taken before a handshake begins: an sshd
    counts connections that have not logged in. Raises OSError, TimeoutError.
    """
    opening: asyncio.Future[socket.socket] | None = None
    try:
        async with slots:
            opening = asyncio.ensure_future(asyncio.wait_for(_open(settings), limit_s))
            await asyncio.wait((opening,), timeout=QUICK_S)
            if opening.done():
                yield opening.result()
                return
        await asyncio.wait((opening,))
        async with slots:
            yield opening.result()
    finally:
        if opening is not None:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)


async def _open(settings: SshSettings) -> socket.socket:
    """Connect to the first address that answers. Raises OSError."""
    loop = asyncio.get_running_loop()
    family = _FAMILIES.get(settings.address_family, socket.AF_UNSPEC)
    found = await loop.getaddrinfo(
        settings.hostname, settings.port, family=family, type=socket.SOCK_STREAM
    )
    failure: OSError = socket.gaierror(socket.EAI_NONAME, "no address")
    for family_, kind, protocol, _, address in found:
        sock = socket.socket(family_, kind, protocol)
        try:
            sock.setblocking(False)
            if settings.bind_address:
                sock.bind((settings.bind_address, 0))
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure
