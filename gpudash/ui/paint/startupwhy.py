"""The panel `why`: the cause in one sentence, its line, the memory it is about, what to try."""

from __future__ import annotations

import re

from gpudash.core.startup.model import Failure
from gpudash.core.startup.remedies import remedies
from gpudash.core.startup.secrets import MASK
from gpudash.core.units import format_duration, gib, grouped
from gpudash.ui.paint import box
from gpudash.ui.paint.bars import memory_bar
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.spans import Row, left, outside, right, wrapped
from gpudash.ui.paint.startupview import StartupView

_LABEL = 10
_MEMORY_KINDS = frozenset({"cuda_oom", "kv_cache_no_memory", "gpu_not_free"})
_PID = re.compile(r"(?:process|pid) (\d+)")


def why_rows(view: StartupView, width: int, height: int) -> list[Row]:
    """Paint the panel at most this high; lower where less is to be said."""
    failure = view.followed.startup.failure
    if failure is None or height < 3:
        return []
    inner, room = width - 2, height - 2
    parts = [
        _cause(failure, inner),
        _line(view, failure, inner),
        _bars(view, failure, inner),
        _try(view, failure, inner),
    ]
    # The memory bars give way first, then air.
    for drop in ((), (2,), (2,)):
        kept = [part for place, part in enumerate(parts) if part and place not in drop]
        body = _stacked(kept, is_airy=True)
        if len(body) <= room:
            break
    else:
        body = _stacked(kept, is_airy=False)
    glyphs = view.glyphs
    body = body[:room]
    return [
        box.top(
            (Piece((("why", "text-strong b"),)),),
            _counted(failure),
            width,
            "leftover",
            glyphs,
        ),
        *(box.side(row, width, "leftover", glyphs) for row in body),
        box.bottom((), (), width, "leftover", glyphs),
    ]


def _stacked(parts: list[list[Row]], *, is_airy: bool) -> list[Row]:
    rows: list[Row] = []
    for number, part in enumerate(parts):
        # Cause and line belong together.
        if is_airy and number > 1:
            rows.append(())
        rows += part
    return rows


def _counted(failure: Failure) -> tuple[Piece, ...]:
    if not failure.others:
        return ()
    ranks = "rank" if failure.others == 1 else "ranks"
    words = (
        f"first of {failure.others + 1} errors; {failure.others} more {ranks} failed the same way"
    )
    return (Piece(((words, "text-muted"),), 1),)


def _labelled(label: str, rows: list[Row]) -> list[Row]:
    first: Row = ((left(f" {label}", _LABEL), "text-muted"),)
    blank: Row = ((" " * _LABEL, "text"),)
    return [(*(first if number == 0 else blank), *row) for number, row in enumerate(rows)]


def _cause(failure: Failure, inner: int) -> list[Row]:
    text = outside(failure.message, 400)
    lines = wrapped(text[:1].upper() + text[1:], max(10, inner - _LABEL - 1), 3)
    return _labelled("cause", [((line, "text-strong b"),) for line in lines])


def _line(view: StartupView, failure: Failure, inner: int) -> list[Row]:
    if failure.line is None:
        words = "no line of the log says it: the process just ended"
        return _labelled("line", [((words, "text-muted"),)])
    said = next((one for one in view.lines if one.number == failure.line), None)
    text = said.text if said is not None else (failure.context[-1] if failure.context else "")
    rank = failure.rank or (said.rank if said else "")
    whole = f"[{outside(rank, 24)}] {outside(text, 400)}" if rank else outside(text, 400)
    lines = wrapped(whole, max(10, inner - _LABEL - 1), 2)
    rows: list[Row] = [((line, "leftover"),) for line in lines]
    after = ""
    if failure.after_ready_s is not None:
        after = f", {format_duration(failure.after_ready_s)} after READY"
    rows.append(
        (
            (f"log line {grouped(failure.line)}{after}  ", "text-muted"),
            ("L", "key b"),
            (" opens it there", "text-muted"),
        )
    )
    return _labelled("line", rows)


