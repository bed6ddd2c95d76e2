"""A start-up on one time axis: a row for each phase, and what the earlier run says is to come.

The axis begins with the launch, or with the log's first line where that is earlier. Arrival counts;
only what was read at once, by who attaches late, stands where the log itself says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from gpudash.core.startup.history import PastRun
from gpudash.core.startup.model import Moment, Outcome, Phase, Progress, Startup

CAUGHT_UP_S = 1.0
"""What arrives so soon after the first lines was in the log before."""
LATE_S = 15.0
LATE_SHARE = 0.15
"""Later than the earlier run by both of these is worth a colour (mockups spec §4)."""

LABELS = {
    "launch": "start",
    "download": "download",
    "init_dist": "connect GPUs",
    "load_weights": "load weights",
    "load_draft": "load draft",
    "kv_cache": "KV cache",
    "compile": "compile",
    "cuda_graph": "CUDA graphs",
    "cuda_graph_draft": "draft graphs",
    "http_up": "HTTP up",
    "warmup": "warm-up",
    "train_setup": "set up training",
    "train_loop": "training steps",
}


class Stage(Enum):
    """Where one phase is."""

    DONE = "done"
    NOW = "now"
    FAILED = "failed"
    TO_COME = "to come"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row: all intervals of the phases of one name. Times are seconds on the axis."""

    name: str
    stage: Stage
    spans: tuple[tuple[float, float], ...] = ()
    expected: tuple[float, float] | None = None
    """What is still to come of it, as in the earlier run."""
    seconds: float | None = None
    """How long it took or runs; of one to come, how long it took before."""
    before_s: float | None = None
    """How long it took in the earlier run."""
    progress: Progress | None = None
    laggards: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return its name for people."""
        return LABELS.get(self.name, self.name.replace("_", " "))

    @property
    def delta_s(self) -> float | None:
        """Return how much longer than before; of a running one only once it is over that."""
        if self.seconds is None or self.before_s is None or self.stage is Stage.TO_COME:
            return None
        late_s = self.seconds - self.before_s
        return None if self.stage is Stage.NOW and late_s <= 0 else late_s

    @property
    def is_late(self) -> bool:
        """Tell whether it took much longer than before."""
        late_s = self.delta_s
        return (
            late_s is not None
            and late_s >= LATE_S
            and late_s >= LATE_SHARE * max(self.before_s or 0.0, 1.0)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All rows, and the axis they stand on."""

    zero_s: float
    """The viewer's clock at 0 of the axis."""
    now: float
    """Where it is now, or where it ended."""
    steps: tuple[Step, ...]
    expected_end: float | None = None
    """When it would be ready after the earlier run."""

    @property
    def span(self) -> float:
        """Return up to where the axis has something to show."""
        ends = [end for step in self.steps for _, end in step.spans]
        return max([self.now, self.expected_end or 0.0, *ends])

    @property
    def late_s(self) -> float:
        """Return by how much it is behind the earlier run, over all phases that began."""
        return sum(step.delta_s for step in self.steps if step.delta_s is not None)


def timeline(
    startup: Startup, *, started_s: float, now_s: float, earlier: PastRun | None = None
) -> Timeline:
    """Lay a start-up out. `started_s` and `now_s` are the viewer's clock."""
    origin_s = _origin(startup, started_s)
    zero_s = min(started_s, origin_s)
    caught_up_s = min((phase.start.at_s for phase in startup.phases), default=0.0) + CAUGHT_UP_S

    def at(moment: Moment) -> float:
        if moment.log_s is not None and moment.at_s <= caught_up_s:
            return max(0.0, origin_s + moment.log_s - zero_s)
        return max(0.0, moment.at_s - zero_s)

    now = max(0.0, _end(startup, origin_s, now_s) - zero_s)
    begun = _begun(startup, at, now, earlier)
    is_open = startup.outcome is Outcome.STARTING
    steps, end = _with_expected(begun, now, earlier, has_future=is_open)
    return Timeline(zero_s=zero_s, now=now, steps=steps, expected_end=end)


def _origin(startup: Startup, started_s: float) -> float:
    """Return the viewer's clock at 0 of the log's time: what arrives is never early."""
    moments = [
        moment
        for phase in startup.phases
        for moment in (phase.start, phase.end, phase.heard)
        if moment is not None and moment.log_s is not None
    ]
    return min((one.at_s - (one.log_s or 0.0) for one in moments), default=started_s)


