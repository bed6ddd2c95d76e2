"""Traces processes and notes every signal they get and how they end. Standard library only.

    python observer.py LOG RECORDS PID …

Prints `ready` once all are traced. A traced process stops at each signal, ignored ones as well,
before anything comes of it; only then the records are read. So `record` in a line tells what was
on disk when the signal came. SIGKILL stops nobody: it shows as the end. ptrace(2).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
from pathlib import Path

CONT, SEIZE, GETSIGINFO, LISTEN = 7, 0x4206, 0x4202, 0x4208
EVENT_STOP = 128
WALL = 0x40000000
WATCHED = ("consent", "order")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request: int, pid: int, data: int | None = None) -> None:
    """Raise OSError where the kernel refuses; a process that is gone is no error."""
    if _libc.ptrace(request, pid, None, data) < 0:
        code = ctypes.get_errno()
        if code != 3:
            raise OSError(code, os.strerror(code), f"ptrace {request:#x} of {pid}")


def sender(pid: int) -> int:
    """Return who sent the signal at which a process stands; 0: the kernel."""
    info = ctypes.create_string_buffer(128)
    ptrace(GETSIGINFO, pid, ctypes.addressof(info))
    _, _, code, _, who, _ = struct.unpack_from("6i", info.raw)
    return int(who) if code <= 0 else 0


def kinds_on_disk(records: Path) -> list[str]:
    """Return which of the watched kinds of lines are in a record, in their order."""
    lines = [line for path in records.glob("*.jsonl") for line in path.read_text().splitlines()]
    return [kind for line in lines for kind in WATCHED if f'"kind":"{kind}"' in line]


def main() -> None:
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    records = Path(sys.argv[2])
    for word in sys.argv[3:]:
        ptrace(SEIZE, int(word))
    print("ready", flush=True)

    def note(**fields: object) -> None:
        os.write(log, json.dumps(fields).encode() + b"\n")

    while True:
        try:
            pid, status = os.waitpid(-1, WALL)
        except ChildProcessError:
            return
        if not os.WIFSTOPPED(status):
            code = os.waitstatus_to_exitcode(status)
            note(pid=pid, exit=signal.Signals(-code).name[3:] if code < 0 else code)
        elif status >> 16 == EVENT_STOP:
            ptrace(LISTEN if os.WSTOPSIG(status) != signal.SIGTRAP else CONT, pid)
        else:
            number = os.WSTOPSIG(status)
            who = sender(pid)
            if who:
                name = signal.Signals(number).name[3:]
                note(pid=pid, signal=name, by=who, record=kinds_on_disk(records))
            ptrace(CONT, pid, number)


if __name__ == "__main__":
    main()
