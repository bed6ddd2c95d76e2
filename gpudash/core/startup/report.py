"""A start-up as a document and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudash.core.startup.model import Failure, Outcome, Phase, Progress, Startup
from gpudash.core.units import format_duration

SCHEMA = "gpudash.startup/1"


def document(startup: Startup) -> dict[str, Any]:
    """Return the report as JSON carries it."""
    return {
        "schema": SCHEMA,
        "engine": startup.engine or "generic",
        "version": startup.version,
        "phases": [_phase(phase) for phase in startup.phases],
        "ready": bool(startup.ready_basis),
        "ready_line": startup.ready_line,
        "ready_at": _rounded(startup.ready_s),
        "ready_basis": startup.ready_basis,
        "failure": None if startup.failure is None else _failure(startup.failure),
        "numbers": dict(startup.numbers),
        "notes": list(startup.notes),
        "lines": startup.line,
        "first_line": startup.first_line,
        "earlier_runs": startup.restarts,
    }


def _phase(phase: Phase) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": phase.name,
        "start": _rounded(phase.start.log_s),
        "end": _rounded(phase.end.log_s) if phase.end else None,
        "start_line": phase.start.line,
        "end_line": phase.end.line if phase.end else None,
        "progress": None,
    }
    if phase.progress is not None:
        told["progress"] = _progress(phase, phase.progress)
    if told["start"] is not None and told["end"] is not None:
        told["seconds"] = _rounded(phase.seconds)
    if phase.laggards:
        told["laggards"] = list(phase.laggards)
    return told


def _progress(phase: Phase, progress: Progress) -> dict[str, Any]:
    told: dict[str, Any] = {
        "done": _whole(progress.done),
        "total": _whole(progress.total),
        "unit": progress.unit,
    }
    if progress.detail:
        told["file" if progress.unit == "GB" else "at"] = progress.detail
    if phase.full_s is not None:
        told["bar_100_at"] = _rounded(phase.full_s)
    named = [bar for bar in phase.bars if bar.desc]
    if len(named) > 1:
        told["bars"] = [
            {"desc": bar.desc, "done": _whole(bar.done), "total": _whole(bar.total)}
            for bar in named
        ]
    return told


def _failure(failure: Failure) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": failure.kind,
        "line": failure.line,
        "message": failure.message,
        "hint": failure.hint,
        "rank": failure.rank,
        "phase": failure.phase,
        "others": failure.others,
        "after_ready_s": _rounded(failure.after_ready_s),
        "context": list(failure.context),
    }
    return told | dict(failure.details)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == int(value) else value


# -- table -----------------------------------------------------------------------------------

_CONTEXT_CHARS = 200
HEADER = ("phase", "line", "time", "progress", "")
CSV_HEADER = (
    "phase", "start_line", "end_line", "start_s", "end_s", "seconds", "done", "total", "unit",
)  # fmt: skip


def csv_rows(startup: Startup) -> Iterator[tuple[object, ...]]:
    """Yield one row a phase; what is not known is None."""
    for phase in startup.phases:
        bar = phase.progress
        yield (
            phase.name,
            phase.start.line,
            phase.end.line if phase.end else None,
            _rounded(phase.start.log_s),
            _rounded(phase.end.log_s) if phase.end else None,
            _rounded(phase.seconds),
            _whole(bar.done) if bar else None,
            _whole(bar.total) if bar else None,
            bar.unit if bar else None,
        )


def rows(startup: Startup) -> Iterator[tuple[str, ...]]:
    """Yield one row a phase: name, lines, time, how far, what is late."""
    for phase in startup.phases:
        until = "…" if phase.end is None else str(phase.end.line)
        lines = f"{phase.start.line}–{until}"
        seconds = phase.seconds
        time = "runs" if phase.is_open else "" if seconds is None else format_duration(seconds)
        if phase.is_open and (startup.failure is not None or startup.ready_basis):
            time = "never ended"
            if phase.name == "train_loop" and startup.failure is None:
                time = "runs"
        late = f"late: {', '.join(phase.laggards)}" if phase.laggards else ""
        yield phase.name, lines, time, _bar_words(phase.progress), late


def _bar_words(progress: Progress | None) -> str:
    if progress is None:
        return ""
    if progress.unit == "fraction":
        return f"{100 * progress.done:.0f} %"
    done = f"{progress.done:.10g}"
    if progress.total is None:
        return f"{done} {progress.unit}"
    return f"{done}/{progress.total:.10g} {progress.unit}"


def verdict(startup: Startup) -> list[str]:
    """Return the sentences under the table; the cause stands last, where it is read."""
    said = [f"note: {note}" for note in startup.notes]
    name = startup.engine or "generic"
    if startup.outcome is Outcome.STARTING:
        current = startup.current
        doing = f", in {current.name}" if current is not None else ""
        return [*said, f"{name}: neither ready nor failed{doing}"]
    if startup.ready_basis:
        after = f" after {format_duration(startup.ready_s)}" if startup.ready_s else ""
        by = f" (by {startup.ready_basis})"
        where = f", line {startup.ready_line}" if startup.ready_line else ""
        said.append(f"{name}: READY{after}{where}{by}")
    failure = startup.failure
    if failure is None:
        return said
    others = f" [+{failure.others} ranks with the same error]" if failure.others else ""
    when = " after READY" if _is_after_ready(startup, failure) else ""
    line = f"line {failure.line}: " if failure.line is not None else ""
    said.append(f"{name}: FAILED{when} ({failure.kind})")
    said += [f"    {text[:_CONTEXT_CHARS]}" for text in failure.context]
    if failure.hint:
        said.append(f"try: {failure.hint}")
    said.append(f"{line}{failure.message}{others}")
    return said


def _is_after_ready(startup: Startup, failure: Failure) -> bool:
    return (
        startup.ready_line is not None
        and failure.line is not None
        and failure.line > startup.ready_line
    )
