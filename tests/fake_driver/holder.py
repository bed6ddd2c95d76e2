"""A process that holds GPU memory of the fake driver, until it ends or its standard input does.

It locks a file of its own, adds its `hold` rows to the driver's `.holds` file and prints `ready PID
[CHILD_PID]`. The memory is in use for as long as any copy of the locked handle is open, so a child
that inherits it keeps the memory after the holder is dead, under the holder's pid. Because input
ends with the test, neither outlives it. Standard library only.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import signal

PR_SET_NAME = 15


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int, action="append", required=True, help="slot; repeatable")
    parser.add_argument("--bytes", type=int, required=True, help="held on each GPU")
    parser.add_argument("--kind", default="C", help="letters of C, G, M; - = listed nowhere")
    parser.add_argument("--folder", required=True, help="where the locked file goes")
    parser.add_argument("--title", help="name in /proc/PID/comm, 15 bytes")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--inherit", action="store_true", help="fork a child with the handle")
    return parser.parse_args()


def hold(arguments: argparse.Namespace) -> int:
    """Take the memory and return the locked handle. The lock comes before the rows that name it."""
    pid = os.getpid()
    path = os.path.join(arguments.folder, f"held-{pid}")
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    rows = "".join(
        f"{gpu} hold {pid} {arguments.kind} {arguments.bytes} {path}\n" for gpu in arguments.gpu
    )
    holds = os.open(
        os.environ["FAKE_NVML_STATE"] + ".holds", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
    )
    os.write(holds, rows.encode())
    os.close(holds)
    return handle


def wait_for_end_of_input() -> None:
    while os.read(0, 4096):
        continue


def main() -> None:
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if arguments.ignore_term else signal.SIG_DFL)
    if arguments.title:
        ctypes.CDLL(None).prctl(PR_SET_NAME, arguments.title.encode()[:15], 0, 0, 0)
    hold(arguments)
    child = os.fork() if arguments.inherit else None
    if child != 0:
        ready = f"ready {os.getpid()} {child or ''}".rstrip()
        os.write(1, (ready + "\n").encode())
    wait_for_end_of_input()
    os._exit(0)


if __name__ == "__main__":
    main()
