"""Earlier start-ups of the same command: what they took, as stored values and what they tell now.

Pure: somebody else reads and writes the file. Commands and lines are masked before they get here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from gpudash.core.startup.model import Number, Outcome, Phase, Startup
from gpudash.core.startup.secrets import masked

COMPARED_RUNS = 3
"""The last so many good ones make the estimate."""
_ALONE = (0.7, 1.6)
"""How far one value, without others to compare, is trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPhase:
    """One phase of an earlier run."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One earlier start-up."""

    key: str
    """What makes it comparable: engine, version, model, parallel sizes, GPU, host."""
    command: str
    """With its secrets masked."""
    recorded_at: str
    """UTC, as text."""
    outcome: str
    phases: tuple[PastPhase, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=dict)
    memory: tuple[tuple[float, int], ...] = ()
    """Seconds since it began and bytes used: the median of its GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """When it will be ready, as a range in seconds from now."""

    low_s: float
    high_s: float
    basis: str
    """`earlier runs`, or `this bar`: then it is about the current phase alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One phase or number beside the earlier one."""

    name: str
    now: float
    before: float


def past_run(startup: Startup, *, key: str, command: str, recorded_at: str) -> PastRun:
    """Return what is worth storing of a start-up."""
    return PastRun(
        key=key,
        command=masked(command),
        recorded_at=recorded_at,
        outcome=startup.outcome.value,
        phases=tuple(
            PastPhase(name=phase.name, seconds=round(phase.seconds, 2))
            for phase in startup.phases
            if phase.seconds is not None
        ),
        numbers=dict(startup.numbers),
    )


CURVE_POINTS = 200


def median_curve(
    memory: Mapping[str, Sequence[tuple[float, int]]],
) -> tuple[tuple[float, int], ...]:
    """Return the median over the GPUs, second by second, thinned to what a chart can show."""
    if not any(memory.values()):
        return ()
    last_s = max(curve[-1][0] for curve in memory.values() if curve)
    step_s = max(1.0, last_s / CURVE_POINTS)
    found = []
    for number in range(int(last_s / step_s) + 1):
        at_s = number * step_s
        values = [
            max((point for point in curve if point[0] <= at_s), default=(0.0, 0))[1]
            for curve in memory.values()
            if curve
        ]
        found.append((round(at_s, 1), int(median(values))))
    return tuple(found)


def comparable(history: Sequence[PastRun], key: str) -> tuple[PastRun, ...]:
    """Return the last good runs of the same kind, newest last."""
    good = [run for run in history if run.key == key and run.outcome == Outcome.READY.value]
    return tuple(good[-COMPARED_RUNS:])


def estimate(startup: Startup, at_s: float, earlier: Sequence[PastRun]) -> Eta | None:
    """Return the time to READY where earlier runs tell it, else that of the current bar.

    `at_s` is our clock, the one that phases began by. None where nothing tells.
    """
    if startup.outcome is not Outcome.STARTING:
        return None
    current = startup.current
    own = _by_bar(current, at_s) if current is not None else None
    if not earlier:
        return own
    remaining = [_remaining(startup, current, at_s, run, own) for run in earlier]
    low, high = min(remaining), max(remaining)
    if len(remaining) == 1:
        low, high = low * _ALONE[0], high * _ALONE[1]
    return Eta(low_s=low, high_s=high, basis="earlier runs")


def _by_bar(phase: Phase, at_s: float) -> Eta | None:
    """Estimate by the bar over the whole phase: tqdm's own jumps when threads finish in bursts."""
    progress = phase.progress
    if progress is None or not progress.total or progress.done <= 0:
        return None
    spent_s = at_s - phase.start.at_s
    left_s = spent_s * (progress.total - progress.done) / progress.done
    return Eta(low_s=left_s * _ALONE[0], high_s=left_s * _ALONE[1], basis="this bar")


def _remaining(
    startup: Startup, current: Phase | None, at_s: float, run: PastRun, own: Eta | None
) -> float:
    """Return what this run says is left: the rest of the current phase and all behind it."""
    begun: dict[str, int] = {}
    for phase in startup.phases:
        begun[phase.name] = begun.get(phase.name, 0) + 1
    seen: dict[str, int] = {}
    left_s = 0.0
    for past in run.phases:
        seen[past.name] = seen.get(past.name, 0) + 1
        times = begun.get(past.name, 0)
        if seen[past.name] > times:
            left_s += past.seconds
        elif current is not None and past.name == current.name and seen[past.name] == times:
            spent_s = at_s - current.start.at_s
            middle = (own.low_s + own.high_s) / 2 if own is not None else past.seconds - spent_s
            left_s += max(0.0, middle)
    return left_s


def earlier_seconds(earlier: Sequence[PastRun], phase: str) -> float | None:
    """Return the median time of a phase in earlier runs."""
    found = [past.seconds for run in earlier for past in run.phases if past.name == phase]
    return median(found) if found else None


def compare(startup: Startup, before: PastRun) -> tuple[Delta, ...]:
    """Return phases and numbers that both runs have, in this run's order."""
    found: list[Delta] = []
    old: dict[str, list[float]] = {}
    for past in before.phases:
        old.setdefault(past.name, []).append(past.seconds)
    for phase in startup.phases:
        if phase.seconds is not None and old.get(phase.name):
            found.append(Delta(name=phase.name, now=phase.seconds, before=old[phase.name].pop(0)))
    for name, value in startup.numbers.items():
        known = before.numbers.get(name)
        if isinstance(value, int | float) and isinstance(known, int | float):
            found.append(Delta(name=name, now=float(value), before=float(known)))
    return tuple(found)


def to_document(run: PastRun) -> dict[str, Any]:
    """Return a run as JSON stores it."""
    return {
        "key": run.key,
        "command": run.command,
        "recorded_at": run.recorded_at,
        "outcome": run.outcome,
        "phases": [[past.name, past.seconds] for past in run.phases],
        "numbers": dict(run.numbers),
        "memory": [list(point) for point in run.memory],
    }


def from_document(document: Mapping[str, Any]) -> PastRun:
    """Read a stored run. Raises ValueError where it is none."""
    try:
        return PastRun(
            key=str(document["key"]),
            command=str(document["command"]),
            recorded_at=str(document["recorded_at"]),
            outcome=str(document["outcome"]),
            phases=tuple(
                PastPhase(name=str(name), seconds=float(seconds))
                for name, seconds in document["phases"]
            ),
            numbers=dict(document["numbers"]),
            memory=tuple((float(at_s), int(used)) for at_s, used in document.get("memory", ())),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a stored start-up: {error}") from error
