"""Sentences about memory: of a GPU, of the KV cache, of a disk, of /dev/shm."""

from __future__ import annotations

import re

from gpudash.core.startup.model import Number
from gpudash.core.startup.reading import Hit, Run
from gpudash.core.startup.wording import Told, after, amount, clipped, in_gib, rank_words, when

_OWN = re.compile(r"this process has ([\d.]+ [KMGT]iB) memory in use")
_OTHER = re.compile(r"Process (\d+) has ([\d.]+ [KMGT]iB) (?:memory )?in use")
_WANTED_MB = re.compile(r"expected file size is: ([\d.]+) MB")
_FREE_MB = re.compile(r"target location (\S+) only has ([\d.]+) MB")
_BUFFER = ("compute", "kv", "model")


def cuda_oom(run: Run, hit: Hit) -> Told:
    """`CUDA out of memory: tried to allocate 1.75 GiB on GPU 5 (79.11 GiB total, …) while …`."""
    found = hit.groups
    if "mib" in found:
        return _ggml(hit)
    if said := found.get("said"):
        return Told(message=f"CUDA out of memory {clipped(said)}")
    if "want" not in found:
        return Told(message=f"CUDA out of memory{_during(run, hit)}")
    gpu = found.get("gpu") or found.get("gpu2")
    total = found.get("total") or found.get("total2")
    free = found.get("free") or found.get("free2")
    own = _OWN.search(hit.text)
    details: dict[str, Number | None] = {
        "gpu": int(gpu) if gpu else None,
        "tried_gib": in_gib(found["want"]),
        "total_gib": in_gib(total),
        "free_gib": in_gib(free),
        "in_use_gib": in_gib(own[1]) if own else None,
        "exception_line": _said_again(run, hit),
    }
    if run.engine == "tgi" and hit.rank.isdigit():
        details["rank"] = int(hit.rank)
    tried = f"tried to allocate {amount(found['want'])}" + (f" on GPU {gpu}" if gpu else "")
    if hit.phase in ("cuda_graph", "cuda_graph_draft"):
        doing = f" ({hit.doing})" if hit.doing else ""
        room = f", {amount(free)} free of {amount(total)}" if free and total else ""
        return Told(
            message=f"CUDA out of memory{when(hit.phase)}{doing}: {tried}{room}{_tenants(hit)}",
            details=details,
        )
    held = f", {amount(own[1])} held by this process" if own else ""
    room = f" ({amount(total)} total, {amount(free)} free{held})" if total and free else ""
    return Told(
        message=f"CUDA out of memory: {tried}{room}{_during(run, hit)}{_tenants(hit)}",
        details=details,
    )


def _during(run: Run, hit: Hit) -> str:
    if run.engine == "tgi" and hit.phase == "load_weights":
        return _of_shard(run, hit)
    if (
        hit.phase in ("load_weights", "load_draft")
        and not hit.bar
        and run.engine in ("sglang", "vllm")
    ):
        return f" while creating the weight tensors ({hit.phase}, before the first shard)"
    return (when(hit.phase) or after(hit.after)) + (f" ({hit.bar})" if hit.bar else "")


def _said_again(run: Run, hit: Hit) -> int | None:
    """Return where the same rank's wrapper repeats it."""
    again = (h for h in run.hits if (h.kind, h.rank) == (hit.kind, hit.rank) and h.line > hit.line)
    return next((h.line for h in again), None)


def _of_shard(run: Run, hit: Hit) -> str:
    at = run.last("load_weights")
    started = len(run.phases[at].begun) if at is not None else 0
    rank = hit.rank or "0"
    if started == 1:
        return f" in shard {rank}; only one shard was started"
    return f" in shard {rank} of {started}"


def _tenants(hit: Hit) -> str:
    """Say whose the memory is where the message names others."""
    others = _OTHER.findall(hit.text)
    if len(others) > 1:
        return (
            f"; {len(others)} other processes hold memory there: if they are ranks of this job, "
            "CUDA_VISIBLE_DEVICES puts them all on one GPU"
        )
    if others and _OWN.search(hit.text):
        return f"; process {others[0][0]} holds {amount(others[0][1])} there"
    return ""


def _ggml(hit: Hit) -> Told:
    what = "model buffer"
    if hit.phase in ("kv_cache", "warmup"):
        what = "KV cache or compute buffer"
    return Told(
        message=f"cudaMalloc of {hit.groups['mib']} MiB on device {hit.groups['gpu']} failed: "
        f"out of memory ({what})",
        details={
            "gpu": int(hit.groups["gpu"]),
            "tried_gib": round(float(hit.groups["mib"]) / 1024, 2),
        },
    )


