"""What the banner says of a start-up: » STARTING, √ READY, × FAILED (mockups spec §8)."""

from __future__ import annotations

from gpudash.core.startup.following import Followed
from gpudash.core.startup.history import Eta
from gpudash.core.startup.model import Outcome
from gpudash.core.startup.timeline import LABELS, Timeline
from gpudash.core.units import format_duration, plural
from gpudash.ui.paint.facts import fact
from gpudash.ui.paint.spans import Row, outside
from gpudash.ui.paint.startupsteps import progress_words
from gpudash.ui.paint.startupview import StartupView
from gpudash.ui.paint.story import Keys, Story

LOG = ("L", "log")
_LATE_S = 15.0
SHORTEST_CLAUSE = 16
"""A cause of fewer characters is a label, and its sentence comes behind the colon."""


def startup_story(view: StartupView, keys: Keys, *, is_wide: bool) -> Story:
    """Return the banner of one start-up; `keys` are the one or two that change it."""
    line = view.timeline
    match view.followed.startup.outcome:
        case Outcome.FAILED:
            return _failed(view, line, keys)
        case Outcome.READY:
            return _ready(view, line, keys, is_wide=is_wide)
        case _:
            return _starting(view, line, keys, is_wide=is_wide)


def told_instead(view: StartupView, story: Story, *, is_wide: bool) -> Story:
    """Return the dashboard's banner: the start-up's, where nothing graver is to be said.

    What failed just now goes before the leftovers that it leaves: they are its own.
    """
    outcome = view.followed.startup.outcome
    graver = ("UNKNOWN", "NOT CLEAR") if outcome is not Outcome.FAILED else ("UNKNOWN",)
    if story.word in graver or story.tone == "cleaning":
        return story
    keys: Keys = (("s", "start-up"), ("L", "log"))
    if outcome is Outcome.FAILED:
        keys = (("c", "clean up"), ("s", "why"))
    return startup_story(view, keys, is_wide=is_wide)


def _starting(view: StartupView, line: Timeline, keys: Keys, *, is_wide: bool) -> Story:
    one = view.followed
    phase = one.startup.current
    name = LABELS.get(phase.name, phase.name.replace("_", " ")) if phase else "waiting for its log"
    headline: list[Row] = [((name, "text-strong b"),)]
    if phase is not None and (done := progress_words(phase.progress)):
        headline[0] += ((f"  {done}", "text"),)
    left = (max(0.0, one.eta.low_s), max(0.0, one.eta.high_s)) if one.eta else None
    if one.eta is not None and left is not None:
        headline.append(((_eta_words(one.eta), "text-strong b" if is_wide else "text"),))
    late_s = line.late_s
    if one.earlier is not None and abs(late_s) >= _LATE_S:
        if late_s > 0:
            headline.append(((f"{format_duration(late_s)} behind last time", "unknown"),))
        else:
            headline.append(((f"{format_duration(-late_s)} before last time", "text-muted"),))
    if one.stall:
        headline.insert(1, ((outside(one.stall, 100), "unknown"),))
    return Story(
        tone="use",
        symbol="going",
        word="STARTING",
        since=f"for {format_duration(line.now)}",
        headline=tuple(headline),
        second=what_is_started(one),
        keys=keys,
        short=headline[0],
    )


def _eta_words(eta: Eta) -> str:
    what = "ready" if eta.basis != "this bar" else "this phase done"
    low, high = format_duration(max(0.0, eta.low_s)), format_duration(max(0.0, eta.high_s))
    return f"{what} in {low}" if low == high else f"{what} in {low} to {high}"


def what_is_started(one: Followed) -> tuple[Row, ...]:
    """Say what is started: its name, its GPUs, its port."""
    first: Row = ((outside(one.name, 60), "text"),)
    facts: list[Row] = [first]
    if one.startup.engine and one.startup.engine.lower() not in one.name.lower():
        version = f" {one.startup.version}" if one.startup.version else ""
        facts.append(fact(f"{outside(one.startup.engine, 24)}{outside(version, 24)}"))
    if one.gpus:
        facts.append(fact(plural(len(one.gpus), "GPU")))
    if one.startup.port is not None and f":{one.startup.port}" not in one.name:
        facts.append(fact(f":{one.startup.port}", "text-muted"))
    return tuple(facts)


def _ready(view: StartupView, line: Timeline, keys: Keys, *, is_wide: bool) -> Story:
    one = view.followed
    took = format_duration(line.now)
    where = _served_at(one)
    by = {"log": "by its log alone", "url": "by its URL", "log+url": "its URL answers 200"}
    headline: list[Row] = [
        ((outside(where, 80), "text-strong b"),),
        ((f"ready after {took}", "text"),),
    ]
    if is_wide:
        headline.append(fact(by.get(one.startup.ready_basis, ""), "text-muted"))
    second = list(what_is_started(one))
    if one.earlier is not None:
        delta_s = line.now - sum(past.seconds for past in one.earlier.phases)
        words = (
            f"{format_duration(abs(delta_s))} {'later' if delta_s > 0 else 'sooner'} than last time"
        )
        if abs(delta_s) < 1:
            words = "as long as last time"
        second.append(fact(words, "unknown" if delta_s >= _LATE_S else "text-muted"))
    if one.has_exited:
        second.append(fact("has ended since", "unknown"))
    return Story(
        tone="clear",
        symbol="clear",
        word="READY",
        since=f"after {took}",
        headline=tuple(headline),
        second=tuple(second),
        keys=keys,
        short=headline[0],
    )


def _served_at(one: Followed) -> str:
    """Return where it is served: the health URL without its path, else its port or its name."""
    if one.url:
        scheme, _, rest = one.url.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"
    return f":{one.startup.port}" if one.startup.port else one.name


def _failed(view: StartupView, line: Timeline, keys: Keys) -> Story:
    one = view.followed
    failure = one.startup.failure
    message = outside(failure.message, 300) if failure else "failed"
    message = message[:1].upper() + message[1:]
    # The first clause names it; numbers stand in the panel too.
    clause, _, rest = message.partition(": ")
    if len(clause) < SHORTEST_CLAUSE:
        clause, rest = message, ""
    cause: Row = ((clause, "text-strong b"),)
    headline: tuple[Row, ...] = (cause, fact(rest)) if rest else (cause,)
    second: list[Row] = [*what_is_started(one)]
    if failure is not None and failure.others:
        second.insert(
            0, fact(f"{plural(failure.others, 'more rank')} with the same error", "leftover")
        )
    if failure is not None and failure.after_ready_s is not None:
        second.insert(0, fact("it was ready before", "unknown"))
    return Story(
        tone="bad",
        symbol="bad",
        word="FAILED",
        since=f"after {format_duration(line.now)}",
        headline=headline,
        second=tuple(second),
        keys=keys,
        short=cause,
    )
