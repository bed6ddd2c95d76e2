"""Several start-ups as a list, one row each; and what to do where there is none."""

from __future__ import annotations

from gpudash.core.startup.model import Outcome
from gpudash.core.startup.timeline import LABELS
from gpudash.core.units import format_duration
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.facts import fact
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, fit, left, on_background, outside, right, wrapped
from gpudash.ui.paint.startupsteps import progress_words
from gpudash.ui.paint.startupview import StartupsView, StartupView
from gpudash.ui.paint.story import Story

_WAYS = (
    ("gpudash run -- CMD …", "cleans if asked, launches CMD and follows it until it is ready"),
    ("gpudash follow --log FILE", "follows one that already runs, by its log"),
    ("gpudash demo startup", "plays the whole job, simulated"),
)
EMPTY_TEXT = (
    "A family of your own that begins on a watched GPU is followed by itself: start your server "
    "as you always do, and it appears here."
)


def list_rows(view: StartupsView, width: int, height: int) -> list[Row]:
    """Paint the list; the cursor's row stays in sight."""
    glyphs, room = view.glyphs, height - 2
    if room < 1:
        return []
    start = max(0, min(view.cursor - room + 1, len(view.shown) - room))
    shown = view.shown[start : start + room]
    body = [
        _row(one, width - 2, glyphs, is_here=start + place == view.cursor)
        for place, one in enumerate(shown)
    ]
    body = [*body, *[()] * (room - len(body))]
    end = (Piece((("newest first", "text-muted"),), 1),)
    title = (Piece((("start-ups", "text-strong b"),)),)
    return [
        box.top(title, end, width, "border-focus", glyphs),
        *(box.side(row, width, "border-focus", glyphs) for row in body),
        box.bottom((), (), width, "border-focus", glyphs),
    ]


def _row(view: StartupView, width: int, glyphs: Glyphs, *, is_here: bool) -> Row:
    one = view.followed
    line = view.timeline
    mark, style, word = _outcome(view, glyphs)
    cursor = glyphs.cursor if is_here else " "
    row: Row = ((cursor, "border-focus"), (f"{mark} ", f"{style} b"))
    row += ((left(word, 10), f"{style} b"),)
    if width >= 70:
        row += ((left(outside(one.host, 16), 18), "text"),)
    row += ((left(outside(one.name, 60), 28 if width >= 100 else 20), "text-strong"),)
    row += ((right(format_duration(line.now), 8), "text"), ("  ", "text"))
    row += ((_state(view), "text-muted"),)
    row = fit(row, width, glyphs.cut)
    return on_background(row, "row-cursor") if is_here else row


def _outcome(view: StartupView, glyphs: Glyphs) -> tuple[str, str, str]:
    return {
        Outcome.FAILED: (glyphs.bad, "leftover", "failed"),
        Outcome.READY: (glyphs.clear, "clear", "ready"),
        Outcome.STARTING: (glyphs.going, "key", "starting"),
    }[view.followed.startup.outcome]


def _state(view: StartupView) -> str:
    startup = view.followed.startup
    if startup.failure is not None:
        return outside(startup.failure.message, 200)
    if startup.outcome is Outcome.READY:
        return outside(view.followed.url or "", 80)
    phase = startup.current
    if phase is None:
        return "waiting for its log"
    name = LABELS.get(phase.name, phase.name)
    return f"{name}  {progress_words(phase.progress)}".rstrip()


def empty_rows(width: int, height: int, glyphs: Glyphs) -> list[Row]:
    """Say how a start-up comes to be seen here."""
    inner = width - 2
    body: list[Row] = [((f" {line}", "text"),) for line in wrapped(EMPTY_TEXT, inner - 2, 4)]
    body.append(())
    column = max(len(command) for command, _ in _WAYS) + 3
    for command, what in _WAYS:
        if inner >= column + len(what) + 2:
            body.append(((f" {left(command, column)}", "key b"), (what, "text-muted")))
        else:
            body.append(((f" {command}", "key b"),))
    body = [*body, *[()] * max(0, height - 2 - len(body))][: max(0, height - 2)]
    title = (Piece((("start-ups", "text-strong b"),)),)
    return [
        box.top(title, (), width, "border", glyphs),
        *(box.side(row, width, "border", glyphs) for row in body),
        box.bottom((), (), width, "border", glyphs),
    ]


def list_story(view: StartupsView) -> Story:
    """Return the banner of the list."""
    count = len(view.shown)
    outcomes = [one.followed.startup.outcome for one in view.shown]
    starting = outcomes.count(Outcome.STARTING)
    failed = outcomes.count(Outcome.FAILED)
    ready = outcomes.count(Outcome.READY)
    if not count:
        none = fact("no start-up has been seen", "text-strong b")
        second = (fact("since gpudash began to watch", "text-muted"),)
        return Story("use", "zero", "START-UPS", "", (none,), second, (("esc", "back"),), none)
    facts = [
        fact(f"{number} {word}", "text-strong b" if place == 0 else "text")
        for place, (number, word) in enumerate(
            pair
            for pair in ((starting, "starting"), (ready, "ready"), (failed, "failed"))
            if pair[0]
        )
    ]
    tone, symbol, word = "use", "going", "STARTING"
    if failed and not starting:
        tone, symbol, word = "bad", "bad", "FAILED"
    elif not starting:
        tone, symbol, word = "clear", "clear", "READY"
    keys = (("enter", "open"), ("esc", "back"))
    second = (fact("one row for each start-up, newest first", "text-muted"),)
    return Story(tone, symbol, word, "", tuple(facts), second, keys, facts[0])