def kv_cache(run: Run, hit: Hit) -> Told:
    """Say what the KV cache needs and what there is."""
    found = hit.groups
    if "need" in found:
        est = found.get("est")
        possible = f"; largest possible max_model_len is {est}" if est else ""
        return Told(
            message=f"KV cache too small: one request of max_model_len {found['len']} needs "
            f"{found['need']} GiB, {found['have']} GiB available{possible}",
            details={
                "needed_gib": float(found["need"]),
                "available_gib": float(found["have"]),
                "max_model_len": int(found["len"]),
                "estimated_max_len": int(est) if est else None,
            },
        )
    if "tokens" in found:
        return Told(
            message=f"KV cache too small: max_model_len {found['len']} is more than the "
            f"{found['tokens']} tokens that fit",
            details={"max_model_len": int(found["len"]), "estimated_max_len": int(found["tokens"])},
        )
    if "n" in found:
        return Told(message=f"not enough memory for {found['n']} prefill tokens{when(hit.phase)}")
    weights = run.numbers.get("weights_gb_per_rank") or run.numbers.get("weights_gib_per_rank")
    left = run.numbers.get("avail_gb_after_load_tp0")
    after = ""
    if isinstance(weights, float | int):
        after = f": weights took {weights:.2f} GB"
        if isinstance(left, float | int):
            after += f", {left:.2f} GB left"
    if run.engine == "sglang":
        fraction = run.arguments.get("mem_fraction_static")
        under = "under --mem-fraction-static" + (f" ({fraction})" if fraction else "")
        return Told(message=f"Not enough memory for the KV cache {under}{after}")
    return Told(message=f"no memory left for the KV cache{after}")


def gpu_not_free(_run: Run, hit: Hit) -> Told:
    """Say that somebody else holds the GPU."""
    found = hit.groups
    if "free" not in found:
        return Told(
            message="memory is unbalanced over the GPUs: another process holds some of them",
        )
    device = found.get("dev")
    who = rank_words(hit.rank) if hit.rank else (device or "this process")
    return Told(
        message=f"GPU of {who} is not empty: {found['free']} of {found['total']} GiB free, "
        f"{found['want']} GiB wanted (gpu_memory_utilization {found['util']})",
        details={
            "free_gib": float(found["free"]),
            "total_gib": float(found["total"]),
            "wanted_gib": float(found["want"]),
        },
    )


def disk_full(run: Run, hit: Hit) -> Told:
    """Say what was written, how much it needs, and where; /dev/shm is no disk."""
    path = hit.groups.get("path", "")
    if "/dev/shm" in hit.text or path.startswith("/dev/shm"):
        return Told(
            kind="shm",
            message=f"/dev/shm is full{when(hit.phase)}: the container's shm is too small",
        )
    name, warning = run.arguments.get("download file", ""), run.arguments.get("disk warning", "")
    wanted, free = _WANTED_MB.search(warning), _FREE_MB.search(warning)
    what = f" downloading {name}" if hit.phase == "download" and name else ""
    room = ""
    details: dict[str, Number | None] = {}
    if wanted and free:
        folder = re.sub(r"(/hub)/.*$", r"\1", free[1])
        room = f" (needs {int(float(wanted[1]))} MB, {int(float(free[2]))} MB free in {folder})"
        details = {
            "needed_mb": float(wanted[1]),
            "free_mb": float(free[2]),
            "warning_line": int(run.arguments["disk warning line"]),
        }
    elif path:
        room = f": {path}"
    during = f" while{what}" if what else when(hit.phase)
    return Told(message=f"disk full{during}{room}", details=details)


def shared_memory(_run: Run, hit: Hit) -> Told:
    """Say that /dev/shm is too small."""
    name = hit.groups.get("file") or hit.groups.get("file2") or ""
    if "code" in hit.groups or "code2" in hit.groups or "signal" in hit.groups:
        who = f"{rank_words(hit.groups.get('rank') or hit.rank)} " if hit.rank else "a rank "
        return Told(
            message=f"{who}was killed by SIGBUS{when(hit.phase)}: /dev/shm is most likely full"
        )
    about = f" ({name})" if name else ""
    return Told(message=f"/dev/shm is too small{about}{when(hit.phase)}")