def _bars(view: StartupView, failure: Failure, inner: int) -> list[Row]:
    """Compare the GPU where it failed, the others, and the earlier run at their highest."""
    one = view.followed
    peaks = {gpu: max(used for _, used in curve) for gpu, curve in one.memory.items() if curve}
    if failure.kind not in _MEMORY_KINDS or not peaks:
        return []
    failed = _failed_gpu(view, failure)
    total = max((view.totals.get(gpu, 0) for gpu in peaks), default=0)
    bar = max(8, min(44, inner - _LABEL - 30))
    others = [used for gpu, used in peaks.items() if gpu != failed]
    rows: list[Row] = []
    if failed in peaks:
        words = f"{gib(peaks[failed])} of {gib(total)} GiB at its highest"
        rows += _bar(view, f"GPU {view.indices.get(failed, '?')}", peaks[failed], total, bar, words)
    if others:
        highest = max(others)
        rows += _bar(view, "others" if rows else "GPUs", highest, total, bar, f"{gib(highest)}")
    if one.earlier is not None and one.earlier.memory:
        before = max(used for _, used in one.earlier.memory)
        took = format_duration(sum(past.seconds for past in one.earlier.phases))
        words = f"{gib(before)}   ready after {took}"
        rows += _bar(view, "last run", before, total, bar, words)
    return rows


def _failed_gpu(view: StartupView, failure: Failure) -> str:
    index = failure.details.get("gpu")
    if index is None and failure.rank:
        digits = "".join(char for char in failure.rank if char.isdigit())
        index = int(digits) if digits else None
    return next((gpu for gpu, known in view.indices.items() if known == index), "")


def _bar(view: StartupView, label: str, used: int, total: int, bar: int, words: str) -> list[Row]:
    drawn = memory_bar(
        bar, (("alive-bar", False, used),), used, total or None, stacked=True, glyphs=view.glyphs
    )
    return _labelled(label, [(*drawn, ("  ", "text"), (words, "text"))])


def neighbour_of(failure: Failure) -> str:
    """Say which other process the message itself names."""
    found = _PID.search(failure.message)
    return f"pid {found[1]}" if found else ""


def _try(view: StartupView, failure: Failure, inner: int) -> list[Row]:
    found = remedies(
        failure,
        view.followed.command,
        gpu_bytes=max(view.totals.values(), default=0),
        neighbour=neighbour_of(failure),
    )
    rows: list[Row] = []
    is_wide = inner >= 96
    column = max((len(one.what) for one in found if one.cost), default=0) + 3
    for number, one in enumerate(found, 1):
        head: Row = ((f"{number}  ", "key b"),)
        what = outside(one.what, 200)
        cost = outside(one.cost, 200)
        if is_wide and cost and column + len(cost) + _LABEL + 4 <= inner:
            rows.append((*head, (left(what, column), "text-strong"), (cost, "text-muted")))
            continue
        lines = wrapped(what, max(10, inner - _LABEL - 4), 2)
        rows.append((*head, (lines[0], "text-strong")))
        rows += [(("   ", "text"), (line, "text-strong")) for line in lines[1:]]
        if cost:
            costs = wrapped(cost, max(10, inner - _LABEL - 4), 2)
            rows += [(("   ", "text"), (line, "text-muted")) for line in costs]
    return _labelled("try", rows)


def report_text(view: StartupView) -> str:
    """Return what `y` copies: the sentence first, where it comes from, what to try."""
    one = view.followed
    startup = one.startup
    head = f"{one.name} on {one.host}"
    lines = [f"SIMULATED: {head}" if one.is_simulated else head]
    if one.command:
        lines.append(f"command: {one.command}")
    failure = startup.failure
    if failure is not None:
        lines += ["", failure.message]
        where = f"log line {failure.line} of {one.source.words}" if failure.line else ""
        lines += [where] if where else []
        lines += ["", *failure.context] if failure.context else []
        tries = remedies(failure, one.command, neighbour=neighbour_of(failure))
        lines += [
            "",
            *(
                f"try {n}: {r.what}" + (f" ({r.cost})" if r.cost else "")
                for n, r in enumerate(tries, 1)
            ),
        ]
    else:
        word = startup.outcome.value
        lines.append(f"{word}" + (f", {startup.current.name}" if startup.current else ""))
    if failure is not None and one.command and MASK not in one.command:
        host = "" if one.host == "local" else f" --host {one.host}"
        lines += ["", f"again: gpudash run{host} --clean --zero -- {one.command}"]
    lines.append("")
    for step in view.timeline.steps:
        if step.spans and step.seconds is not None:
            lines.append(f"{right(format_duration(step.seconds), 8)}  {step.label}")
    return "\n".join(outside(line, 400) for line in lines)
