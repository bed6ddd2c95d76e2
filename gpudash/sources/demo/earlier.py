"""What the demo's jobs took at an earlier launch that never was: made, like all of it."""

from __future__ import annotations

from gpudash.core.startup.history import PastPhase, PastRun
from gpudash.sources.demo.jobs import memory_mib

HOST, GPU = "gpu-a", "NVIDIA RTX PRO 6000 Blackwell Server Edition"
_FASTER = 0.86
"""The disk was warm then."""
_PHASES = (
    ("launch", 4.0),
    ("init_dist", 7.0),
    ("load_weights", 34.0),
    ("kv_cache", 1.1),
    ("cuda_graph", 12.4),
    ("load_draft", 2.3),
    ("cuda_graph_draft", 6.1),
    ("http_up", 1.2),
    ("warmup", 3.2),
)


def earlier_runs(keys: tuple[str, ...] = ()) -> tuple[PastRun, ...]:
    """Return the earlier start-up of the server, under each of the keys that name it."""
    memory = tuple(
        (float(at_s), memory_mib("serve", 0, at_s / _FASTER) << 20) for at_s in range(76)
    )
    return tuple(
        PastRun(
            key=key,
            command="python3 -m sglang.launch_server --model-path /models/Qwen3-235B-A22B-FP8",
            recorded_at="2026-11-28T18:40:07Z",
            outcome="ready",
            phases=tuple(PastPhase(name=name, seconds=seconds) for name, seconds in _PHASES),
            memory=memory,
        )
        for key in keys or (KEY,)
    )


KEY = f"sglang||/models/Qwen3-235B-A22B-FP8|tp=8|{GPU}|{HOST}"
