"""A PyTorch training loop for torchrun: `steps.py (train|oom) STEPS`.

Each rank takes 2 GiB on its own GPU and reduces over NCCL; rank 0 prints one line a step. `oom`
takes memory until there is none. Everything ends by itself.
"""

from __future__ import annotations

import os
import sys
import time

import torch  # type: ignore[import-not-found]
import torch.distributed as dist  # type: ignore[import-not-found]

SIDE = 8192
GIB = 1 << 30


def main() -> None:
    mode, steps = sys.argv[1], int(sys.argv[2])
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    kept = [torch.empty(2 * GIB, dtype=torch.uint8, device=f"cuda:{local}")]
    while mode == "oom":
        kept.append(torch.empty(16 * GIB, dtype=torch.uint8, device=f"cuda:{local}"))
    weights = torch.rand(SIDE, SIDE, device=f"cuda:{local}")
    for step in range(1, steps + 1):
        loss = (weights @ weights).mean()
        dist.all_reduce(loss)
        torch.cuda.synchronize(local)
        if dist.get_rank() == 0:
            print(f"step {step}/{steps} loss {float(loss):.4f}", flush=True)
        time.sleep(0.2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
