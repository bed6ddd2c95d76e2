"""What to try after a failure: at most three things, each with what it costs.

What the command said is taken from the command itself; where a flag isn't there, nothing is said
of its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gpudash.core.startup.model import Failure

MOST = 3
_FRACTION = re.compile(r"(--mem-fraction-static|--gpu-memory-utilization)[ =](0?\.\d+|1(?:\.0)?)")
_GRAPHS = re.compile(r"(--cuda-graph-max-bs)[ =](\d+)")
_LENGTH = re.compile(r"(--max-model-len|--context-length)[ =](\d+)")
_SIZE = re.compile(r"bs=(\d+)")
_STEP = 0.04
_COSTS: Mapping[str, str] = {
    "kv_cache_no_memory": "less cache: fewer tokens at the same time",
    "port_in_use": "nothing else changes",
    "disk_full": "the download begins anew where it stopped",
    "hf_auth": "once for this account",
    "host_oom_or_sigkill": "the host's memory, not the GPU's",
    "nccl": "slower start, much more log",
    "shm": "takes host memory while it runs",
    "corrupt_file": "downloads that file anew",
}


class Remedy(NamedTuple):
    """One thing to try."""

    what: str
    cost: str = ""


def remedies(
    failure: Failure, command: str = "", *, gpu_bytes: int = 0, neighbour: str = ""
) -> tuple[Remedy, ...]:
    """Return what to try, the cheapest first.

    `gpu_bytes` is the size of one GPU; `neighbour` says who else holds memory where it failed.
    """
    found: list[Remedy] = []
    if neighbour and failure.kind in ("cuda_oom", "kv_cache_no_memory", "gpu_not_free"):
        found.append(Remedy(f"ask {neighbour} to end, or use other GPUs", "nothing else changes"))
    if failure.kind == "cuda_oom":
        found += _memory(failure, command, gpu_bytes)
    if len(found) < MOST and failure.hint:
        found += _hinted(failure, {one.what.split()[0] for one in found})
    return tuple(found[:MOST])


def _memory(failure: Failure, command: str, gpu_bytes: int) -> list[Remedy]:
    found = []
    fraction = _FRACTION.search(command)
    if fraction:
        now = float(fraction[2])
        lower = max(0.1, round(now - _STEP, 2))
        spare = (
            f"; leaves {(now - lower) * gpu_bytes / 2**30:.1f} GiB more per GPU"
            if gpu_bytes
            else ""
        )
        found.append(
            Remedy(f"{fraction[1]} {lower:.2f}", f"now {fraction[2]}{spare}, less KV cache")
        )
    if failure.phase in ("cuda_graph", "cuda_graph_draft"):
        known = _GRAPHS.search(command)
        size = _SIZE.search(failure.message)
        most = int(known[2]) if known else int(size[1]) if size else 0
        if most > 1:
            said = f"now {most}" if known else f"failed at {most}"
            found.append(
                Remedy(
                    f"--cuda-graph-max-bs {most // 2}", f"{said}; larger batches run without graphs"
                )
            )
    elif length := _LENGTH.search(command):
        half = int(length[2]) // 2
        found.append(Remedy(f"{length[1]} {half}", f"now {length[2]}; shorter prompts only"))
    return found


def _hinted(failure: Failure, known: set[str]) -> list[Remedy]:
    parts = [part.strip() for part in re.split(r"; (?![^(]*\))|, or ", failure.hint)]
    fresh = [part for part in parts if part and not any(one in part for one in known)]
    cost = _COSTS.get(failure.kind, "")
    return [Remedy(part, cost if number == 0 else "") for number, part in enumerate(fresh)]
