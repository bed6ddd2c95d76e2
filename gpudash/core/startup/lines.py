"""What one line does to a run: peel its prefix, match markers, move phases, keep numbers, suspect.

All of it changes a run that was copied before; only `_restarted` and `_recognised` begin a new one.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudash.core.startup import engines, numbers, phases, suspicion
from gpudash.core.startup.catalog import Catalog, Marker
from gpudash.core.startup.logtime import LogClock, Stamp
from gpudash.core.startup.model import (
    AnnouncePhase,
    AnnounceRestart,
    Moment,
    ProbeHealth,
    StartupEffect,
)
from gpudash.core.startup.prefixes import peel
from gpudash.core.startup.reading import RECENT_LINES, Record, Run
from gpudash.core.startup.segments import Segment
from gpudash.core.startup.snapshot import snapshot_of

_DISK_WARNING = "Not enough free disk space to download"
_SHOWN_CHARS = 400
_CALM = frozenset({"INFO", "DEBUG", "TRACE", "I", "D"})
"""Who logs at these levels reports no failure."""
_ASKED = re.compile(
    r"(?:GET|HEAD) /(?:health\w*|healthz|ready|readyz|livez|ping|v1/health|v1/models|api/version|"
    r"api/ps|metrics)(?:\?\S*)? HTTP/1\.\d"
)
"""The trace of a health probe in an access log: ours, or another one's."""
_PASSED = "passed "
"""Clocks of wrappers count only until an engine tells its own time."""


def take(
    run: Run, segment: Segment, at_s: float, catalog: Catalog, effects: list[StartupEffect]
) -> Run:
    """Take one segment into a run that may be changed; returns another one where it begins one."""
    run.line = segment.line
    record = record_of(run, segment, at_s)
    if record is None:
        return run
    said = (record.text, record.writer)
    if said == run.said:
        # Eight ranks say the same, one after the other.
        matched = run.matched
    else:
        if engines.is_of_another(run, record, catalog):
            run = _restarted(run, record, catalog, effects)
            run.engine = None
        engine = engines.recognise(run, record, catalog)
        if engine is not None:
            run = _recognised(run, engine, record, catalog)
        matched = [
            (marker, match)
            for marker in catalog.markers_in(run.engine or "", record.text)
            if (not marker.writer or marker.writer == record.writer)
            and (match := marker.match(record.text)) is not None
        ]
    for marker, match in matched:
        if engines.begins_new_run(run, marker):
            run = _restarted(run, record, catalog, effects)
            engines.recognise(run, record, catalog)
        if not run.phases and not run.opening:
            run.opening = marker.pattern.source
        _apply(run, catalog, marker, match, record, effects)
    run.said, run.matched = said, matched
    phases.open_launch(run, record)
    if record.text.strip():
        if not matched and record.level not in _CALM:
            suspicion.look(run, record, catalog)
        run.before = Moment(record.line, run.clock.now_s, at_s)
        if "HTTP/1." not in record.text or _ASKED.search(record.text) is None:
            run.told_s = at_s
            run.recent = (*run.recent[1 - RECENT_LINES :], record.text[:_SHOWN_CHARS])
        _note(run, record)
    return run


def record_of(run: Run, segment: Segment, at_s: float, *, is_peek: bool = False) -> Record | None:
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
    return Record(segment.line, text, rank, prefix.level, prefix.writer, at_s)


def _tell_time(run: Run, stamp: Stamp | None, passed: Stamp | None) -> None:
    if stamp is not None:
        if run.clock.kind.startswith(_PASSED):
            run.clock = run.clock._replace(kind="")
        run.clock = run.clock.told(stamp)
    elif passed is not None and (not run.clock.kind or run.clock.kind.startswith(_PASSED)):
        run.clock = run.clock.told(Stamp(_PASSED + passed.kind, passed.at_s))


def _recognised(run: Run, engine: str, record: Record, catalog: Catalog) -> Run:
    """Take the log for this engine's; one that prints others' lines first starts only now."""
    known = catalog.engines[engine]
    if known.is_launched_by_anchor and "server_args=" in record.text:
        past = [phase for phase in run.phases if phase.name not in ("launch", "download")]
        if run.phases and not past and run.failure is None:
            fresh = Run(first_line=record.line, line=record.line, restarts=run.restarts)
            fresh.version = run.version
            fresh.clock = _restarted_clock(run)
            run = fresh
    run.engine = engine
    return run


def _restarted_clock(run: Run) -> LogClock:
    return run.clock._replace(origin_s=run.clock.last_at_s, now_s=0.0)


def _restarted(old: Run, record: Record, catalog: Catalog, effects: list[StartupEffect]) -> Run:
    """An anchor begins a new run; what stood before it and belongs to it comes along."""
    effects.append(AnnounceRestart(line=record.line, previous=snapshot_of(old, catalog)))
    fresh = Run(
        first_line=record.line,
        line=record.line,
        restarts=old.restarts + 1,
        engine=old.engine,
        clock=_restarted_clock(old),
    )
    if old.prelude is not None and old.clock.now_s is not None and old.prelude.log_s is not None:
        earlier_s = old.clock.now_s - old.prelude.log_s
        fresh.clock = fresh.clock._replace(
            origin_s=fresh.clock.origin_s - earlier_s, now_s=earlier_s
        )
    if old.prelude is not None:
        first = record._replace(line=old.prelude.line)
        fresh.first_line = old.prelude.line
        phases.open_launch(fresh, first)
        fresh.phases[0] = fresh.phases[0]._replace(start=Moment(first.line, 0.0, first.at_s))
    return fresh


def _apply(
    run: Run,
    catalog: Catalog,
    marker: Marker,
    match: re.Match[str],
    record: Record,
    effects: list[StartupEffect],
) -> None:
    if not record.rank and "rank" in match.re.groupindex and match["rank"]:
        record = record._replace(rank=match["rank"])
    is_draft = run.is_open("load_draft")
    began: str | None = None
    match marker.kind:
        case "prelude":
            if run.prelude is None:
                run.prelude = Moment(record.line, run.clock.now_s, record.at_s)
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
            _ready(run, catalog, marker, match, record)
        case _:
            engines.note_arguments(run, record.text)
    run.prelude = None
    if marker.kind in ("start", "end", "ready"):
        _survived(run, record)
    numbers.keep(run, marker, match, record, draft=is_draft and marker.phase == "load_weights")
    if began:
        effects.append(AnnouncePhase(name=began))
        if began == "http_up":
            effects.append(_probe(run, catalog))


def _probe(run: Run, catalog: Catalog) -> ProbeHealth:
    known = catalog.engines.get(run.engine or "")
    told = run.arguments.get("port", "")
    port = int(told) if told.isdigit() else (known.port if known else None)
    return ProbeHealth(paths=known.health if known else ("/health",), port=port)


def _ready(
    run: Run, catalog: Catalog, marker: Marker, match: re.Match[str], record: Record
) -> None:
    if marker.within and not run.is_open(marker.within):
        return
    if marker.trains and not phases.may_train(run):
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
    known = catalog.engines.get(run.engine or "")
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
    if run.hits and any(hit.is_exception and hit.rank == record.rank for hit in run.hits):
        run.hits = [h for h in run.hits if not (h.is_exception and h.rank == record.rank)]
        run.is_doubted = True


def _note(run: Run, record: Record) -> None:
    if _DISK_WARNING in record.text:
        run.arguments["disk warning"] = record.text
        run.arguments["disk warning line"] = str(record.line)
