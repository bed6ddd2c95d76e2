"""From markers to phases: intervals that repeat and nest, with the ranks inside them.

A phase begins with the first rank and ends with the last. Where an engine prints no end, the next
phase's beginning tells it, softly: a late rank's own end line still moves it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudash.core.startup import bars
from gpudash.core.startup.catalog import Marker
from gpudash.core.startup.model import Moment, Phase, Progress
from gpudash.core.startup.reading import Record, Run

_MAY_NEST = {
    "download": {"launch", "load_weights", "load_draft"},
    "load_draft": {"load_weights"},
    "compile": {"load_weights", "kv_cache", "cuda_graph", "cuda_graph_draft", "warmup"},
    "kv_cache": {"cuda_graph", "warmup"},
    "cuda_graph": {"warmup"},
    "train_loop": set(),
}
_DRAFT_OF = {"load_weights": "load_draft", "cuda_graph": "cuda_graph_draft"}
_TRAINERS = frozenset({"torchrun", "accelerate", "hf-trainer", "deepspeed", "lightning"})
_ENDLESS = frozenset({"compile", "download"})
_ENGINES_THAT_LOAD_TWICE = frozenset({"sglang"})


def begin(run: Run, marker: Marker, record: Record, *, by_bar: bool = False) -> str | None:
    """Open a phase, or add a rank to it. Returns the phase's name where a new one began."""
    name = _drafted(run, marker.opens or marker.phase, record)
    if name is None:
        return None
    at = run.last(name)
    known = run.phases[at] if at is not None else None
    if at is not None and known is not None:
        if known.end is None:
            if record.rank not in known.begun:
                run.phases[at] = known._replace(begun=known.begun | {record.rank})
            return None
        joins = _is_late(marker, record, known)
        if marker.once and not joins:
            return None
        if joins or marker.extends:
            _close_others(run, name, record, by_bar=by_bar)
            run.phases[at] = known._replace(end=None, begun=known.begun | {record.rank})
            return None
    _close_others(run, name, record, by_bar=by_bar)
    run.add(_opened(run, name, record)._replace(told_by=marker.pattern.source))
    return name


def _is_late(marker: Marker, record: Record, known: Phase) -> bool:
    """Return whether a rank begins a phase late that others have ended already."""
    if record.rank == "" or record.rank in known.begun:
        return False
    return known.told_by in ("", marker.pattern.source)


def may_train(run: Run) -> bool:
    """Return whether a bar without a name can be that of the training steps."""
    if run.last("train_loop") is not None:
        return True
    has_model = run.last("train_setup") is not None or run.last("load_weights") is not None
    return run.engine in _TRAINERS and has_model


def end(run: Run, marker: Marker, record: Record) -> None:
    """End a phase for a rank; with its last rank it is over."""
    name = marker.phase
    if name in ("init_dist", "load_weights") and _loads_draft(run):
        if name == "init_dist":
            return
        name = "load_draft"
    finish(run, name, record, marker)
    if marker.closes:
        finish(run, marker.closes, record, None)


def finish(run: Run, name: str, record: Record, marker: Marker | None) -> None:
    """End the newest phase of this name, open it at its end, or move its end."""
    at = run.last(name)
    if at is None or not _concerns(run, at, record):
        if marker is not None and not (marker.once and at is not None):
            _add_ended(run, marker, record)
        return
    _settle(run, at, record)
    known = run.phases[at]
    ended = known.ended | {record.rank}
    if record.rank not in known.begun:
        ended |= known.begun if known.end is None else frozenset()
    heard = _here(run, record)
    if marker is not None and marker.ends_at_progress and known.moved is not None:
        heard = known.moved
    is_over = known.end is not None or known.begun <= ended
    run.phases[at] = known._replace(ended=ended, heard=heard, end=heard if is_over else None)


def advance(run: Run, marker: Marker, match: re.Match[str], record: Record) -> str | None:
    """Take a bar's state. Returns the phase's name where the bar began it."""
    name = _of_bar(run, marker)
    if marker.within and not run.is_open(name):
        return None
    if marker.within and run.is_open("compile") and name != "compile":
        return None
    if marker.trains and not may_train(run):
        return None
    at = run.last(name)
    known = run.phases[at] if at is not None else None
    is_bar = not marker.count
    state = (
        bars.read_bar(marker, match, record.text)
        if is_bar
        else bars.counted(marker, match, known.progress if known else None, run.sequence)
    )
    if state is None:
        return None
    began = None
    if known is None or known.end is not None:
        if known is not None and _is_repeat(known, state):
            return None
        began = begin(run, replace(marker, phase=name), record, by_bar=is_bar)
        at = run.last(name)
    if at is None:
        return began
    _settle(run, at, record)
    _passed(run, name, state)
    run.phases[at] = _advanced(run, run.phases[at], state, record, hides=marker.hides)
    return began


