"""What happened between two looks at a start-up, as sentences for a terminal and a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudash.core.startup.following import Followed
from gpudash.core.startup.model import Failure, Outcome, Phase, Progress, Startup
from gpudash.core.units import format_duration

WORDS = {
    "launch": "launch",
    "download": "download",
    "init_dist": "process group",
    "load_weights": "weights",
    "load_draft": "draft",
    "kv_cache": "KV cache",
    "compile": "compile",
    "cuda_graph": "CUDA graphs",
    "cuda_graph_draft": "CUDA graphs of the draft",
    "http_up": "port open",
    "warmup": "warm-up",
    "train_setup": "training set-up",
    "train_loop": "training",
}


LOG_NOTES = {
    "waiting": "the log is not there yet",
    "gone": "the log was deleted",
    "denied": "the log may not be read",
    "rotated": "the log was rotated: the new file is read from its beginning",
    "truncated": "the log was truncated: it is read from its beginning",
    "replaced": "another file stands there now: it is read from its beginning",
    "nobody": "no process has this log as its output now: an old one, or written through a pipe",
    "ended": "the log has ended",
    "unreadable": "the log can't be read",
    "failed": "the log could not be read",
}
"""What may happen to a log, as sentences."""


class Said(NamedTuple):
    """One thing that happened."""

    kind: str
    """`phase`, `ready`, `failure`, `restart`, `stall` or `link`."""
    words: str


def told(before: Followed | None, after: Followed) -> Iterator[Said]:
    """Yield what is new, in the order in which it happened."""
    old = before.startup if before is not None else None
    new = after.startup
    if old is not None and new.restarts != old.restarts:
        yield Said("restart", f"the log begins another start-up at line {new.first_line}")
        old = None
    yield from _phases(old, new)
    if new.ready_basis and (old is None or not old.ready_basis):
        after_s = f" after {format_duration(new.ready_s)}" if new.ready_s else ""
        yield Said("ready", f"READY{after_s} (by {new.ready_basis})")
    if new.failure is not None and (old is None or new.failure != old.failure):
        yield Said("failure", failure_words(new, new.failure, after.started_s, after.now_s))
    if after.stall and (before is None or _shape(after.stall) != _shape(before.stall)):
        hint = f"; {after.stall_hint}" if after.stall_hint else ""
        yield Said("stall", after.stall + hint)
    if after.log and (before is None or after.log != before.log):
        yield Said("log", after.log)
    if before is not None and after.link != before.link:
        yield Said("link", after.link or "heard again")
    if before is not None and after.has_exited and not before.has_exited:
        code = after.exit_code
        yield Said("exit", "its process ended" + (f" with {code}" if code is not None else ""))


def failure_words(startup: Startup, failure: Failure, started_s: float, now_s: float) -> str:
    """Return the cause in one sentence, with its line."""
    line = f" (line {failure.line})" if failure.line is not None else ""
    if startup.outcome is Outcome.FAILED and startup.ready_basis:
        after_s = failure.after_ready_s
        if after_s is None and startup.ready_s is not None:
            after_s = max(0.0, now_s - started_s - startup.ready_s)
        when = f"ready, then failed at +{format_duration(after_s)}" if after_s else "failed"
        return f"{when}: {failure.message}{line}"
    return f"FAILED: {failure.message}{line}"


def _phases(old: Startup | None, new: Startup) -> Iterator[Said]:
    known = old.phases if old is not None else ()
    for at, phase in enumerate(new.phases):
        was = known[at] if at < len(known) and known[at].name == phase.name else None
        if was is None and phase.end is None:
            yield Said("phase", f"{WORDS.get(phase.name, phase.name)} …")
        if phase.end is not None and (was is None or was.end is None):
            yield Said("phase", _finished(phase))


def _finished(phase: Phase) -> str:
    seconds = phase.seconds
    took = f"  {format_duration(seconds)}" if seconds is not None else ""
    done = f"  {progress_words(phase.progress)}" if phase.progress is not None else ""
    return f"{WORDS.get(phase.name, phase.name)} done{took}{done}"


def progress_words(progress: Progress | None) -> str:
    """Return how far a bar is: `18/62 shards`."""
    if progress is None:
        return ""
    if progress.unit == "fraction":
        return f"{100 * progress.done:.0f} %"
    done = f"{progress.done:.10g}"
    if progress.total is None:
        return f"{done} {progress.unit}"
    return f"{done}/{progress.total:.10g} {progress.unit}"


def running_words(followed: Followed) -> str:
    """Return one line of what goes on now, for a terminal."""
    phase = followed.startup.current
    if phase is None:
        return f"{followed.name}: waiting for its log" if not followed.startup.line else ""
    parts = [WORDS.get(phase.name, phase.name), progress_words(phase.progress)]
    if phase.laggards:
        parts.append(f"late: {', '.join(phase.laggards)}")
    if followed.eta is not None:
        low, high = followed.eta.low_s, followed.eta.high_s
        about = "ready in" if followed.eta.basis == "earlier runs" else "this phase"
        parts.append(f"{about} {format_duration(low)} to {format_duration(high)}")
    if followed.stall:
        parts.append(followed.stall)
    elapsed = format_duration(max(0.0, followed.now_s - followed.started_s))
    return f"{elapsed}  " + "  ".join(part for part in parts if part)


def _shape(stall: str) -> str:
    """Return a stall's words without what changes every second."""
    return "".join(char for char in stall if not char.isdigit())[:16]
