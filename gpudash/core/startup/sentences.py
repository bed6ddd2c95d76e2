"""Say a root cause in one sentence: what, where, when, and what a wrapper hid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpudash.core.startup import sentences_memory, sentences_model, sentences_ranks
from gpudash.core.startup.model import Number
from gpudash.core.startup.reading import Hit, Run
from gpudash.core.startup.wording import Told, aside, clipped, signal_name, when


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """What is said of a cause."""

    kind: str
    message: str
    rank: str | None = None
    details: Mapping[str, Number] = field(default_factory=dict)


_SAYING: Mapping[str, Callable[[Run, Hit], Told]] = {
    "cuda_oom": sentences_memory.cuda_oom,
    "kv_cache_no_memory": sentences_memory.kv_cache,
    "gpu_not_free": sentences_memory.gpu_not_free,
    "disk_full": sentences_memory.disk_full,
    "shm": sentences_memory.shared_memory,
    "port_in_use": sentences_ranks.port_in_use,
    "nccl_timeout": sentences_ranks.nccl_timeout,
    "nccl": sentences_ranks.nccl,
    "rank_desync": sentences_ranks.rank_desync,
    "rdzv_timeout": sentences_ranks.rendezvous,
    "watchdog_timeout": sentences_ranks.watchdog,
    "host_oom_or_sigkill": sentences_ranks.killed,
    "crash": sentences_ranks.crashed,
    "shape_mismatch": sentences_model.shape_mismatch,
    "missing_key": sentences_model.missing_key,
    "unsupported_arch": sentences_model.unsupported_arch,
    "unsupported_gpu": sentences_model.unsupported_gpu,
    "import_error": sentences_model.import_error,
    "hf_auth": sentences_model.hf_auth,
    "hf_not_found": sentences_model.hf_not_found,
    "hf_network": sentences_model.hf_network,
    "corrupt_file": sentences_model.corrupt_file,
    "file_not_found": sentences_model.file_not_found,
    "exception": sentences_model.exception,
    "warmup_failed": sentences_ranks.warmup_failed,
    "triton_resource": sentences_model.triton_resource,
}
_SPOKEN = {
    "driver": "CUDA can't be used",
    "gpu_count": "more GPUs wanted than there are",
    "compiler": "a kernel could not be compiled",
    "bad_argument": "wrong argument",
    "permission": "permission denied",
    "cuda_error": "CUDA error",
    "symptom": "failed; the log names no cause",
}


def say(run: Run, hit: Hit) -> Sentence:
    """Return the sentence for a hit."""
    told = _SAYING.get(hit.kind, _quoted)(run, hit)
    return Sentence(
        kind=told.kind or hit.kind,
        message=told.message,
        rank=told.rank or None,
        details={name: value for name, value in told.details.items() if value is not None},
    )


def say_exit(run: Run, code: int) -> tuple[str, str]:
    """Return kind and sentence where the exit status is all there is."""
    phase = run.current()
    during = when(phase.name if phase is not None else None)
    if code in (-9, 137):
        return (
            "host_oom_or_sigkill",
            f"killed by SIGKILL (exit code {code}){during}: most likely the host OOM killer or "
            "the cgroup memory limit",
        )
    if code in (-7, 135):
        return "shm", f"killed by SIGBUS (exit code {code}){during}: /dev/shm is most likely full"
    name = signal_name(code)
    if name:
        return "crash", f"killed by {name} (exit code {code}){during}; the log names no cause"
    return "exit", f"exited with code {code}{during}; the log names no cause"


def _quoted(_run: Run, hit: Hit) -> Told:
    said = hit.groups.get("text") or hit.groups.get("msg") or hit.groups.get("path") or ""
    quoted = clipped(said or hit.text)
    what = _SPOKEN.get(hit.kind, hit.kind.replace("_", " "))
    return Told(message=f"{what}: {quoted}{aside(hit.phase)}")
