"""A process that holds GPU memory of the fake driver, until it ends or its standard input does.

It locks a file of its own, adds its `hold` rows to the driver's `.holds` file and prints `ready PID
[CHILD_PID]`. The memory is in use for as long as any copy of the locked handle is open, so a child
that inherits it keeps the memory after the holder is dead, under the holder's pid. Because input
ends with the test, neither outlives it. Standard library only.

It can also have stand-in devices open or mapped, change its title as setproctitle does, and end its
main thread while another one lives. Without --gpu it holds no memory.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import mmap
import os
import platform
import signal
import threading

PR_SET_NAME = 15
IPC_CREAT = 0o1000
SYS_EXIT = 93 if platform.machine() == "aarch64" else 60


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int, action="append", default=[], help="slot; repeatable")
    parser.add_argument("--bytes", type=int, default=0, help="held on each GPU")
    parser.add_argument("--kind", default="C", help="letters of C, G, M; - = listed nowhere")
    parser.add_argument("--folder", required=True, help="where the locked file goes")
    parser.add_argument("--title", help="name in /proc/PID/comm, 15 bytes")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--device", action="append", default=[], help="opened; repeatable")
    parser.add_argument("--map", action="append", default=[], help="mapped, then closed")
    parser.add_argument("--retitle", help="written over argv, as setproctitle does")
    parser.add_argument("--zombie-leader", action="store_true", help="end the main thread alone")
    parser.add_argument("--uid", type=int, help="become this user before anything is opened")
    parser.add_argument("--sysv", type=int, help="make and attach a segment of this key")
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


def retitle(title: str) -> None:
    """Write over the memory that /proc/PID/cmdline shows, and name the main thread alike."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    text = title.encode()[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))
    ctypes.CDLL(None).prctl(PR_SET_NAME, title.encode()[:15], 0, 0, 0)


def map_device(path: str) -> None:
    """Map a device privately; no descriptor of it stays open, as Python's own mmap would keep."""
    handle = os.open(path, os.O_RDWR)
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, handle, 0)
    os.close(handle)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(f"{path} can't be mapped")


def leave_main_thread(ready: bytes) -> None:
    """End the main thread; another one waits, says so, and ends the process."""

    def go_on() -> None:
        # The first look may come only when the leader is gone.
        while True:
            with open("/proc/self/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"Z":
                    break
        os.write(1, ready)
        wait_for_end_of_input()
        os._exit(0)

    threading.Thread(target=go_on).start()
    ctypes.CDLL(None).syscall(SYS_EXIT, 0)


def wait_for_end_of_input() -> None:
    while os.read(0, 4096):
        continue


def main() -> None:
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if arguments.ignore_term else signal.SIG_DFL)
    if arguments.title:
        ctypes.CDLL(None).prctl(PR_SET_NAME, arguments.title.encode()[:15], 0, 0, 0)
    if arguments.uid is not None:
        os.setgroups([])
        os.setgid(arguments.uid)
        os.setuid(arguments.uid)
    if arguments.gpu:
        hold(arguments)
    for path in arguments.device:
        os.open(path, os.O_RDWR)
    for path in arguments.map:
        map_device(path)
    if arguments.sysv is not None:
        libc = ctypes.CDLL(None)
        number = libc.shmget(arguments.sysv, mmap.PAGESIZE, IPC_CREAT | 0o600)
        libc.shmat.restype = ctypes.c_void_p
        libc.shmat(number, None, 0)
    if arguments.retitle:
        retitle(arguments.retitle)
    child = os.fork() if arguments.inherit else None
    ready = f"ready {os.getpid()} {child or ''}".rstrip().encode() + b"\n"
    if arguments.zombie_leader:
        leave_main_thread(ready)
    if child != 0:
        os.write(1, ready)
    wait_for_end_of_input()
    os._exit(0)


if __name__ == "__main__":
    main()
