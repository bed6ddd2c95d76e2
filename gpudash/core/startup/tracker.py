"""The machine that follows a start-up: step(state, event) → (state, effects).

Bytes may come in any pieces. What they say, the exit status, the health URL and memory are kept
side by side; READY and failure are decided from all of them (startup rules: a log alone is enough
only where no URL is known). An event after the end of the log is our own mistake and raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import assert_never

from gpudash.core.names import printable
from gpudash.core.startup import engines, numbers, phases, readiness, segments, suspicion
from gpudash.core.startup.catalog import Catalog, Marker
from gpudash.core.startup.causes import diagnose
from gpudash.core.startup.logtime import LogClock, Stamp
from gpudash.core.startup.model import (
    AnnounceFailure,
    AnnouncePhase,
    AnnounceReady,
    AnnounceRestart,
    Arrived,
    Exited,
    IllegalEvent,
    LogEnded,
    MemoryRead,
    Probed,
    ProbeHealth,
    StartupEffect,
    StartupEvent,
    Ticked,
)
from gpudash.core.startup.prefixes import peel
from gpudash.core.startup.reading import RECENT_LINES, Record, Run
from gpudash.core.startup.segments import Segment, Tail
from gpudash.core.startup.snapshot import snapshot

_DISK_WARNING = "Not enough free disk space to download"
_SHOWN_CHARS = 400
_PASSED = "passed "
"""Clocks of wrappers count only until an engine tells its own time."""


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
            state = replace(state, tail=tail)
            if not found:
                return state, ()
            return _read(state, found, at_s)
        case LogEnded(at_s=at_s):
            found, tail = segments.finish(state.tail)
            state, effects = _read(replace(state, tail=tail), found, at_s)
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
    state: Tracker, found: list[Segment], at_s: float
) -> tuple[Tracker, tuple[StartupEffect, ...]]:
    state = _copied(state)
    effects: list[StartupEffect] = []
    for segment in found:
        state = _take(state, segment, at_s, effects)
    return _decided(state, effects)


def _decided(
    state: Tracker, effects: list[StartupEffect] | tuple[StartupEffect, ...]
) -> tuple[Tracker, tuple[StartupEffect, ...]]:
    """Look at failure and READY again; announce what is new."""
    run, told = state.run, list(effects)
    if run.is_doubted:
        run.is_doubted = False
        failure = diagnose(run, state.catalog)
        if failure is not None and failure != run.failure:
            told.append(AnnounceFailure(failure=failure))
        run.failure = failure
    basis, _ = readiness.judge(run, expects_url=state.expects_url)
    if basis and not run.was_ready:
        run.was_ready = True
        told.append(AnnounceReady(line=run.ready_line, basis=basis))
    return state, tuple(told)


def _peek(state: Tracker, at_s: float) -> Tracker:
    """Take an unfinished bar as it reads now; it will be read again when it is complete."""
    found = [segment for segment in segments.peek(state.tail) if segment.text.strip(". ")]
    found = found or segments.peek(state.tail)
    if not found:
        return state
    state = _copied(state)
    record = _record(state.run, found[-1], at_s, is_peek=True)
    if record is None:
        return state
    for marker in state.catalog.markers_of(state.run.engine or ""):
        if marker.kind == "progress" and marker.count != "lines":
            match = marker.match(record.text)
            if match is not None and state.run.is_open(marker.phase):
                phases.advance(state.run, marker, match, record)
    return state


def _take(
    state: Tracker, segment: Segment, at_s: float, effects: list[StartupEffect]
) -> Tracker:
    run = state.run
    run.line = segment.line
    record = _record(run, segment, at_s)
    if record is None:
        return state
    engine = engines.recognise(run, record, state.catalog)
    if engine is not None:
        state = _recognised(state, engine, record)
        run = state.run
    matched = [
        (marker, match)
        for marker in state.catalog.markers_of(run.engine or "")
        if (not marker.writer or marker.writer == record.writer)
        and (match := marker.match(record.text)) is not None
    ]
    for marker, match in matched:
        if engines.begins_new_run(run, marker):
            state = _restarted(state, record, effects)
            run = state.run
            engines.recognise(run, record, state.catalog)
        if not run.phases and not run.opening:
            run.opening = marker.pattern.source
        _apply(state, marker, match, record, effects)
    phases.open_launch(run, record)
    if record.text.strip():
        suspicion.look(run, record, state.catalog)
        run.before = (record.line, run.clock.now_s, at_s)
        shown = printable(record.text[:_SHOWN_CHARS])
        run.recent = (*run.recent, shown)[-RECENT_LINES:]
        _note(run, record)
    return state


def _record(run: Run, segment: Segment, at_s: float, *, is_peek: bool = False) -> Record | None:
    """Peel the prefix; keep rank and time for what follows on the same line."""
    prefix, text = peel(segment.text)
    if segment.is_first and not is_peek:
        run.line_rank = ""
    rank = prefix.rank or run.line_rank
    if not is_peek:
        run.line_rank = rank
        run.last_rank = rank or run.last_rank
        _tell_time(run, prefix.stamp, prefix.passed)
    if not text and not segment.text.strip():
        return None
    return Record(
        line=segment.line, text=text, rank=rank, level=prefix.level, writer=prefix.writer, at_s=at_s
    )


def _tell_time(run: Run, stamp: Stamp | None, passed: Stamp | None) -> None:
    if stamp is not None:
        if run.clock.kind.startswith(_PASSED):
            run.clock = replace(run.clock, kind="")
        run.clock = run.clock.told(stamp)
    elif passed is not None and (not run.clock.kind or run.clock.kind.startswith(_PASSED)):
        run.clock = run.clock.told(Stamp(_PASSED + passed.kind, passed.at_s))


def _recognised(state: Tracker, engine: str, record: Record) -> Tracker:
    """Take the log for this engine's; one that prints others' lines first starts only now."""
    run = state.run
    known = state.catalog.engines[engine]
    if known.is_launched_by_anchor and "server_args=" in record.text:
        past = [phase for phase in run.phases if phase.name not in ("launch", "download")]
        if run.phases and not past and run.failure is None:
            fresh = Run(first_line=record.line, line=record.line, restarts=run.restarts)
            fresh.version = run.version
            fresh.clock = _restarted_clock(run)
            state = replace(state, run=fresh)
    state.run.engine = engine
    return state


def _restarted_clock(run: Run) -> LogClock:
    return replace(run.clock, origin_s=run.clock.last_at_s, now_s=0.0)


def _restarted(state: Tracker, record: Record, effects: list[StartupEffect]) -> Tracker:
    """An anchor begins a new run; what stood before it and belongs to it comes along."""
    old = state.run
    effects.append(AnnounceRestart(line=record.line, previous=snapshot(state)))
    fresh = Run(
        first_line=record.line,
        line=record.line,
        restarts=old.restarts + 1,
        engine=old.engine,
        clock=_restarted_clock(old),
    )
    if old.prelude is not None and old.clock.now_s is not None and old.prelude[1] is not None:
        earlier_s = old.clock.now_s - old.prelude[1]
        fresh.clock = replace(fresh.clock, origin_s=fresh.clock.origin_s - earlier_s, now_s=earlier_s)
    if old.prelude is not None:
        first = replace(record, line=old.prelude[0])
        fresh.first_line = old.prelude[0]
        phases.open_launch(fresh, first)
        fresh.phases[0] = replace(fresh.phases[0], start_s=0.0)
    return replace(state, run=fresh)


def _apply(
    state: Tracker, marker: Marker, match: re.Match[str], record: Record, effects: list[StartupEffect]
) -> None:
    run = state.run
    is_draft = run.is_open("load_draft")
    began: str | None = None
    match marker.kind:
        case "prelude":
            if run.prelude is None:
                run.prelude = (record.line, run.clock.now_s, record.at_s)
            return
        case "anchor":
            run.anchors.add(marker.pattern.source)
            engines.note_arguments(run, record.text)
            phases.open_launch(run, record)
        case "start":
            if marker.count == "sequence" and (told := match.groupdict().get("sequence")):
                run.sequence = tuple(part.strip() for part in told.split(","))
            began = phases.begin(run, marker, record)
            if marker.count == "total":
                phases.advance(run, marker, match, record)
        case "progress":
            began = phases.advance(run, marker, match, record)
            if marker.phase == "download" and (name := match.groupdict().get("file")):
                run.arguments["download file"] = name
        case "end":
            phases.end(run, marker, record)
        case "ready":
            _ready(state, marker, match, record)
        case _:
            engines.note_arguments(run, record.text)
    run.prelude = None
    if marker.kind in ("start", "end", "ready"):
        _survived(run, record)
    numbers.keep(run, marker, match, record, draft=is_draft and marker.phase == "load_weights")
    if began:
        effects.append(AnnouncePhase(name=began))
        if began == "http_up":
            effects.append(_probe(state))


def _probe(state: Tracker) -> ProbeHealth:
    known = state.catalog.engines.get(state.run.engine or "")
    told = state.run.arguments.get("port", "")
    port = int(told) if told.isdigit() else (known.port if known else None)
    return ProbeHealth(paths=known.health if known else ("/health",), port=port)


def _ready(state: Tracker, marker: Marker, match: re.Match[str], record: Record) -> None:
    run = state.run
    if marker.within and not run.is_open(marker.within):
        return
    if marker.opens:
        phases.begin(run, marker, record)
        if marker.count:
            phases.advance(run, replace(marker, phase=marker.opens), match, record)
    if run.ready_line is not None or _is_secondary(run):
        return
    run.ready_line = record.line
    run.ready_at_s = record.at_s
    run.ready_s = run.clock.now_s
    if marker.closes:
        phases.finish(run, marker.closes, record, None)
    known = state.catalog.engines.get(run.engine or "")
    if known is None or known.ready_is_proof:
        run.hits = []
    else:
        run.hits = [hit for hit in run.hits if hit.tier == 1 and not hit.is_weak]
    run.is_doubted = True


def _is_secondary(run: Run) -> bool:
    """Nodes behind the first one say READY never, or too early."""
    return run.arguments.get("node_rank", "0") != "0"


def _survived(run: Run, record: Record) -> None:
    """A rank that goes on has survived its exceptions."""
    if any(hit.is_exception and hit.rank == record.rank for hit in run.hits):
        run.hits = [h for h in run.hits if not (h.is_exception and h.rank == record.rank)]
        run.is_doubted = True


def _note(run: Run, record: Record) -> None:
    if _DISK_WARNING in record.text:
        run.arguments["disk warning"] = record.text
        run.arguments["disk warning line"] = str(record.line)
