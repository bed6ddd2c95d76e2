"""Signs of life beside a log: rates from sums, memory curves, and what a silence looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpudash.core.startup.following import Curve, Life
from gpudash.core.startup.loglines import TreeSigns
from gpudash.core.startup.model import Phase, Startup
from gpudash.core.startup.stall import Observation, Signs, observe

CURVE_POINTS = 600
"""Of one GPU; more are thinned out, the oldest first."""
MOVED_BYTES = 16 << 20
"""Less is noise of a library's pool, not progress."""
_LONG_LOOK_S = 10.0
"""Reads come in bursts, so their rate is told over so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vital:
    """What was seen so far."""

    looks: tuple[TreeSigns, ...] = ()
    """The newest, oldest first; they reach back over the long look."""
    memory: Mapping[str, Curve] = field(default_factory=dict)
    gpu_pct: float | None = None
    active_s: float = 0.0
    """Viewer's clock: the last byte of the log that says something, or move of a bar."""
    moved_s: float | None = None
    """Viewer's clock: when GPU memory last changed."""

    @property
    def newest(self) -> TreeSigns | None:
        """The last look at the processes."""
        return self.looks[-1] if self.looks else None


def looked(vital: Vital, signs: TreeSigns) -> Vital:
    """Take one look at the processes; another root begins anew."""
    before = vital.looks
    if before and (before[-1].pid != signs.pid or signs.at_s < before[-1].at_s):
        before = ()
    while len(before) > 1 and signs.at_s - before[1].at_s >= _LONG_LOOK_S:
        before = before[1:]
    return replace(vital, looks=(*before, signs))


def measured(
    vital: Vital, used: Mapping[str, int], pct: float | None, *, at_s: float, began_s: float
) -> Vital:
    """Take one reading of the GPUs' memory."""
    memory = dict(vital.memory)
    moved_s = vital.moved_s
    for gpu, value in used.items():
        curve = memory.get(gpu, ())
        if not curve or abs(value - curve[-1][1]) >= MOVED_BYTES:
            moved_s = at_s
        memory[gpu] = thinned((*curve, (max(0.0, at_s - began_s), value)))
    return replace(vital, memory=memory, gpu_pct=pct, moved_s=moved_s)


def thinned(curve: Curve) -> Curve:
    """Return a curve with at most so many points: every second one of its older half goes."""
    if len(curve) <= CURVE_POINTS:
        return curve
    half = len(curve) // 2
    return (*curve[:half:2], *curve[half:])


def life_of(vital: Vital, now_s: float) -> Life:
    """Return what is seen, as a screen shows it."""
    newest = vital.newest
    read_bps, cpu_pct = _rates(vital.looks)
    return Life(
        silent_s=max(0.0, now_s - vital.active_s),
        read_bps=read_bps,
        cpu_pct=cpu_pct,
        gpu_pct=vital.gpu_pct,
        processes=None if newest is None else len(newest.pids),
    )


def _rates(looks: tuple[TreeSigns, ...]) -> tuple[float | None, float | None]:
    if len(looks) < 2:
        return None, None
    first, last = looks[0], looks[-1]
    passed_s = last.at_s - first.at_s
    if passed_s <= 0:
        return None, None
    cpu_pct = max(0.0, 100 * (last.cpu_s - first.cpu_s) / passed_s)
    if first.read_bytes is None or last.read_bytes is None:
        return None, cpu_pct
    return max(0.0, (last.read_bytes - first.read_bytes) / passed_s), cpu_pct


def stalled(
    startup: Startup, vital: Vital, now_s: float, earlier_s: float | None = None
) -> Observation | None:
    """Return what is worth saying of a silence, or None."""
    phase = startup.current or (startup.phases[-1] if startup.phases else None)
    if phase is None:
        return None
    life = life_of(vital, now_s)
    moved = None
    if vital.moved_s is not None:
        moved = vital.moved_s > vital.active_s and now_s - vital.moved_s < life.silent_s
    signs = Signs(
        phase=phase.name,
        phase_s=spent_s(startup, phase, now_s),
        silent_s=life.silent_s,
        last=_last(phase),
        read_bps=life.read_bps,
        cpu_pct=life.cpu_pct,
        gpu_pct=life.gpu_pct,
        memory_moved=moved,
    )
    return observe(signs, earlier_s)


def spent_s(startup: Startup, phase: Phase, now_s: float) -> float:
    """Return how long a running phase has lasted, by the log's time where it tells one.

    What was printed before we came would else count from our coming.
    """
    own_s = now_s - phase.start.at_s
    if phase.start.log_s is None or startup.now_s is None or startup.told_s is None:
        return max(0.0, own_s)
    return max(0.0, own_s, startup.now_s - phase.start.log_s + now_s - startup.told_s)


def _last(phase: Phase) -> str:
    progress = phase.progress
    if progress is None or progress.total is None:
        return ""
    return f"{progress.unit} {progress.done:.10g}/{progress.total:.10g}"
