"""Collect what looks like a failure, line by line, without judging it yet.

A line inside a traceback's source is code, not a message. A traceback that was announced as one
that doesn't matter counts only if something else says that the start-up failed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudash.core.startup.catalog import MATCHED_CHARS, Catalog, FailurePattern
from gpudash.core.startup.reading import KEPT_HITS, Frame, Hit, Record, Run, Traceback

KEPT_FRAMES = 40
_NEAR_LINES = 3
_SHOWN_CHARS = 400
_KEPT_TEXT = 8192
"""A list of supported architectures takes 4 KB."""

_TRACEBACK = "Traceback (most recent call last)"
_CHAINED = ("The above exception was the direct cause", "During handling of the above exception")
_FRAME = re.compile(r'\s*File "(?P<path>[^"]+)", line (?P<number>\d+), in (?P<function>\S+)')
_EXCEPTION = re.compile(
    r"(?P<exc>(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Refused|Timeout|Failure))"
    r"(?:: (?P<msg>.*))?$|(?P<bare>Exception)(?:: (?P<said>.*))?$"
)
_SHARD_RANK = re.compile(r" ?rank=(\d+)$")
_VALUE_ERROR = re.compile(r" *(?:Value error|Assertion failed), (?P<msg>.+?)(?: \[type=.*)?$")
_WARNINGS = frozenset({"WARNING", "WARN", "W"})
_KILLED = frozenset({"-9", "137", "9"})
_BUS_ERROR = frozenset({"-7", "135", "7"})
_DIGITS = tuple("0123456789")
_CODES = ("code", "code2", "code3", "code4", "signal")


def look(run: Run, record: Record, catalog: Catalog) -> None:
    """Keep what this line says about a failure."""
    if _inside_traceback(run, record):
        _look_at_source(run, record, catalog)
        return
    text = record.text
    for words in catalog.words.in_text(text):
        if words.fits(text) and not _heed(run, record, words.kind):
            return
    if text.endswith(_DIGITS) and (match := _SHARD_RANK.fullmatch(text)):
        _name_shard(run, match[1])
    if run.hits and (match := _VALUE_ERROR.match(text[:MATCHED_CHARS])):
        _say_value(run, record.line, match["msg"])
    if text.startswith(_CHAINED) and run.traceback is not None:
        run.traceback = run.traceback._replace(is_chained=True, closed_line=record.line)
    _forget(run, record)
    found = [
        hit for pattern in catalog.failures.in_text(text) if (hit := _hit(run, record, pattern))
    ]
    if not found:
        found = _exception(run, record)
    for hit in found:
        _keep(run, hit)
    if _TRACEBACK in text:
        _open_traceback(run, record)
    elif found and run.traceback is not None and run.traceback.is_open:
        _close_traceback(run, record)


def _heed(run: Run, record: Record, kind: str) -> bool:
    """Take a line that is no failure by what it says; returns whether it is looked at further."""
    if kind == "ignored":
        return False
    if kind == "survived":
        run.hits = [hit for hit in run.hits if hit.is_after_ready]
        run.is_doubted = True
        return True
    run.traceback = Traceback(
        rank=_rank(run, record),
        is_weak=True,
        is_open=False,
        is_chained=True,
        closed_line=record.line,
    )
    return True


def _name_shard(run: Run, rank: str) -> None:
    """TGI tells the shard behind what it printed of it."""
    if run.hits and not run.hits[-1].rank:
        run.hits[-1] = replace(run.hits[-1], rank=rank)
        run.is_doubted = True


def _say_value(run: Run, line: int, words: str) -> None:
    """Pydantic tells how many values are wrong, and on the next line what is wrong with one."""
    last = run.hits[-1]
    if last.kind == "bad_argument" and "n" in last.groups and line - last.line <= _NEAR_LINES:
        run.hits[-1] = replace(last, groups={**last.groups, "msg": words})
        run.is_doubted = True


def _inside_traceback(run: Run, record: Record) -> bool:
    """Return whether the line is a frame or its source; keeps frames."""
    known = run.traceback
    if known is None or not known.is_open:
        return False
    text = record.text
    if not text.startswith("  "):
        return False
    if match := _FRAME.match(text):
        frame = Frame(
            path=match["path"],
            number=int(match["number"]),
            function=match["function"],
            line=record.line,
        )
        run.traceback = known._replace(frames=(*known.frames, frame)[-KEPT_FRAMES:])
        return True
    if known.frames and text.startswith("    ") and text.strip("^~ "):
        last = known.frames[-1]._replace(source=text.strip()[:200])
        run.traceback = known._replace(frames=(*known.frames[:-1], last))
    return text.startswith("    ")


def _look_at_source(run: Run, record: Record, catalog: Catalog) -> None:
    """Of code only a check that names what failed counts: a bare AssertionError has no text."""
    if "assert" not in record.text:
        return
    for pattern in catalog.failures.in_text(record.text):
        hit = _hit(run, record, pattern)
        if hit is not None and "check" in hit.groups:
            _keep(run, hit)


def _open_traceback(run: Run, record: Record) -> None:
    known = run.traceback
    is_weak = known is not None and known.is_weak and known.is_chained
    run.traceback = Traceback(rank=_rank(run, record), is_weak=is_weak)


def _forget(run: Run, record: Record) -> None:
    """What was said of a traceback holds for the lines right behind it."""
    known = run.traceback
    if known is not None and not known.is_open and record.line - known.closed_line > _NEAR_LINES:
        run.traceback = None


def _close_traceback(run: Run, record: Record) -> None:
    known = run.traceback
    if known is None:
        return
    run.last_exception_line = record.line
    run.traceback = (
        known._replace(is_open=False, closed_line=record.line) if known.is_weak else None
    )


def _exception(run: Run, record: Record) -> list[Hit]:
    known = run.traceback
    if known is None or not (known.is_open or known.is_weak):
        return []
    match = _EXCEPTION.match(record.text[:MATCHED_CHARS])
    if match is None:
        return []
    groups = {"exc": match["exc"] or match["bare"], "msg": match["msg"] or match["said"] or ""}
    hit = _made(run, record, "exception", 2, groups)
    _close_traceback(run, record)
    return [replace(hit, is_exception=True, is_weak=known.is_weak, frames=known.frames)]


def _hit(run: Run, record: Record, pattern: FailurePattern) -> Hit | None:
    text = record.text
    for word in pattern.has:
        if word in text:
            break
    else:
        return None
    match = pattern.pattern.compiled.search(text[:MATCHED_CHARS])
    if match is None:
        return None
    groups = {key: value for key, value in match.groupdict().items() if value is not None}
    kind, tier = _judged(pattern, groups)
    hit = _made(run, record, kind, tier, groups)
    known = run.traceback
    return replace(
        hit,
        is_weak=pattern.is_weak
        or (known is not None and known.is_weak)
        or _is_warning(record, kind),
        is_terminal=_is_terminal(pattern, tier, groups),
        is_exception=False,
        frames=known.frames if known is not None else (),
    )


def _is_warning(record: Record, kind: str) -> bool:
    """Return whether the writer calls it a warning; torch does so with a port that is taken."""
    if kind == "port_in_use":
        return False
    return record.level in _WARNINGS or "Warning: " in record.text[:MATCHED_CHARS]


def _is_terminal(pattern: FailurePattern, tier: int, groups: dict[str, str]) -> bool:
    """A process whose end was told does not go on."""
    return (tier == 3 and not pattern.opens) or any(name in groups for name in _CODES)


def _judged(pattern: FailurePattern, groups: dict[str, str]) -> tuple[str, int]:
    """Return kind and tier: an exit code says more than the words around it."""
    if pattern.kind != "host_oom_or_sigkill":
        return pattern.kind, pattern.tier
    if "exit" in groups:
        return pattern.kind, 2
    code = next((groups[name] for name in _CODES if name in groups), None)
    if code is None or code in _KILLED:
        return pattern.kind, pattern.tier
    if code in _BUS_ERROR:
        return "shm", pattern.tier
    if not code.startswith("-") and "signal" not in groups:
        return "symptom", 3
    return "crash", 2


def _made(run: Run, record: Record, kind: str, tier: int, groups: dict[str, str]) -> Hit:
    phase = run.current()
    ended = run.phases[-1].name if run.phases and phase is None else None
    progress = phase.progress if phase is not None else None
    bar = ""
    if progress is not None and progress.total is not None:
        bar = f"{progress.done:.10g}/{progress.total:.10g}"
    return Hit(
        kind=kind,
        tier=tier,
        line=record.line,
        text=record.text[:_KEPT_TEXT],
        groups=groups,
        rank=_rank(run, record),
        phase=phase.name if phase is not None else None,
        after="serving" if run.ready_line is not None and phase is None else ended,
        bar=bar,
        doing=progress.detail if progress is not None else "",
        now_s=run.clock.now_s,
        context=(*run.recent[-3:], record.text[:_SHOWN_CHARS]),
        is_after_ready=run.ready_line is not None,
    )


def _rank(run: Run, record: Record) -> str:
    """Lines of a traceback carry no prefix: they belong to whoever began it."""
    if record.rank:
        return record.rank
    known = run.traceback
    if known is not None and known.rank:
        return known.rank
    return "" if record.writer or record.level else run.last_rank


def _keep(run: Run, hit: Hit) -> None:
    run.is_doubted = True
    if hit.kind == "port_in_use" and run.ready_line is not None:
        # "Connected" and its like are printed before the port is bound.
        run.ready_line = run.ready_s = run.ready_at_s = None
    if len(run.hits) < KEPT_HITS:
        run.hits.append(hit)