def open_launch(run: Run, record: Record) -> None:
    """A run begins with its first line, unless that line is already about something else."""
    if not run.phases and run.ready_line is None:
        run.add(_opened(run, "launch", record))


def _opened(run: Run, name: str, record: Record) -> Phase:
    return Phase(name=name, start=_here(run, record), begun=frozenset({record.rank}))


def _here(run: Run, record: Record) -> Moment:
    return Moment(record.line, run.clock.now_s, record.at_s)


def _add_ended(run: Run, marker: Marker, record: Record) -> None:
    """A phase of which only the end is printed."""
    here = _here(run, record)
    source = run.last(marker.begins_after) if marker.begins_after else None
    start = run.phases[source].end if source is not None else None
    _close_others(run, marker.phase, record, by_bar=False)
    rank = frozenset({record.rank})
    run.add(
        Phase(name=marker.phase, start=start or here, end=here, heard=here, begun=rank, ended=rank)
    )


def _concerns(run: Run, at: int, record: Record) -> bool:
    """Return whether an end line is about this phase and not about another pass."""
    known = run.phases[at]
    if known.end is None or record.rank not in known.ended:
        return True
    return at == len(run.phases) - 1


def _close_others(run: Run, name: str, record: Record, *, by_bar: bool) -> None:
    for at, known in enumerate(run.phases):
        if known.end is not None or known.name == name or known.name in _MAY_NEST.get(name, set()):
            continue
        run.phases[at] = _softly_ended(known, run.before if by_bar else _here(run, record))


def _softly_ended(known: Phase, otherwise: Moment) -> Phase:
    """End a phase whose own end was never told: at what was heard of it last."""
    end = otherwise
    if known.heard is not None:
        end = known.heard
    elif known.moved is not None and known.name != "launch":
        end = known.moved
    return known._replace(end=end if end.line >= known.start.line else known.start)


def _settle(run: Run, at: int, record: Record) -> None:
    """A phase that moves or ends is done with what nested in it and tells no end of its own."""
    for inner in range(at + 1, len(run.phases)):
        known = run.phases[inner]
        if known.end is None and known.name in _ENDLESS:
            run.phases[inner] = _softly_ended(known, _here(run, record))


def _loads_draft(run: Run) -> bool:
    return run.engine in _ENGINES_THAT_LOAD_TWICE and run.is_open("load_draft")


def _drafted(run: Run, name: str, record: Record) -> str | None:
    """SGLang loads its draft with the words of the target: the second time on a rank is the draft.

    Returns None for a line that adds nothing.
    """
    if run.engine not in _ENGINES_THAT_LOAD_TWICE or name not in ("init_dist", "load_weights"):
        return name
    at = run.last("load_weights")
    if at is None or record.rank not in run.phases[at].ended:
        return name
    return "load_draft"


def _of_bar(run: Run, marker: Marker) -> str:
    draft = _DRAFT_OF.get(marker.phase)
    if draft is not None and run.is_open(draft):
        return draft
    return marker.phase


def _is_repeat(known: Phase, state: Progress) -> bool:
    """A bar is printed once more when it closes, and after an exception."""
    return any(
        (bar.desc, bar.total) == (state.desc, state.total) and state.done <= bar.done
        for bar in known.bars
    )


def _passed(run: Run, name: str, state: Progress) -> None:
    """Let the bar's own clock move the log's time: lines beside it often carry none."""
    now_s = run.clock.now_s
    if state.elapsed_s is None or now_s is None:
        return
    key = (name, state.desc, state.total)
    zero_s, last_s = run.bar_zeros.get(key, (now_s - state.elapsed_s, 0.0))
    if state.elapsed_s < last_s:
        # The same bar again, from its beginning.
        zero_s = now_s - state.elapsed_s
    run.bar_zeros[key] = (zero_s, state.elapsed_s)
    run.clock = run.clock.reached(zero_s + state.elapsed_s)


def _advanced(run: Run, known: Phase, state: Progress, record: Record, *, hides: bool) -> Phase:
    here = _here(run, record)
    key = (state.desc, state.total)
    mine = next((bar for bar in known.bars if (bar.desc, bar.total) == key), None)
    if hides or (mine is not None and mine.done > state.done):
        return known._replace(moved=here)
    others = tuple(bar for bar in known.bars if (bar.desc, bar.total) != key)
    full_s = known.full_s
    if state.total and state.done >= state.total and (mine is None or mine.done < state.total):
        full_s = here.log_s
    return known._replace(moved=here, progress=state, bars=(*others, state)[-8:], full_s=full_s)