def _end(startup: Startup, origin_s: float, now_s: float) -> float:
    """Return when it was over; now while it runs."""
    if startup.outcome is Outcome.READY:
        by_log = origin_s + startup.ready_s if startup.ready_s is not None else None
        first_s = min((phase.start.at_s for phase in startup.phases), default=0.0)
        arrived_s = startup.ready_at_s
        if arrived_s is not None and (by_log is None or arrived_s > first_s + CAUGHT_UP_S):
            return arrived_s
        return by_log if by_log is not None else now_s
    if startup.outcome is Outcome.FAILED and startup.now_s is not None:
        return min(now_s, origin_s + startup.now_s)
    return now_s


def _begun(
    startup: Startup, at: Callable[[Moment], float], now: float, earlier: PastRun | None
) -> list[Step]:
    grouped: dict[str, list[Phase]] = {}
    for phase in startup.phases:
        grouped.setdefault(phase.name, []).append(phase)
    current = startup.current
    failure = startup.failure
    failed = failure.phase if failure is not None and failure.after_ready_s is None else None
    if failure is not None and failed not in grouped:
        failed = current.name if current is not None else None
    steps = []
    for name, phases in grouped.items():
        spans = tuple(
            (at(phase.start), max(at(phase.start), at(phase.end) if phase.end else now))
            for phase in phases
        )
        if name == "launch" and spans:
            # It begins with the process, before the first line.
            spans = ((0.0, spans[0][1]), *spans[1:])
        runs = any(phase.is_open for phase in phases)
        stage = Stage.NOW if runs else Stage.DONE
        if startup.outcome is not Outcome.STARTING and runs:
            stage = Stage.DONE
        if name == failed:
            stage = Stage.FAILED
        steps.append(
            Step(
                name=name,
                stage=stage,
                spans=spans,
                seconds=sum(
                    _seconds(phase, span, startup)
                    for phase, span in zip(phases, spans, strict=True)
                ),
                before_s=_before(earlier, name),
                progress=phases[-1].progress,
                laggards=phases[-1].laggards,
            )
        )
    return steps


def _seconds(phase: Phase, span: tuple[float, float], startup: Startup) -> float:
    """Return how long it took: as we saw it, by the log where it was read at once."""
    known = phase.seconds
    seen = phase.end is not None and phase.end.at_s > startup.phases[0].start.at_s + CAUGHT_UP_S
    return span[1] - span[0] if known is None or seen else known


def _before(earlier: PastRun | None, name: str) -> float | None:
    if earlier is None:
        return None
    found = [past.seconds for past in earlier.phases if past.name == name]
    return sum(found) if found else None


def _with_expected(
    steps: list[Step], now: float, earlier: PastRun | None, *, has_future: bool
) -> tuple[tuple[Step, ...], float | None]:
    """Add what the earlier run had behind now, one after the other as it was there."""
    if earlier is None:
        return tuple(steps), None
    known = {step.name: place for place, step in enumerate(steps)}
    at = now
    for step in steps:
        if step.stage is Stage.NOW and has_future and step.before_s is not None:
            left = step.before_s - (step.seconds or 0.0)
            left = _by_bar(step, now) if step.progress is not None else left
            if left > 0:
                steps[known[step.name]] = replace(step, expected=(at, at + left))
                at += left
    for past in earlier.phases:
        if past.name in known:
            continue
        known[past.name] = len(steps)
        seconds = _before(earlier, past.name) or 0.0
        span = (at, at + seconds) if has_future else None
        steps.append(
            Step(
                name=past.name,
                stage=Stage.TO_COME,
                expected=span,
                seconds=seconds if has_future else None,
                before_s=seconds,
            )
        )
        at += seconds
    return tuple(steps), at if has_future else None


def _by_bar(step: Step, now: float) -> float:
    """Return what is left of a phase by its own bar, else by the earlier run."""
    progress = step.progress
    before = step.before_s or 0.0
    spent = now - step.spans[-1][0]
    if progress is None or not progress.total or progress.done <= 0 or spent <= 0:
        return before - (step.seconds or 0.0)
    return spent * (progress.total - progress.done) / progress.done
