"""Choose the root cause: the lowest tier, then the earliest line, then what it stands for.

Nothing is a failure because of a warning alone. An exception whose process went on, or one before
READY, was survived. A process that was killed by signal leaves no traceback, so its exit code is
all there is.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudash.core.names import printable
from gpudash.core.startup import sentences
from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.model import Failure
from gpudash.core.startup.reading import Hit, Run
from gpudash.core.startup.secrets import masked

_FATAL_WHEN_SERVING = frozenset(
    {
        "cuda_oom", "cuda_error", "nccl", "nccl_timeout", "host_oom_or_sigkill", "shm", "crash",
        "watchdog_timeout", "port_in_use",
    }
)  # fmt: skip
_ENDED_BY_USER = frozenset({0, -2, -15, 130, 143})
_TRAINS = frozenset({"torchrun", "accelerate", "hf-trainer", "deepspeed", "lightning"})
_LISTED = re.compile(r"Supported architectures: (.*)", re.DOTALL)
_NEAR_LINES = 50


def diagnose(run: Run, catalog: Catalog) -> Failure | None:
    """Return the failure as far as it is certain now."""
    primary = _primary(run)
    if primary is None:
        return _by_exit(run, catalog)
    primary = _refined(run, primary)
    told = sentences.say(run, primary)
    if told.kind != primary.kind:
        primary = replace(primary, kind=told.kind)
    return Failure(
        kind=told.kind,
        line=primary.line,
        message=told.message,
        hint=catalog.hints.get(told.kind, ""),
        rank=told.rank or primary.rank or None,
        phase=primary.phase,
        others=_others(run, primary),
        after_ready_s=_after_ready(run, primary),
        context=_shown(primary.context),
        details=told.details,
    )


def _shown(lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(masked(printable(line)) for line in lines)


def _primary(run: Run) -> Hit | None:
    strong = [hit for hit in run.hits if not hit.is_weak and _counts(run, hit)]
    if roots := [hit for hit in strong if hit.tier == 1]:
        return roots[0]
    symptoms = [hit for hit in run.hits if hit.is_terminal]
    has_failed = bool(symptoms) or _has_crashed(run)
    if not has_failed and not run.has_ended:
        return None
    second = [hit for hit in strong if hit.tier == 2]
    weak = [hit for hit in run.hits if hit.is_weak and hit.tier == 1]
    if second:
        return _warning_near(weak, second[0]) or second[0]
    if not has_failed:
        return None
    if weak:
        return weak[0]
    opened = [hit for hit in run.hits if hit.tier == 3]
    return next(iter(symptoms or opened), None)


def _counts(run: Run, hit: Hit) -> bool:
    """A server answers bad requests with tracebacks; only some errors end it."""
    if not hit.is_after_ready or run.engine is None or run.engine in _TRAINS:
        return True
    if hit.kind in _FATAL_WHEN_SERVING and hit.tier == 1:
        return True
    return _has_crashed(run) or any(h.is_terminal and h.is_after_ready for h in run.hits)


def _has_crashed(run: Run) -> bool:
    return run.exit_code is not None and run.exit_code not in _ENDED_BY_USER


def _warning_near(weak: list[Hit], exception: Hit) -> Hit | None:
    """A warning becomes the cause where an exception without words follows it closely."""
    if not exception.is_exception or exception.groups.get("msg"):
        return None
    near = [hit for hit in weak if 0 < exception.line - hit.line <= _NEAR_LINES]
    return near[-1] if near else None


def _refined(run: Run, primary: Hit) -> Hit:
    """Follow what a wrapper stands for."""
    if primary.kind == "nccl" and not primary.is_weak:
        before = [
            hit
            for hit in run.hits
            if hit.kind == "nccl" and hit.is_weak and hit.line < primary.line
        ]
        return before[-1] if before else primary
    if primary.kind == "unsupported_arch" and _is_listed(primary):
        before = [hit for hit in run.hits if hit.kind == "import_error" and hit.line < primary.line]
        if before:
            groups = {**before[-1].groups, "masked": primary.groups.get("arch", "")}
            return replace(before[-1], groups={**groups, "masked_line": str(primary.line)})
    return primary


def _is_listed(hit: Hit) -> bool:
    """Return whether the rejected architecture is among the supported ones."""
    listed = _LISTED.search(hit.text)
    names = re.findall(r"\w+", hit.groups.get("arch", ""))
    return listed is not None and any(f"'{name}'" in listed[1] for name in names)


def _others(run: Run, primary: Hit) -> int:
    """Count the other ranks that failed the same way."""
    who = _who(primary)
    same = {
        _who(hit)
        for hit in run.hits
        if hit.kind == primary.kind and hit.is_weak == primary.is_weak and hit.line > primary.line
    }
    return len({other for other in same if other} - {who})


def _who(hit: Hit) -> str:
    gpu = hit.groups.get("gpu") or hit.groups.get("gpu2")
    return hit.rank or (f"gpu {gpu}" if gpu else "")


def _after_ready(run: Run, primary: Hit) -> float | None:
    if not primary.is_after_ready or run.ready_s is None or primary.now_s is None:
        return None
    return max(0.0, primary.now_s - run.ready_s)


def _by_exit(run: Run, catalog: Catalog) -> Failure | None:
    """Return what the exit status alone says."""
    if not _has_crashed(run) or run.exit_code is None:
        return None
    kind, message = sentences.say_exit(run, run.exit_code)
    phase = run.current()
    return Failure(
        kind=kind,
        line=None,
        message=message,
        hint=catalog.hints.get(kind, ""),
        phase=phase.name if phase is not None else None,
        context=_shown(run.recent[-4:]),
        details={"exit_code": run.exit_code},
    )
