"""A PyTorch process that takes and gives back device memory on command.

Lines on stdin: `take GPU MIB`, `free`, `busy SECONDS`, `end`. Answers `ok` on stdout.
"""

from __future__ import annotations

import sys
import time

import torch  # type: ignore[import-not-found]


def main() -> None:
    kept: list[object] = []
    print("ok", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "take":
            size = int(words[2]) * (1 << 20)
            kept.append(torch.empty(size, dtype=torch.uint8, device=f"cuda:{words[1]}"))
            torch.cuda.synchronize(int(words[1]))
        elif words[0] == "free":
            kept.clear()
            torch.cuda.empty_cache()
        elif words[0] == "busy":
            matrix = torch.rand(8192, 8192, device="cuda:0")
            until = time.monotonic() + float(words[1])
            while time.monotonic() < until:
                matrix @ matrix
                torch.cuda.synchronize()
            del matrix
            torch.cuda.empty_cache()
        elif words[0] == "end":
            break
        print("ok", flush=True)


if __name__ == "__main__":
    main()
