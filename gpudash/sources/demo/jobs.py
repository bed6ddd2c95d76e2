"""The jobs that are launched in the demo: whose processes there are and what each holds, by time.

Memory follows the log of the same job: a loader takes its space at once and copies into it, the
cache comes in one jump, graphs in small steps.
"""

from __future__ import annotations

from gpudash.sources.demo.logs import LATE_RANK
from gpudash.sources.demo.noise import key_of, smooth

READY_S = {"serve": 86.8, "train": 38.3}
FAILED_S = 47.4
"""When the server of `oom` has ended; its ranks stay."""
_CURVES: dict[str, tuple[tuple[float, int], ...]] = {
    # Seconds since the launch, MiB of a rank from there on.
    "serve": (
        (4.2, 506), (7.0, 1_302), (12.4, 8_200), (13.6, 30_620), (56.9, 70_480), (59.0, 70_690),
        (63.0, 70_910), (68.0, 71_110), (71.6, 71_680), (74.0, 72_050), (76.0, 72_300),
        (80.0, 72_640),
    ),
    "oom": (
        (4.2, 506), (7.0, 1_302), (12.4, 8_200), (13.6, 30_620), (38.9, 94_210), (41.0, 94_950),
        (43.0, 95_760), (45.0, 96_480),
    ),
    "train": (
        (6.0, 512), (8.0, 1_240), (11.0, 6_100), (14.0, 9_800), (18.0, 13_900), (22.0, 16_700),
        (32.4, 41_300), (34.0, 68_900), (37.0, 71_440),
    ),
}  # fmt: skip


def memory_mib(job: str, rank: int, after_s: float) -> int:
    """Return what a rank holds so long after the launch; 0 before it has a context."""
    held = 0
    # Ranks don't move in step, and the late one takes its cache last.
    own_s = after_s - 0.07 * (rank * 3 % 8)
    for at_s, mib in _CURVES[job]:
        late_s = 1.2 if rank == LATE_RANK and at_s > 50 else 0.0
        if own_s >= at_s + late_s:
            held = mib
    return held + rank if held else 0


def load(job: str, rank: int, after_s: float, seed: int, at_s: float) -> float:
    """Return how busy a rank keeps its GPU, 0 to 1."""
    quiet_s = {"serve": 58.0, "oom": 40.0, "train": 32.0}[job]
    if after_s < quiet_s:
        return 0.03 * smooth(key_of(seed, "load", rank), at_s, 2.0)
    if job == "train":
        return 0.9 + 0.08 * smooth(key_of(seed, "train", rank), at_s, 2.0)
    if after_s < READY_S["serve"]:
        return 0.35 + 0.3 * smooth(key_of(seed, "graph", rank), at_s, 2.0)
    return 0.62 + 0.3 * smooth(key_of(seed, "serve", rank), at_s, 3.0)
