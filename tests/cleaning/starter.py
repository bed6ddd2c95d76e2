"""Starts a program whose own parent is dead by the time it is ready. Standard library only.

    python starter.py how -- program …

`how`: `orphan` (forked by a launcher that ends), `nohup` (the same, SIGHUP ignored), `setsid` (a
session of its own). The program keeps standard input and output: it ends with the test.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    how, argv = sys.argv[1], sys.argv[3:]
    if os.fork():
        os._exit(0)
    if how == "nohup":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if how == "setsid":
        os.setsid()
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
