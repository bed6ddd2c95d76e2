"""A server-shaped family on real GPUs: a root and two workers with titles of their own.

`server.py MIB`: the root starts one worker on each of the first two GPUs (both on the only one),
names itself and them as engines do, prints `ok ROOT WORKER WORKER`, and ends on SIGTERM as servers
do: it ends its workers, then itself. `server.py MIB each`: one worker on every GPU, and a helper
that has none.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys


def retitle(title: str) -> None:
    """Write over what /proc/PID/cmdline shows, and name the main thread alike."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    text = title.encode()[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))
    ctypes.CDLL(None).prctl(15, title.encode()[:15], 0, 0, 0)


def worker(gpu: int, mib: int) -> None:
    import torch  # type: ignore[import-not-found]

    kept = torch.empty(mib << 20, dtype=torch.uint8, device=f"cuda:{gpu}")
    torch.cuda.synchronize(gpu)
    retitle(f"sglang::scheduler_TP{sys.argv[3]}")
    print("ok", os.getpid(), kept.numel(), flush=True)
    signal.pause()


def helper() -> None:
    retitle("sglang::detokenizer")
    print("ok", os.getpid(), flush=True)
    signal.pause()


def main() -> None:
    mib = int(sys.argv[1])
    if sys.argv[2:] == ["helper"]:
        helper()
        return
    is_each = sys.argv[2:] == ["each"]
    if len(sys.argv) > 2 and not is_each:
        worker(int(sys.argv[2]), mib)
        return
    gpus = len(
        subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    )
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, str(mib), *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        for words in (
            *((str(rank % gpus), str(rank)) for rank in range(gpus if is_each else 2)),
            *((("helper",),) if is_each else ()),
        )
    ]
    for one in workers:
        assert one.stdout is not None
        one.stdout.readline()

    def leave(*_: object) -> None:
        for one in workers:
            one.terminate()
        for one in workers:
            one.wait()
        os._exit(0)

    signal.signal(signal.SIGTERM, leave)
    retitle("sglang::server")
    print("ok", os.getpid(), *(one.pid for one in workers), flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
