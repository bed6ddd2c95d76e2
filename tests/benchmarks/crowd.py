"""A host with many processes: forks of one small Python, each with some dozen descriptors open.

`python crowd.py PROCESSES DESCRIPTORS`: says `up`, waits for the end of its input, ends them all.
Every eighth process holds a stand-in device. Standard library only.
"""

from __future__ import annotations

import os
import socket
import sys


def main() -> None:
    processes, descriptors = int(sys.argv[1]), int(sys.argv[2])
    stop_read, stop_write = os.pipe()
    up_read, up_write = os.pipe()
    children = [
        _member(number, descriptors, stop_read, stop_write, up_read, up_write)
        for number in range(processes)
    ]
    ready = 0
    while ready < processes:
        ready += len(os.read(up_read, processes))
    os.write(1, b"up\n")
    while os.read(0, 4096):
        continue
    os.close(stop_write)
    os.close(stop_read)
    for child in children:
        os.waitpid(child, 0)


def _member(
    number: int, descriptors: int, stop_read: int, stop_write: int, up_read: int, up_write: int
) -> int:
    child = os.fork()
    if child:
        return child
    os.close(stop_write)
    os.close(up_read)
    opened: list[object] = []
    while len(opened) < descriptors - 5:
        # What servers have open: files, pipes, sockets.
        opened += [os.open(__file__, os.O_RDONLY), *os.pipe(), socket.socket()]
    if number % 8 == 0:
        os.open("/dev/full", os.O_RDWR)
    os.write(up_write, b".")
    os.read(stop_read, 1)
    os._exit(0)


if __name__ == "__main__":
    main()
