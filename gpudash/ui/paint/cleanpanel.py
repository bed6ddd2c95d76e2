"""The panel `cleanup`: each process on one time axis until it ended, and what comes next."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.cleanup.course import Course, force_at_s
from gpudash.core.cleanup.forecast import owner_of_family
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.progress import Fate, Target
from gpudash.core.units import format_duration, format_memory, gib
from gpudash.ui.paint import box
from gpudash.ui.paint.bars import memory_bar
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.claims import BAR_OF, TEXT_OF
from gpudash.ui.paint.cleaning import (
    CleaningView,
    HostProgress,
    freed,
    member_label,
    memory_words,
    next_force_s,
    to_free,
)
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, cell_width, finished, fit, left, outside, right

_WIDE = 56
"""Columns of the axis from which on the state has room for the memory as well."""
_SPARE_S = 2.0
_LEAST_S = 4.0


class _Axis(NamedTuple):
    who: int
    """Width of letter, name and pid."""
    width: int
    seconds: float
    force: int | None
    """Column of the line at which survivors are forced."""

    def column(self, after_s: float) -> int:
        """Return the column of a time after the order left."""
        return max(0, min(self.width - 1, int(after_s / self.seconds * self.width)))


def panel_height(view: CleaningView) -> int:
    """Return how many rows show all."""
    return 10 + sum(len(one.state.targets) for one in view.hosts) + len(view.hosts[1:])


def clean_rows(view: CleaningView, width: int, height: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Paint the panel at this size, borders included."""
    if height < 3:
        return ()
    axis = _axis(view, width - 2)
    body = [_head(axis)]
    tail = [_memory(view, axis, glyphs), _next(view, width - 2, glyphs)]
    rows = [
        _process(one, target, axis, view, glyphs) for one in view.hosts for target in _sorted(one)
    ]
    room = height - 2 - len(body) - len(tail)
    if len(rows) > room:
        # Who is still there says more than who has gone.
        pairs = [(one, target) for one in view.hosts for target in _sorted(one)]
        living = [row for row, (_, target) in zip(rows, pairs, strict=True) if not target.is_over]
        gone = len(rows) - len(living)
        shown = living[: max(0, room - 1)]
        words = f" {gone} ended" + (f", {len(living) - len(shown)} more" if shown != living else "")
        rows = [*shown, ((words, "text-muted"),)][: max(0, room)]
    left_alone = _left_alone(view, width - 2)
    if room - len(rows) >= 1 + len(left_alone) and left_alone:
        rows += [(), *left_alone]
    body += rows
    blank = height - 2 - len(body) - len(tail)
    body += [()] * max(0, blank) if blank > 0 else []
    body = [*body[: max(0, height - 2 - len(tail))], *tail][: height - 2]
    record: tuple[Piece, ...] = ()
    if view.record:
        record = (Piece((("record ", "text-muted"), (outside(view.record, 80), "text")), 1),)
    painted = (
        box.top((Piece((("cleanup", "text-strong b"),)),), record, width, "border-focus", glyphs),
        *(box.side(row, width, "border-focus", glyphs) for row in body),
        box.bottom((), (), width, "border-focus", glyphs),
    )
    return tuple(finished(row, width, glyphs) for row in painted)


def _sorted(one: HostProgress) -> list[Target]:
    return sorted(one.state.targets, key=lambda target: (target.family, target.identity.pid))


def _axis(view: CleaningView, inner: int) -> _Axis:
    who = 32 if inner >= 100 else 22 if inner >= 70 else 16
    state = 24 if inner >= 100 else 16 if inner >= 60 else 10
    width = max(4, inner - who - state - 2)
    now = [view.now_s - one.course.began_s for one in view.hosts if one.course]
    forces = [
        at_s - one.course.began_s
        for one in view.hosts
        if one.course is not None
        for target in one.state.targets
        if not target.is_over
        and (at_s := force_at_s(one.state, one.course, target.family)) is not None
    ]
    seconds = max([_LEAST_S, *(at + _SPARE_S for at in (*now, *forces))])
    axis = _Axis(who, width, seconds, None)
    return axis._replace(force=axis.column(min(forces)) if forces else None)


def _head(axis: _Axis) -> Row:
    step = next(
        one for one in (1, 2, 5, 10, 20, 30, 60, 120, 300) if axis.seconds / one <= 7 or one == 300
    )
    text = [" "] * axis.width
    for second in range(0, int(axis.seconds) + 1, step):
        label = f"{second} s"
        at = axis.column(second)
        if at + len(label) <= axis.width:
            text[at : at + len(label)] = label
    row: Row = ((left(" who", axis.who), "text-muted"),)
    if axis.force is None:
        row += (("".join(text), "text-muted"),)
    else:
        at = min(axis.force, axis.width - 5)
        row += (
            (left("".join(text[: max(0, at - 1)]), at), "text-muted"),
            ("force", "unknown"),
            (left(" " + "".join(text[at + 6 :]), axis.width - at - 5), "text-muted"),
        )
    return (*row, ("  state", "text-muted"))


