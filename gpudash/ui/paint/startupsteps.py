"""The panel `phases`: steps on one time axis, GPU memory below them on the same axis."""

from __future__ import annotations

from gpudash.core.startup.model import Outcome, Progress
from gpudash.core.startup.timeline import Stage, Step, Timeline
from gpudash.core.units import format_duration
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, left, outside, right, wrapped
from gpudash.ui.paint.startupaxis import Axis, axis_of, joined_cells, put_now, tick_label
from gpudash.ui.paint.startupmemory import MEMORY_LEAST, air_row, memory_rows
from gpudash.ui.paint.startupview import StartupView

_BAR_OF = {Stage.DONE: "spark-3", Stage.NOW: "alive-bar", Stage.FAILED: "leftover-bar"}


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
        body += [air_row(view, line, axis), *memory_rows(view, line, axis, spare - 1)]
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
    when = outside(view.before or one.earlier.recorded_at, 24)
    total = format_duration(sum(past.seconds for past in one.earlier.phases))
    if one.startup.outcome is not Outcome.STARTING:
        words = f"against {when}" + (", which got ready" if one.earlier.outcome == "ready" else "")
        return (Piece(((words, "text-muted"),), 1),)
    return (
        Piece(((f"{glyphs.clear} ", "clear b"), ("done", "text-muted")), 2),
        Piece(((f"{glyphs.use} ", "alive-bar"), ("now", "text-muted")), 2),
        Piece(
            (
                (f"{'.' if glyphs.has_patterns else glyphs.use} ", "bar-plan"),
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
    ticks = axis.ticks
    cells: list[tuple[str, str]] = [
        (view.glyphs.nothing, "decor") if at in ticks else (" ", "text") for at in range(axis.width)
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
    put_now(view, line, axis, cells)
    return joined_cells(cells)


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
