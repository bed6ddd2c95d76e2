"""The panel `phases`: steps on one time axis, GPU memory below them on the same axis."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from gpudash.core.startup.model import Outcome, Progress
from gpudash.core.startup.timeline import Stage, Step, Timeline
from gpudash.core.units import format_duration, gib
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, left, outside, right, wrapped
from gpudash.ui.paint.startupview import Curve, StartupView

_TICKS_S = (5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21_600, 86_400)
_TICK_CELLS = 8
_LEAST_S = 20.0
MEMORY_LEAST = 4
"""Rows: with fewer a curve says nothing."""
_BAR_OF = {Stage.DONE: "spark-3", Stage.NOW: "alive-bar", Stage.FAILED: "leftover-bar"}


class Axis(NamedTuple):
    """Where times stand in the panel."""

    label: int
    """Cells before the axis."""
    width: int
    seconds: float
    """The whole of it."""
    time: int
    delta: int
    """Cells of the columns behind it; 0 where there is none."""
    tick_s: int

    def column(self, at_s: float) -> int:
        """Return the column of a time."""
        return max(0, min(self.width - 1, int(at_s / self.seconds * self.width)))

    @property
    def ticks(self) -> frozenset[int]:
        """Return the columns that have a dot."""
        count = int(self.seconds // self.tick_s) + 1
        return frozenset(self.column(number * self.tick_s) for number in range(count))


def axis_of(line: Timeline, inner: int, *, has_earlier: bool) -> Axis:
    """Divide the panel's inner width, and fit the axis to what there is to show."""
    label = 20 if inner >= 98 else 17 if inner >= 70 else 15
    time = 9
    delta = (20 if has_earlier else 16) if inner >= 98 else 9 if inner >= 76 else 0
    width = max(8, inner - label - time - delta - 1)
    seconds = max(_LEAST_S, line.span * 1.04)
    most = max(1, width // _TICK_CELLS)
    tick = next((one for one in _TICKS_S if seconds / one <= most), _TICKS_S[-1])
    return Axis(label, width, seconds, time, delta, tick)


def steps_height(view: StartupView) -> int:
    """Return how many rows show all steps, borders and axis included."""
    return 3 + max(1, len(view.timeline.steps))


def steps_rows(
    view: StartupView,
    width: int,
    height: int,
    *,
    border: str = "",
    says: tuple[tuple[str, str], ...] = (),
) -> list[Row]:
    """Paint the panel; what room the steps leave is memory's, and the footnote's.

    `says`: sentences with their styles, where no other panel says them.
    """
    if height < 3:
        return []
    glyphs, line = view.glyphs, view.timeline
    inner = width - 2
    axis = axis_of(line, inner, has_earlier=view.followed.earlier is not None)
    room = height - 2
    foot = footnote(view, inner) if room >= len(line.steps) + 2 else ()
    if foot:
        room -= 1
    body: list[Row] = [_head(view, axis)]
    body += _steps(view, line, axis, max(0, room - 1))
    spare = room - len(body)
    if spare >= MEMORY_LEAST + 1 and view.followed.memory:
        body += [_blank(view, line, axis), *_memory(view, line, axis, spare - 1)]
    spare = room - len(body)
    told: list[Row] = []
    for text, style in says:
        told += [((f" {part}", style),) for part in wrapped(text, inner - 2, 2)]
    if spare > 1 and told:
        body += [(), *told[: spare - 1]]
    body += [()] * max(0, room - len(body))
    body = [*body[:room], *((foot,) if foot else ())]
    edge = border or (
        "border-focus" if view.followed.startup.outcome is Outcome.STARTING else "border"
    )
    title = (Piece((("phases", "text-strong b"),)),)
    return [
        box.top(title, _legend(view, glyphs), width, edge, glyphs),
        *(box.side(row, width, edge, glyphs) for row in body[: height - 2]),
        box.bottom((), (), width, edge, glyphs),
    ]


def _legend(view: StartupView, glyphs: Glyphs) -> tuple[Piece, ...]:
    one = view.followed
    if one.earlier is None:
        return (Piece((("no earlier start-up of this command is known", "text-muted"),), 1),)
    when = one.earlier.recorded_at
    total = format_duration(sum(past.seconds for past in one.earlier.phases))
    if one.startup.outcome is not Outcome.STARTING:
        words = f"against {when}" + (", which got ready" if one.earlier.outcome == "ready" else "")
        return (Piece(((words, "text-muted"),), 1),)
    return (
        Piece(((f"{glyphs.clear} ", "clear b"), ("done", "text-muted")), 2),
        Piece(((f"{glyphs.use} ", "alive-bar"), ("now", "text-muted")), 2),
        Piece(
            (
                (f"{glyphs.use} ", "bar-plan"),
                (f"expected, as on {when}: ready after {total}", "text-muted"),
            ),
            1,
        ),
    )


def _head(view: StartupView, axis: Axis) -> Row:
    text = [" "] * axis.width
    free = 0
    for number in range(int(axis.seconds // axis.tick_s) + 1):
        label = tick_label(number * axis.tick_s)
        at = axis.column(number * axis.tick_s)
        if at >= free and at + len(label) <= axis.width:
            text[at : at + len(label)] = label
            free = at + len(label) + 1
    row: Row = ((" " * axis.label, "text"), ("".join(text), "text-muted"))
    row = (*row, (right("time", axis.time), "text-muted"))
    if view.followed.earlier is None or axis.delta < 9:
        return row
    words = "against last time" if axis.delta >= 20 else "before"
    return (*row, ("  ", "text"), (words, "text-muted"))


def tick_label(at_s: int) -> str:
    """Write a time of the axis: `0`, `30 s`, `2m`, `1h`."""
    if at_s == 0:
        return "0"
    if at_s < 60:
        return f"{at_s} s"
    minutes, seconds = divmod(at_s, 60)
    if minutes < 60:
        return f"{minutes}m" + (f"{seconds:02d}" if seconds else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h" + (f"{minutes:02d}" if minutes else "")


def _steps(view: StartupView, line: Timeline, axis: Axis, room: int) -> list[Row]:
    steps = list(line.steps)
    if not steps:
        nothing: Row = ((" waiting for the first line that is known", "text-muted"),)
        return [nothing][:room]
    folded = 0
    while len(steps) + (1 if folded else 0) > room and len(steps) > 1:
        # What never came says nothing; else what is over says least, then what is farthest away.
        is_over = view.followed.startup.outcome is not Outcome.STARTING
        last = steps[-1].stage is Stage.TO_COME and is_over
        steps.pop(-1 if last or steps[0].stage is not Stage.DONE else 0)
        folded += 1
    rows = [_step(view, step, line, axis) for step in steps]
    if folded and room > 1:
        rows.append(((f"   {folded} more", "text-muted"),))
    return rows[:room]


def _step(view: StartupView, step: Step, line: Timeline, axis: Axis) -> Row:
    glyphs = view.glyphs
    mark, mark_style, text_style = {
        Stage.DONE: (glyphs.clear, "clear b", "text"),
        Stage.NOW: (glyphs.going, "key b", "text-strong b"),
        Stage.FAILED: (glyphs.bad, "leftover b", "text-strong b"),
        Stage.TO_COME: (glyphs.nothing, "text-muted", "text-muted"),
    }[step.stage]
    start: Row = ((f" {mark} ", mark_style), (left(step.label, axis.label - 3), text_style))
    seconds = "" if step.seconds is None else format_duration(step.seconds)
    is_to_come = step.stage is Stage.TO_COME
    if step.seconds is None:
        seconds = glyphs.dash
    elif is_to_come:
        seconds = f"~{seconds}"
    time_style = (
        "text-muted" if is_to_come else "text-strong b" if step.stage is Stage.NOW else "text"
    )
    return (
        *start,
        *_bar(view, step, line, axis),
        (right(seconds, axis.time), time_style),
        *_delta(step, axis),
    )


def _bar(view: StartupView, step: Step, line: Timeline, axis: Axis) -> Row:
    cells: list[tuple[str, str]] = [
        (view.glyphs.nothing, "decor") if at in axis.ticks else (" ", "text")
        for at in range(axis.width)
    ]
    fill = "#" if view.glyphs.has_patterns else "█"
    if step.expected is not None:
        first, last = axis.column(step.expected[0]), axis.column(step.expected[1])
        plan = "." if view.glyphs.has_patterns else "█"
        for at in range(first + (step.stage is Stage.NOW), max(first, last) + 1):
            if at < axis.width:
                cells[at] = (plan, "bar-plan")
    for begin, end in step.spans:
        first = axis.column(begin)
        for at in range(first, max(first + 1, axis.column(end))):
            cells[at] = (fill, _BAR_OF.get(step.stage, "spark-3"))
    _put_now(view, line, axis, cells)
    return _joined(cells)


def _put_now(view: StartupView, line: Timeline, axis: Axis, cells: list[tuple[str, str]]) -> None:
    outcome = view.followed.startup.outcome
    if outcome is Outcome.READY:
        return
    at = axis.column(line.now)
    style = "leftover" if outcome is Outcome.FAILED else "border-focus"
    cells[at] = (view.glyphs.down, style)


def _joined(cells: list[tuple[str, str]]) -> Row:
    spans: list[tuple[str, str]] = []
    for char, style in cells:
        if spans and spans[-1][1] == style:
            spans[-1] = (spans[-1][0] + char, style)
        else:
            spans.append((char, style))
    return tuple(spans)


def signed(seconds: float) -> str:
    """Write a difference: `+31 s`, `−9 s`, `±0 s`."""
    if abs(seconds) < 0.5:
        return "±0 s"
    return ("+" if seconds > 0 else "−") + format_duration(abs(round(seconds)))


def _delta(step: Step, axis: Axis) -> Row:
    if axis.delta < 9 or step.stage is Stage.TO_COME:
        return ()
    delta_s = step.delta_s
    if delta_s is None:
        if step.stage is Stage.NOW and step.before_s is not None:
            return (("  ", "text"), (f"of {format_duration(step.before_s)}", "text-muted"))
        return ()
    style = "unknown b" if step.is_late else "text-muted"
    row: Row = (("  ", "text"), (signed(delta_s), style))
    if step.stage is Stage.NOW and step.before_s is not None and axis.delta >= 20:
        row += ((f" of {format_duration(step.before_s)}", "text-muted"),)
    return row


# -- memory ------------------------------------------------------------------------------------


def _blank(view: StartupView, line: Timeline, axis: Axis) -> Row:
    cells = [(" ", "text")] * axis.width
    _put_now(view, line, axis, cells)
    return ((" " * axis.label, "text"), *_joined(cells))


def _memory(view: StartupView, line: Timeline, axis: Axis, height: int) -> list[Row]:
    one = view.followed
    total = max((view.totals.get(gpu, 0) for gpu in one.memory), default=0)
    now = median_at(view, one.now_s - one.started_s)
    peak = max((used for curve in one.memory.values() for _, used in curve), default=0)
    top = total or max(peak, 1)
    begun = one.started_s - line.zero_s
    until = axis.column(line.now)
    heights = []
    for at in range(until + 1):
        seen = median_at(view, (at + 1) / axis.width * axis.seconds - begun)
        heights.append(min(1.0, (seen or 0) / top))
    curves: list[Curve] = []
    before = one.earlier.memory if one.earlier is not None else ()
    is_open = one.startup.outcome is Outcome.STARTING
    if before and is_open:
        curves.append(_expected(before, line, axis, top, heights[-1] if heights else 0.0))
    style = "leftover-bar" if one.startup.outcome is Outcome.FAILED else "alive-bar"
    curves.append((0, tuple(heights), style))
    drawn = view.chart(tuple(curves), axis.width, height)
    return [
        (
            *_memory_label(number, axis),
            *_with_now(view, line, axis, row),
            *_memory_words(number, height, top, total, now, max((b for _, b in before), default=0)),
        )
        for number, row in enumerate(drawn)
    ]


def _expected(
    before: tuple[tuple[float, int], ...], line: Timeline, axis: Axis, top: int, now: float
) -> Curve:
    """Return the earlier run's curve behind now, shifted by what this one is late."""
    first = axis.column(line.now) + 1
    last_s = before[-1][0]
    shift = (line.expected_end or last_s) - last_s
    heights = []
    for at in range(first, axis.width):
        then = (at + 0.5) / axis.width * axis.seconds
        if then > (line.expected_end or last_s):
            break
        used = max((b for s, b in before if s <= then - shift), default=0)
        heights.append(min(1.0, max(now, used / top)))
    return first, tuple(heights), "bar-plan"


def median_at(view: StartupView, at_s: float) -> int | None:
    """Return the median over the GPUs at a time since it began; None where nothing is known."""
    values = []
    for curve in view.followed.memory.values():
        known = [used for when, used in curve if when <= at_s]
        if known:
            values.append(known[-1])
    return int(median(values)) if values else None


def _memory_label(number: int, axis: Axis) -> Row:
    if number == 0:
        return ((left(" GPU memory", axis.label), "text-strong b"),)
    if number == 1:
        words = " per GPU, median" if axis.label >= 17 else " median"
        return ((left(words, axis.label), "text-muted"),)
    return ((" " * axis.label, "text"),)


def _memory_words(
    number: int, height: int, top: int, total: int, now: int | None, before: int
) -> Row:
    """Write the amounts where they are: the limit at the top, now beside the curve's end."""

    def row_of(used: int) -> int:
        return max(0, min(height - 1, height - 1 - int(used / top * height - 1e-9)))

    words: dict[int, Row] = {}
    if now is not None:
        words[row_of(now)] = ((f" {gib(now)} GiB", "text-strong b"), (" now", "text-muted"))
    if before and row_of(before) not in words:
        words[row_of(before)] = ((f" {gib(before)} GiB", "text"), (" before", "text-muted"))
    if total and 0 not in words:
        words[0] = ((f" {gib(total)} GiB", "text-muted"), (" limit", "text-muted"))
    return words.get(number, ())


def _with_now(view: StartupView, line: Timeline, axis: Axis, row: Row) -> Row:
    cells = [(char, style) for text, style in row for char in text][: axis.width]
    if len(cells) == axis.width:
        _put_now(view, line, axis, cells)
    return _joined(cells)


# -- words -------------------------------------------------------------------------------------


def footnote(view: StartupView, inner: int) -> Row:
    """Say what is left behind, or what the numbers disagree with."""
    one = view.followed
    if one.startup.outcome is Outcome.FAILED and view.left:
        row: Row = ((" left behind  ", "text-muted"), (outside(view.left, 120), "text"))
        return (*row, ("  ", "text"), ("c", "key b"), (" cleans them now", "text-muted"))
    notes = one.startup.notes
    if notes:
        return ((" ! ", "unknown b"), (outside(notes[0], inner), "unknown"))
    return ()


def progress_words(progress: Progress | None) -> str:
    """Write how far a bar is: `41 of 62 shards`, `66 %`."""
    if progress is None:
        return ""
    if progress.unit == "fraction":
        return f"{100 * progress.done:.0f} %"
    done = f"{progress.done:.10g}"
    if progress.total is None:
        return f"{done} {progress.unit}"
    return f"{done} of {progress.total:.10g} {progress.unit}"
