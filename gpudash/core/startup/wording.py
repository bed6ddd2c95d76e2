"""Words and amounts that the sentences share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudash.core.names import printable
from gpudash.core.startup.model import Number
from gpudash.core.startup.secrets import masked

_WHEN = {
    "launch": "while starting",
    "download": "while downloading",
    "init_dist": "while joining the process group",
    "load_weights": "while loading weights",
    "load_draft": "while loading the draft",
    "kv_cache": "while allocating the KV cache",
    "compile": "while compiling kernels",
    "cuda_graph": "during CUDA graph capture",
    "cuda_graph_draft": "during CUDA graph capture of the draft",
    "http_up": "while opening its port",
    "warmup": "during warm-up",
    "train_setup": "while setting up training",
    "train_loop": "while training",
}
_AFTER = {
    "init_dist": "after joining the process group",
    "load_weights": "after loading weights",
    "load_draft": "after loading the draft",
    "kv_cache": "after allocating the KV cache",
    "compile": "after compiling kernels",
    "cuda_graph": "after CUDA graph capture",
    "cuda_graph_draft": "after CUDA graph capture of the draft",
    "serving": "while serving",
}
_SIGNALS = {
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_IN_GIB = {"bytes": 2**-30, "KiB": 2**-20, "MiB": 2**-10, "GiB": 1.0, "TiB": 1024.0}
LONGEST = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A sentence and the numbers in it."""

    message: str
    kind: str = ""
    """Where it turned out to be another one."""
    rank: str = ""
    details: Mapping[str, Number | None] = field(default_factory=dict)


def when(phase: str | None) -> str:
    """Return ` while loading weights`, with its gap, or nothing."""
    words = _WHEN.get(phase or "")
    return f" {words}" if words else ""


def aside(phase: str | None) -> str:
    """Return ` (while loading weights)`, behind words that are quoted."""
    words = _WHEN.get(phase or "")
    return f" ({words})" if words else ""


def after(phase: str | None) -> str:
    """Return ` after loading weights`, where no phase ran."""
    words = _AFTER.get(phase or "")
    return f" {words}" if words else ""


def clipped(text: str) -> str:
    """Return outside text as one short line without secrets."""
    plain = masked(printable(text.strip()))
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def amount(text: str) -> str:
    """Write `128.00 MiB` as `128 MiB`."""
    value, _, unit = text.partition(" ")
    if "." in value:
        value = value.rstrip("0").rstrip(".")
    return f"{value} {unit}"


def in_gib(text: str | None) -> float | None:
    """Return `861.62 MiB` in GiB; what is smaller than a GiB with three digits that count."""
    if not text:
        return None
    value, _, unit = text.partition(" ")
    return float(value) if unit == "GiB" else float(f"{float(value) * _IN_GIB[unit]:.3g}")


def signal_name(code: int) -> str:
    """Return the signal that ended a process, or nothing."""
    number = -code if code < 0 else code - 128
    return _SIGNALS.get(number, f"signal {number}" if 0 < number < 65 else "")


def rank_words(rank: str) -> str:
    """Write a rank for a sentence: `rank 3`, `TP5`."""
    return f"rank {rank}" if rank.isdigit() else rank
