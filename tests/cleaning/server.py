"""A server's root without a GPU: it starts workers and ends them when it is asked to end.

    python server.py WORDS_OF_A_WORKER [-- WORDS_OF_THE_NEXT]

Prints `ready ROOT WORKER …` once all of them hold their memory. Standard library only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import FrameType


def main() -> None:
    workers: list[subprocess.Popen[bytes]] = []

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
        os._exit(0)

    words: list[list[str]] = [[]]
    for word in sys.argv[1:]:
        if word == "--":
            words.append([])
        else:
            words[-1].append(word)
    for argv in words:
        worker = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert worker.stdout is not None
        worker.stdout.readline()
        workers.append(worker)
    signal.signal(signal.SIGTERM, end)
    print("ready", os.getpid(), *(worker.pid for worker in workers), flush=True)
    while os.read(0, 4096):
        continue
    end(0, None)


if __name__ == "__main__":
    main()
