"""The machine that follows a start-up: step(state, event) → (state, effects).

Bytes may come in any pieces. What they say, the exit status, the health URL and memory are kept
side by side; READY and failure are decided from all of them (startup rules: a log alone is enough
only where no URL is known). An event after the end of the log is our own mistake and raises.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from gpudash.core.startup import lines, phases, readiness, segments
from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.causes import diagnose
from gpudash.core.startup.model import (
    AnnounceFailure,
    AnnounceReady,
    Arrived,
    Exited,
    IllegalEvent,
    LogEnded,
    MemoryRead,
    Probed,
    Startup,
    StartupEffect,
    StartupEvent,
    Ticked,
)
from gpudash.core.startup.reading import Run
from gpudash.core.startup.segments import Segment, Tail
from gpudash.core.startup.snapshot import snapshot_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracker:
    """The state. `run` is never changed in place: a step copies it first."""

    catalog: Catalog
    tail: Tail = field(default_factory=Tail)
    run: Run = field(default_factory=Run)
    expects_url: bool = False
    """A health URL is known, so the log alone is not enough for READY."""


def step(state: Tracker, event: StartupEvent) -> tuple[Tracker, tuple[StartupEffect, ...]]:
    """Return the next state and what is to be done. Raises IllegalEvent, changing nothing."""
    if state.run.has_ended:
        raise IllegalEvent(f"{type(event).__name__} after the log has ended")
    match event:
        case Arrived(data=data, at_s=at_s):
            found, tail = segments.feed(state.tail, data)
            if not found:
                return replace(state, tail=tail), ()
            return _read(state, tail, found, at_s)
        case LogEnded(at_s=at_s):
            found, tail = segments.finish(state.tail)
            state, effects = _read(state, tail, found, at_s)
            state.run.has_ended = True
            state.run.is_doubted = True
            return _decided(state, effects)
        case Ticked(at_s=at_s):
            return _peek(state, at_s), ()
        case Exited(code=code):
            if state.run.exit_code is not None:
                raise IllegalEvent("the process has ended twice")
            state = _copied(state)
            state.run.exit_code = code
            state.run.is_doubted = True
            return _decided(state, [])
        case Probed(status=status):
            state = _copied(state)
            state.run.health = status
            state.run.was_probed = True
            return _decided(state, [])
        case MemoryRead(used_bytes=used):
            state = _copied(state)
            state.run.memory = dict(used)
            return state, ()
        case _:
            assert_never(event)


def _copied(state: Tracker) -> Tracker:
    return replace(state, run=state.run.copy())


def _read(
    state: Tracker, tail: Tail, found: list[Segment], at_s: float
) -> tuple[Tracker, tuple[StartupEffect, ...]]:
    run = state.run.copy()
    effects: list[StartupEffect] = []
    for segment in found:
        run = lines.take(run, segment, at_s, state.catalog, effects)
        if run.is_doubted:
            # Whether a later line begins another run depends on it.
            _diagnosed(run, state.catalog, effects)
    return _decided(replace(state, tail=tail, run=run), effects)


def _decided(
    state: Tracker, effects: list[StartupEffect] | tuple[StartupEffect, ...]
) -> tuple[Tracker, tuple[StartupEffect, ...]]:
    """Look at failure and READY again; announce what is new."""
    run, told = state.run, list(effects)
    if run.is_doubted:
        _diagnosed(run, state.catalog, told)
    basis, _ = readiness.judge(run, expects_url=state.expects_url)
    if basis and not run.was_ready:
        run.was_ready = True
        told.append(AnnounceReady(line=run.ready_line, basis=basis))
    return state, tuple(told)


def _diagnosed(run: Run, catalog: Catalog, told: list[StartupEffect]) -> None:
    run.is_doubted = False
    failure = diagnose(run, catalog)
    if failure is not None and failure != run.failure:
        told.append(AnnounceFailure(failure=failure))
    run.failure = failure


def snapshot(state: Tracker) -> Startup:
    """Return the frozen value of what is known now."""
    return snapshot_of(state.run, state.catalog, expects_url=state.expects_url)


def _peek(state: Tracker, at_s: float) -> Tracker:
    """Take an unfinished bar as it reads now; it will be read again when it is complete."""
    found = [segment for segment in segments.peek(state.tail) if segment.text.strip(". ")]
    found = found or segments.peek(state.tail)
    if not found:
        return state
    state = _copied(state)
    record = lines.record_of(state.run, found[-1], at_s, is_peek=True)
    if record is None:
        return state
    for marker in state.catalog.markers_in(state.run.engine or "", record.text):
        if marker.kind == "progress" and marker.count != "lines":
            match = marker.match(record.text)
            if match is not None and state.run.is_open(marker.phase):
                phases.advance(state.run, marker, match, record)
    return state
