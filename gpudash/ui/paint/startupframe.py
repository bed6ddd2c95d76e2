"""The whole screen of start-ups as rows, at any size."""

from __future__ import annotations

from gpudash.core.startup.model import Outcome
from gpudash.core.units import format_duration
from gpudash.ui.paint.banner import banner_rows
from gpudash.ui.paint.footer import footer_row
from gpudash.ui.paint.header import header_row, notes
from gpudash.ui.paint.layout import FOOTER_FROM, HEADER_FROM
from gpudash.ui.paint.spans import Row, finished, left, outside, right, wrapped
from gpudash.ui.paint.startuplist import empty_rows, list_rows, list_story
from gpudash.ui.paint.startuplog import line_row, log_rows
from gpudash.ui.paint.startupmemory import MEMORY_LEAST
from gpudash.ui.paint.startupsigns import alive_rows, ranks_of, ranks_rows, sentences
from gpudash.ui.paint.startupsteps import steps_height, steps_rows
from gpudash.ui.paint.startupstory import startup_story
from gpudash.ui.paint.startupview import StartupsView, StartupView
from gpudash.ui.paint.startupwhy import why_rows
from gpudash.ui.paint.story import Keys, Story

COMPACT = (60, 16)
"""Below these columns or rows there is no room for panels."""
_LOG = 5
_LOWER_LEAST, _LOWER_MOST = 6, 10
_SIDE_BY_SIDE = 96
_WHY_MOST = 14


def frame_rows(view: StartupsView, width: int, height: int) -> tuple[Row, ...]:
    """Paint a screen: exactly `height` rows of `width` cells."""
    glyphs = view.glyphs
    story = story_of(view, is_wide=width >= 100)
    header = (header_row(view.header, width, glyphs),) if height >= HEADER_FROM else ()
    banner = banner_rows(story, width, glyphs, () if header else notes(view.header))
    footer = (footer_row(view.keys, width, glyphs),) if height >= FOOTER_FROM else ()
    room = max(0, height - len(header) - len(banner) - len(footer))
    body = [finished(row, width, glyphs) for row in _body(view, width, room)]
    blank = finished((), width, glyphs)
    body = [*body, *[blank] * max(0, room - len(body))][:room]
    return (*header, *banner, *body, *footer)[:height]


def story_of(view: StartupsView, *, is_wide: bool) -> Story:
    """Return what the banner says."""
    one = opened(view)
    if one is None:
        return list_story(view)
    return startup_story(one, _banner_keys(one), is_wide=is_wide)


def opened(view: StartupsView) -> StartupView | None:
    """Return the one that is open."""
    if view.opened is None or not 0 <= view.opened < len(view.shown):
        return None
    return view.shown[view.opened]


def _banner_keys(view: StartupView) -> Keys:
    known = {label: key for key, label in view.keys}
    outcome = view.followed.startup.outcome
    wanted = {
        Outcome.STARTING: (("log", "log"), ("clean", "stop it")),
        Outcome.READY: (("log", "log"), ("copy", "copy")),
        Outcome.FAILED: (("clean", "clean up"), ("log", "log")),
    }[outcome]
    return tuple((known[name], label) for name, label in wanted if name in known)


def _body(view: StartupsView, width: int, room: int) -> list[Row]:
    one = opened(view)
    if one is None:
        if not view.shown:
            return empty_rows(width, room, view.glyphs)
        return list_rows(view, width, room)
    if width < COMPACT[0] or room < COMPACT[1] - 4:
        return _compact(one, width, room)
    if one.followed.startup.failure is not None:
        return _failed(one, width, room)
    return _running(one, width, room)


def _running(view: StartupView, width: int, room: int) -> list[Row]:
    steps = steps_height(view)
    log = _LOG if room - steps >= _LOG or room >= 20 else 0
    spare = max(0, room - log - steps)
    ranks = len(ranks_of(view))
    lower = min(_LOWER_MOST, max(_LOWER_LEAST, ranks + 2), spare) if spare >= _LOWER_LEAST else 0
    if spare - lower > MEMORY_LEAST + 12:
        lower = min(max(_LOWER_MOST, ranks + 2), spare - MEMORY_LEAST - 12)
    if spare - lower > 24:
        # A high screen shows more of the log, not a higher curve.
        more = min(spare - lower - 24, 10)
        log += more
        spare -= more
    says = () if lower >= 3 else tuple(sentences(view))
    rows = steps_rows(view, width, room - log - lower, says=says)
    rows += _lower(view, width, lower)
    return rows + log_rows(view, width, log)


def _lower(view: StartupView, width: int, height: int) -> list[Row]:
    if height < 3:
        return []
    if width < _SIDE_BY_SIDE:
        return alive_rows(view, width, height)
    half = (width - 1) * 52 // 100
    ranks = ranks_rows(view, half, height)
    signs = alive_rows(view, width - half, height)
    return [
        (*finished(one, half, view.glyphs), *finished(other, width - half, view.glyphs))
        for one, other in zip(ranks, signs, strict=True)
    ]


def _failed(view: StartupView, width: int, room: int) -> list[Row]:
    why = why_rows(view, width, max(7, min(_WHY_MOST + 2, room - 10)))
    left_over = room - len(why)
    steps = min(steps_height(view) + 2, max(0, left_over - _LOG))
    log = left_over - steps
    if steps < 5:
        steps, log = 0, left_over
    if log > 8 and steps:
        grown = min(log - 8, 2)
        steps, log = steps + grown, log - grown
    rows = why + steps_rows(view, width, steps, border="border")
    return rows + log_rows(view, width, log)


def _compact(view: StartupView, width: int, room: int) -> list[Row]:
    """Paint the essentials: steps with their times, one sentence, the newest line."""
    line, glyphs = view.timeline, view.glyphs
    said: list[Row] = []
    failure = view.followed.startup.failure
    if failure is not None:
        text = outside(failure.message, 300)
        said = [((f" {part}", "text-strong b"),) for part in wrapped(text, width - 2, 4)]
    elif found := sentences(view):
        said = [((f" {part}", found[0][1]),) for part in wrapped(found[0][0], width - 2, 2)]
    log: list[Row] = []
    if view.lines:
        log = [line_row(view, view.lines[-1], width, rank=0, is_bright=True)]
    space = max(0, room - len(said) - len(log))
    steps = list(line.steps)
    while len(steps) > space and steps:
        steps.pop(0 if steps[0].stage.value == "done" else -1)
    rows: list[Row] = []
    for step in steps:
        mark = {"done": glyphs.clear, "now": glyphs.going, "failed": glyphs.bad}
        sign = mark.get(step.stage.value, glyphs.nothing)
        is_now = step.stage.value in ("now", "failed")
        seconds = glyphs.dash if step.seconds is None else format_duration(step.seconds)
        seconds = f"~{seconds}" if step.expected is not None and not step.spans else seconds
        style = "text-strong b" if is_now else "text"
        rows.append(
            (
                (f" {sign} ", "clear b" if step.stage.value == "done" else "key b"),
                (left(step.label, max(1, width - 14)), style),
                (right(seconds, 9), style),
            )
        )
    return [*said, *rows, *log] if failure is not None else [*rows, *said, *log]
