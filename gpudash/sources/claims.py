"""Claims on GPUs of this machine: abstract sockets named by UUID, one for each GPU.

The kernel lets one process have a name and takes it back when that process ends, however it ends:
there is no file to forget and no lock to break. Only processes that claim see claims, within one
network namespace. A claim is never inherited: what a command leaves running does not keep it.
"""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Iterable

from gpudash.core.errors import UsageError

PREFIX = "\0gpudash/claim/"
QUEUE = "\0gpudash/wait/"
MOST_WAITS = 256


class Claims:
    """The claims of this process; they end with it, or with `release`."""

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}
        self._place: socket.socket | None = None

    @property
    def uuids(self) -> tuple[str, ...]:
        """Return what is claimed, in the order taken."""
        return tuple(self._sockets)

    def place(self, machine: str) -> int:
        """Return our place among those who wait on a machine now, from 0; it is kept.

        Who waits at the same time begins to choose elsewhere: also where the first one's command
        ends at once, the second one has other GPUs.
        """
        for number in range(MOST_WAITS):
            found = _bound(f"{QUEUE}{machine}/{number}")
            if found is not None:
                self._place = found
                return number
        return 0

    def take(self, uuids: Iterable[str], count: int) -> tuple[str, ...]:
        """Claim the first `count` of these that nobody has; return those, or none and keep none.

        Raises UsageError where the machine has no such sockets.
        """
        found: list[str] = []
        for uuid in uuids:
            if len(found) == count:
                break
            if uuid in self._sockets or self._take(uuid):
                found.append(uuid)
        if len(found) < count:
            self.release()
            return ()
        return tuple(found)

    def _take(self, uuid: str) -> bool:
        claim = _bound(f"{PREFIX}{uuid}")
        if claim is None:
            return False
        self._sockets[uuid] = claim
        return True

    def release(self) -> None:
        """Give all claims back."""
        for claim in self._sockets.values():
            claim.close()
        self._sockets.clear()

    def close(self) -> None:
        """Give all claims and the place back."""
        self.release()
        if self._place is not None:
            self._place.close()


def _bound(name: str) -> socket.socket | None:
    """Return a socket that has this name; None where another one has it. Raises UsageError."""
    # CLOEXEC and not inheritable, as all of Python's sockets.
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.bind(name)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise UsageError(f"GPUs can't be claimed here: {error.strerror}") from error
    return found


def require_claims() -> None:
    """Raise UsageError where GPUs can't be claimed."""
    if sys.platform != "linux":
        raise UsageError(
            "--gpus claims GPUs by abstract sockets, which only Linux has",
            hint="Run it on the machine that has the GPUs.",
        )
