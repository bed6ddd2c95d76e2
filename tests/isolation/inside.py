"""What runs in a room: its first process, which takes in orphans, and the scene as its child."""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import os
import socket
import struct
import sys
import traceback
from pathlib import Path

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


def main() -> None:
    """Play the scene that the arguments name; end with 0 only if it went well."""
    module, name, folder, *words = sys.argv[1:]
    # Named as an init: in a container, any other pid 1 is taken for the starter of its children.
    ctypes.CDLL(None).prctl(15, b"tini", 0, 0, 0)
    raise_loopback()
    scene = os.fork()
    if scene == 0:
        os._exit(_play(module, name, Path(folder), words))
    status = 1
    while True:
        try:
            pid, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            break
        if pid == scene:
            status = os.waitstatus_to_exitcode(ended)
            break
        _tell(Path(folder), pid, ended)
    os._exit(status if status >= 0 else 1)


def _tell(folder: Path, pid: int, ended: int) -> None:
    """Add the end of an orphan to the events of a scene that keeps them."""
    from tests.cleanup.acting import EVENTS, exit_word, tell

    if (folder / EVENTS).exists():
        tell(folder, pid, exit_word(ended))


def _play(module: str, name: str, folder: Path, words: list[str]) -> int:
    from tests.isolation.stage import Stage

    try:
        with Stage(folder) as stage:
            found = getattr(importlib.import_module(module), name)
            getattr(found, "scene", found)(stage, *words)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        return 1
    return 0


def raise_loopback() -> None:
    """Bring the loopback interface up: a new network has it down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)
