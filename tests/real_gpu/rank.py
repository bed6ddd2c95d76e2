"""A PyTorch rank in a state that hides who keeps its memory: `rank.py MODE MIB`.

`fork`: forks a child that inherits every handle, prints `ok PID CHILD`; `zombie`: its main thread
ends and another one lives; `plain`: just holds. Ends with its standard input, its child with it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading

import torch  # type: ignore[import-not-found]

SYS_EXIT = 93 if platform.machine() == "aarch64" else 60


def main() -> None:
    mode, mib = sys.argv[1], int(sys.argv[2])
    kept = torch.empty(mib << 20, dtype=torch.uint8, device="cuda:0")
    torch.cuda.synchronize(0)
    child = os.fork() if mode == "fork" else 0
    if mode == "fork" and child == 0:
        # The child holds what it inherited and never computes, like a loader's worker.
        sys.stdin.read()
        os._exit(0)
    print("ok", os.getpid(), child, kept.numel(), flush=True)
    if mode == "zombie":
        threading.Thread(target=sys.stdin.read).start()
        ctypes.CDLL(None).syscall(ctypes.c_long(SYS_EXIT), 0)
    sys.stdin.read()


if __name__ == "__main__":
    main()