def _process(
    one: HostProgress, target: Target, axis: _Axis, view: CleaningView, glyphs: Glyphs
) -> Row:
    pid = target.identity.pid
    name, detail = member_label(one, pid)
    family = next(
        (
            family
            for family in (one.state.plan.families if one.state.plan else ())
            if pid in family.pids
        ),
        None,
    )
    owner = owner_of_family(family) if family else None
    colour = TEXT_OF[owner] if owner else "leftover"
    room = axis.who - 4 - 8
    words = f"{name} {detail}".strip() if not target.is_heir else "born since"
    if cell_width(words) > room:
        # The letter says which family it is of.
        words = detail if cell_width(detail) <= room else detail.rpartition(" ")[2]
    start: Row = (
        (f" {left(one.letters.get(pid, glyphs.nothing), 2)}", f"{colour} b"),
        (left(fit(((words, ""),), room, glyphs.cut)[0][0], room), "text"),
        (right(str(pid), 8) + " ", "text-muted"),
    )
    bar = BAR_OF[owner] if owner else "leftover-bar"
    course = one.course
    drawn = _bar(course, pid, axis, view.now_s, bar, glyphs) if course else ()
    return (
        *fit(start, axis.who),
        *fit(drawn, axis.width),
        ("  ", "text"),
        *_state(one, target, glyphs, has_room=axis.width >= _WIDE),
    )


def _bar(course: Course, pid: int, axis: _Axis, now_s: float, bar: str, glyphs: Glyphs) -> Row:
    asked_s = dict(course.asked).get(pid)
    ended_s = dict(course.ended).get(pid)
    start = axis.column(asked_s - course.began_s) if asked_s is not None else 0
    until = ended_s if ended_s is not None else now_s
    if asked_s is None and ended_s is None:
        return _line(0, axis, glyphs)
    end = max(start + 1, axis.column(until - course.began_s))
    fill = "#" if glyphs.has_patterns else "▆"
    row: Row = ((" " * start, "text"), (fill * (end - start), bar))
    if ended_s is not None:
        row += ((f"{glyphs.clear} ", "clear"),)
        return (*row, *_line(end + 2, axis, glyphs))
    return (*row, *_line(end, axis, glyphs))


def _line(start: int, axis: _Axis, glyphs: Glyphs) -> Row:
    """Draw the empty rest of the axis, with the line at which survivors are forced."""
    size = axis.width - start
    if size <= 0:
        return ()
    track = "." if glyphs.has_patterns else "▁"
    if axis.force is None or not start <= axis.force < axis.width:
        return ((track * size, "bar-track"),)
    return (
        (track * (axis.force - start), "bar-track"),
        (glyphs.down, "unknown"),
        (track * (axis.width - axis.force - 1), "bar-track"),
    )


def _state(one: HostProgress, target: Target, glyphs: Glyphs, *, has_room: bool) -> Row:
    course = one.course
    pid = target.identity.pid
    match target.fate:
        case Fate.ENDED:
            at_s = dict(course.ended).get(pid) if course else None
            after = format_duration(at_s - course.began_s, tenths=True) if course and at_s else ""
            forced = "  forced" if course and pid in dict(course.forced) else ""
            back = f"  {memory_words(one, pid)}" if has_room and not forced else ""
            return ((f"{glyphs.clear} ", "clear"), (f"{after}{forced}{back}", "text"))
        case Fate.ASKED:
            return ((f"{glyphs.waiting} no answer", "unknown"),)
        case Fate.FORCED:
            return ((f"{glyphs.going} forced", "unknown"),)
        case Fate.STUCK:
            return ((f"{glyphs.bad} can't be killed", "leftover b"),)
        case Fate.REFUSED:
            why = target.refusal.value if target.refusal else ""
            return ((f"{glyphs.nothing} left: {why}", "unknown"),)
        case Fate.UNKNOWN:
            return (("? not known", "unknown"),)
        case _:
            return ((f"{glyphs.nothing} not asked yet", "text-muted"),)


def _left_alone(view: CleaningView, inner: int) -> list[Row]:
    rows: list[Row] = []
    for one in view.hosts:
        plan = one.state.plan
        for family in plan.families if plan else ():
            if family.id in one.state.picked or not family.shares:
                continue
            colour = TEXT_OF[owner_of_family(family)]
            letter = one.letters.get(family.pids[0], "")
            row: Row = (
                (f" {left(letter, 2)}", f"{colour} b"),
                (outside(family.label, 40), "text"),
                (f"   {outside(family.user, 32)}'s, left alone", "text-muted"),
            )
            rows.append(fit(row, inner))
    return rows[:3]


def _memory(view: CleaningView, axis: _Axis, glyphs: Glyphs) -> Row:
    whole, done = sum(map(to_free, view.hosts)), sum(map(freed, view.hosts))
    rest = max(0, whole - done)
    bar = memory_bar(
        axis.width, (("leftover-bar", False, rest),), rest, whole or 1, stacked=False, glyphs=glyphs
    )
    bar = tuple((text, style.replace("bar-track", "bar-ghost")) for text, style in bar)
    words = f"{gib(rest)} GiB" if rest >= 1 << 30 else format_memory(rest)
    return (
        (left(" memory", axis.who), "text-muted"),
        *fit(bar, axis.width),
        ("  ", "text"),
        (words, "text-strong b"),
        (" to go", "text-muted"),
    )


def _next(view: CleaningView, inner: int, glyphs: Glyphs) -> Row:
    row: Row = ((" next    ", "text-muted"),)
    at_s = next_force_s(view)
    phases = {one.state.phase for one in view.hosts}
    after = "then wait for zero, look for new holders, hold"
    if any(one.state.is_aborted for one in view.hosts):
        row += (("nobody else is signalled", "text"), ("   then look who is left", "text-muted"))
    elif at_s is not None and at_s > view.now_s:
        row += ((f"{view.wall_of(at_s)} force who is left", "text"), (f"   {after}", "text-muted"))
    elif Phase.RESCANNING in phases:
        row += (("look for new holders", "text"), ("   then hold zero", "text-muted"))
    else:
        row += (("wait for zero", "text"), ("   then look for new holders, hold", "text-muted"))
    return fit(row, inner, glyphs.cut)
