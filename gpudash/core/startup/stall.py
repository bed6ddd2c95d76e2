"""Say what is observed while nothing seems to happen; never that it is dead.

Signs of life, strongest first: bytes of the log, a bar, GPU memory, reads from disk, CPU. A load
of weights is silent for minutes and flat in memory by design, so only all signs together count,
and how long is normal depends on the phase and on the earlier start-up of the same command.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.units import format_duration

READS_BPS = 1e6
"""Reading at least this much from disk or network is work."""
WORKS_CPU_PCT = 5.0
BUSY_GPU_PCT = 95.0
_SHORTEST_S = 15.0
_LIMITS_S = {
    "launch": (60.0, 300.0),
    "download": (60.0, 300.0),
    "init_dist": (60.0, 120.0),
    "load_weights": (180.0, 600.0),
    "load_draft": (180.0, 600.0),
    "kv_cache": (60.0, 300.0),
    "compile": (600.0, 1200.0),
    "cuda_graph": (120.0, 600.0),
    "cuda_graph_draft": (120.0, 600.0),
    "http_up": (60.0, 300.0),
    "warmup": (60.0, 300.0),
    "train_setup": (120.0, 600.0),
    "train_loop": (300.0, 600.0),
}
_DEFAULT_S = (60.0, 300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What is seen of a process beside its log; None is not known."""

    phase: str
    phase_s: float
    """How long the phase has run."""
    silent_s: float
    """Since the last byte of the log or move of a bar."""
    last: str = ""
    """The last sign of progress: `shard 18/62`."""
    read_bps: float | None = None
    cpu_pct: float | None = None
    gpu_pct: float | None = None
    memory_moved: bool | None = None
    """GPU memory changed within the silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What to say about a silence."""

    is_long: bool
    """Beyond what any normal run of this phase takes."""
    text: str
    hint: str = ""


def observe(signs: Signs, earlier_s: float | None = None) -> Observation | None:
    """Return what is worth saying, or None while the silence is normal.

    `earlier_s` is how long this phase took in the earlier start-up of the same command.
    """
    slow_s, long_s = _limits(signs.phase, earlier_s)
    waited_s = signs.silent_s if earlier_s is None else max(signs.silent_s, signs.phase_s)
    if waited_s < slow_s or signs.silent_s < _SHORTEST_S:
        return None
    if (work := _work(signs)) is not None:
        return Observation(
            is_long=False, text=f"log silent for {format_duration(signs.silent_s)}, {work}"
        )
    told = "; ".join(part for part in (_last(signs), *_idle(signs)) if part)
    return Observation(
        is_long=waited_s >= long_s,
        text=f"no sign of progress for {format_duration(signs.silent_s)}"
        + (f" ({told})" if told else ""),
        hint=_hint(signs) if waited_s >= long_s else "",
    )


def _limits(phase: str, earlier_s: float | None) -> tuple[float, float]:
    if earlier_s is None:
        return _LIMITS_S.get(phase, _DEFAULT_S)
    return max(2 * earlier_s, _SHORTEST_S), max(5 * earlier_s, 2 * _SHORTEST_S)


def _work(signs: Signs) -> str | None:
    """Name the work that goes on in silence."""
    if signs.read_bps is not None and signs.read_bps >= READS_BPS:
        return f"reading {rate(signs.read_bps)}"
    if signs.memory_moved:
        return "GPU memory still moves"
    busy = signs.cpu_pct is not None and signs.cpu_pct >= WORKS_CPU_PCT
    if busy and signs.phase in ("compile", "cuda_graph", "cuda_graph_draft", "launch"):
        return f"CPU {signs.cpu_pct:.0f} %"
    return None


def _last(signs: Signs) -> str:
    return f"last: {signs.last}" if signs.last else ""


def _idle(signs: Signs) -> list[str]:
    told = []
    if signs.read_bps is not None:
        told.append(f"disk read {rate(signs.read_bps)}")
    if signs.cpu_pct is not None:
        idle = signs.cpu_pct < WORKS_CPU_PCT
        told.append("CPU idle" if idle else f"CPU {signs.cpu_pct:.0f} %")
    if signs.gpu_pct is not None and signs.gpu_pct >= BUSY_GPU_PCT:
        told.append(f"GPU {signs.gpu_pct:.0f} %")
    return told


def _hint(signs: Signs) -> str:
    if signs.phase != "init_dist":
        return ""
    if signs.gpu_pct is not None and signs.gpu_pct >= BUSY_GPU_PCT:
        return "GPUs spin in a collective: try NCCL_P2P_DISABLE=1 (P2P, ACS, IOMMU)"
    return "a rank or node is missing: is every node started, the address and the firewall right?"


def rate(bytes_s: float) -> str:
    """Write a rate: `2.9 GB/s`."""
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_s >= size:
            return f"{bytes_s / size:.1f} {unit}"
    return f"{bytes_s:.0f} B/s"
