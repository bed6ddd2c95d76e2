"""Charts of the past: memory by owner, utilisation, power and temperature over one time axis.

Scales are fixed: memory to the GPU's total, utilisation to 100 %, power to its limit. A GPU alone
is drawn as an area, several as lines with their numbers in them.
"""

from __future__ import annotations

from gpudash.core.charting import Column
from gpudash.core.history import Series
from gpudash.core.model import Gpu, Owner
from gpudash.core.units import format_memory
from gpudash.ui.paint.box import Piece, bottom, side, top
from gpudash.ui.paint.claims import BAR_OF, TEXT_OF
from gpudash.ui.paint.detailcurves import Scale, owner_curves, scale_of, share_of, tone_curves
from gpudash.ui.paint.detailfacts import zero_lines
from gpudash.ui.paint.detailview import DetailsView
from gpudash.ui.paint.overlay import MARGIN, Line, overlaid
from gpudash.ui.paint.spans import Row, Span, finished, outside, right, row_width

LABEL = 8
"""Columns of the scale at the left, its gap included."""
_ORDER = (Series.MEMORY, Series.UTILISATION, Series.POWER, Series.TEMPERATURE)
_SHARES = {Series.MEMORY: 9, Series.UTILISATION: 7, Series.POWER: 6, Series.TEMPERATURE: 6}
_NAMES = {
    Series.MEMORY: "memory",
    Series.UTILISATION: "utilisation",
    Series.POWER: "power",
    Series.TEMPERATURE: "temperature",
}
_SHORT = dict(zip(_ORDER, ("mem", "util", "power", "temp"), strict=True))
_LEAST_ROWS = 4
"""Of a chart with borders: two of them for the curve."""


def chart_rows(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    """Paint the charts that have room: exactly `height` rows."""
    count = min(len(_ORDER), height // _LEAST_ROWS)
    if width < 50 or count < 2:
        return _small(view, width, height)
    rows: list[Row] = []
    heights = _heights(height, count)
    for place, (series, own) in enumerate(zip(_ORDER, heights, strict=False)):
        rows += _chart(view, series, width, own, has_axis=place == count - 1)
    return tuple(rows)


def _heights(height: int, count: int) -> list[int]:
    """Share rows out; the last has one more for the axis."""
    weights = [_SHARES[series] for series in _ORDER[:count]]
    spare = height - 1 - count * 3
    given = [3 + spare * weight // sum(weights) for weight in weights]
    given[0] += height - 1 - sum(given)
    given[-1] += 1
    return given


def _chart(
    view: DetailsView, series: Series, width: int, height: int, *, has_axis: bool
) -> list[Row]:
    glyphs = view.glyphs
    plot_width, plot_height = width - 2 - LABEL - 1, height - 2 - has_axis
    scale = scale_of(view, series)
    body = _plot(view, series, scale, plot_width, plot_height)
    title = Piece(((_NAMES[series], "text-strong b"),))
    rows = [top((title,), _legend(view, series), width, view.border, glyphs)]
    for place, row in enumerate(body):
        is_first, is_last = place == 0, place == len(body) - 1
        label = scale.label if is_first else "0" if is_last else ""
        inner = ((right(label, LABEL - 1) + " ", "text-muted"), *row, (" ", "text"))
        rows.append(side(inner, width, view.border, glyphs))
    if has_axis:
        rows.append(side(_axis(view, plot_width), width, view.border, glyphs))
    rows.append(bottom((), (), width, view.border, glyphs))
    return [finished(row, width, glyphs) for row in rows]


def _plot(
    view: DetailsView, series: Series, scale: Scale, width: int, height: int
) -> tuple[Row, ...]:
    if height < 1:
        return ()
    if len(view.gpus) != 1:
        return _lines(view, series, scale, width, height)
    values = view.trail.past(view.gpus[0].info.key, series, width)
    if series is Series.MEMORY:
        curves = owner_curves(view, values, width, height)
    else:
        curves = tone_curves(tuple(share_of(value, scale) for value in values), height)
    rows = list(view.draw(curves, width, height))
    rows = [_dotted(row, place, height, view) for place, row in enumerate(rows)]
    return (*rows[:-1], _floored(rows[-1], values, view))


def _lines(
    view: DetailsView, series: Series, scale: Scale, width: int, height: int
) -> tuple[Row, ...]:
    columns = max(0, width - MARGIN)
    lines = []
    for gpu in view.gpus:
        values = view.trail.past(gpu.info.key, series, columns)
        heights = tuple(None if value is None else min(1.0, value / scale.top) for value in values)
        lines.append(Line(gpu.info.index, heights))
    rows = overlaid(tuple(lines), width, height, view.glyphs)
    return tuple(_dotted(row, place, height, view) for place, row in enumerate(rows))


def _dotted(row: Row, place: int, height: int, view: DetailsView) -> Row:
    """Draw the line of the top, and of the middle where there is room, behind the curve."""
    if place != 0 and (height < 5 or place != height // 2):
        return row
    return _filled(row, lambda at: (view.glyphs.nothing, "decor") if at % 3 == 0 else None)


def _floored(row: Row, values: tuple[Column, ...], view: DetailsView) -> Row:
    """Tell 0 from what was not read, at the foot of a curve."""
    zero, gap = view.glyphs.spark[0], view.glyphs.nothing

    def mark(at: int) -> Span | None:
        if at >= len(values):
            return None
        if values[at] is None:
            return gap, "decor"
        return zero, "spark-base" if values[at] == 0 else "spark-2"

    return _filled(row, mark)


def _filled(row: Row, mark: object) -> Row:
    """Put marks where a row is blank."""
    assert callable(mark)
    spans: list[Span] = []
    at = 0
    for text, style in row:
        if text.strip(" "):
            spans.append((text, style))
            at += len(text)
            continue
        for _ in text:
            spans.append(mark(at) or (" ", "text"))
            at += 1
    return tuple(spans)


def _axis(view: DetailsView, width: int) -> Row:
    shown = width - (MARGIN if len(view.gpus) != 1 else 0)
    cells = [" "] * (LABEL + width + 1)
    for share, words in view.window.marks():
        text = words if not view.glyphs.is_ascii else words.replace("−", "-")
        start = LABEL + round(share * shown)
        start = start - len(text) if share == 1.0 else start
        if all(cell == " " for cell in cells[max(0, start - 1) : start + len(text) + 1]):
            cells[start : start + len(text)] = text
    return ((("".join(cells))[: LABEL + width + 1], "text-muted"),)


def _legend(view: DetailsView, series: Series) -> tuple[Piece, ...]:
    gpu = view.gpu
    if gpu is None:
        return (Piece(((_range(view, series), "text"),)),)
    now = Piece(((_now(gpu, series, view), "text-strong b"),))
    if series is Series.MEMORY:
        return (*_owners(view, gpu), now)
    if series is Series.UTILISATION:
        values = [v for v in view.trail.past(gpu.info.key, series, 120) if v is not None]
        mean = (
            f"average of {view.window.words} {round(sum(values) / len(values))}%" if values else ""
        )
        return Piece(((mean, "text-muted"),), 1), now
    if series is Series.POWER:
        limit = gpu.info.power_limit_mw
        words = f"limit {round(limit / 1000)} W" if limit else ""
        return Piece(((words, "text-muted"),), 1), now
    return (now,)


def _owners(view: DetailsView, gpu: Gpu) -> tuple[Piece, ...]:
    pieces = []
    here = [one for one in view.holders if any(gpu.info.index == at for at, _ in one.gpu_bytes)]
    for one in here[:4]:
        who = {Owner.MINE: "alive", Owner.LEFTOVER: "leftover"}.get(
            one.owner, one.user or "unknown"
        )
        swatch = view.glyphs.hatch if one.is_dead else view.glyphs.use
        text = TEXT_OF[one.owner]
        pieces.append(
            Piece(
                (
                    (swatch, BAR_OF[one.owner]),
                    (f" {one.letter}", f"{text} b"),
                    (f" {outside(who, 16)}", "text-muted"),
                ),
                2,
            )
        )
    return tuple(pieces)


def _now(gpu: Gpu, series: Series, view: DetailsView) -> str:
    """Say what a GPU reads now; of a host that says nothing, what it said last."""
    value = _value(gpu, series, view)
    if series is Series.MEMORY and not view.is_old:
        return value
    return f"{_when(view)} {value}"


def _when(view: DetailsView) -> str:
    return "last" if view.is_old else "now"


def _value(gpu: Gpu, series: Series, view: DetailsView) -> str:
    reading = gpu.reading
    if reading is None:
        return "?"
    known: dict[Series, tuple[int | None, str]] = {
        Series.UTILISATION: (reading.utilisation_pct, "%"),
        Series.POWER: (None if reading.power_mw is None else round(reading.power_mw / 1000), " W"),
        Series.TEMPERATURE: (reading.temperature_c, f"{view.glyphs.degree}C"),
    }
    if series is Series.MEMORY:
        return "?" if reading.used_bytes is None else format_memory(reading.used_bytes)
    value, unit = known[series]
    if value is None:
        return "–" if reading.mig and series is Series.UTILISATION else "?"
    return f"{value}{unit}"


def _range(view: DetailsView, series: Series) -> str:
    """Say from where to where all GPUs lie now, and which ones are at the ends."""
    words = {}
    for gpu in view.gpus:
        value = (
            gpu.reading
            and {
                Series.MEMORY: gpu.reading.used_bytes,
                Series.UTILISATION: gpu.reading.utilisation_pct,
                Series.POWER: gpu.reading.power_mw,
                Series.TEMPERATURE: gpu.reading.temperature_c,
            }[series]
        )
        if value is not None:
            words[gpu.info.index] = (value, _value(gpu, series, view))
    when = _when(view)
    if not words:
        return f"{when} ?"
    low, high = min(words, key=lambda at: words[at]), max(words, key=lambda at: words[at])
    if words[low][1] == words[high][1]:
        return f"{when} {words[low][1]}"
    return f"{when} {words[low][1]} (GPU {low}) to {words[high][1]} (GPU {high})"


def _small(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    """Paint one row a quantity, where charts have no room: its name, its past, what it is now."""
    rows: list[Row] = []
    per_gpu = max(1, min(len(view.gpus), (height - 1) // len(_ORDER))) if view.gpus else 0
    for series in _ORDER:
        for gpu in view.gpus[:per_gpu]:
            rows.append(_small_row(view, gpu, series, width))
    rows = rows[: max(0, height - 1)]
    note = f"past {view.window.words}" + (
        f", GPU {view.gpus[0].info.index}" if view.is_host and view.gpus else ""
    )
    rows.append((((right(note, width - 1)) + " ", "text-muted"),))
    rows += zero_lines(view, width - 1)
    rows = [finished(row, width, view.glyphs) for row in rows[:height]]
    return (*rows, *[finished((), width, view.glyphs)] * (height - len(rows)))


def _small_row(view: DetailsView, gpu: Gpu, series: Series, width: int) -> Row:
    scale = scale_of(view, series)
    name = _SHORT[series]
    end = right(("was " if view.is_old else "") + _value(gpu, series, view), 10)
    room = max(0, width - 7 - 11)
    values = view.trail.past(gpu.info.key, series, room)
    marks = view.glyphs.spark
    chars: list[Span] = []
    for value in values:
        if value is None:
            chars.append((view.glyphs.nothing, "decor"))
            continue
        level = min(len(marks) - 1, int(min(1.0, value / scale.top) * len(marks)))
        chars.append((marks[level], "spark-base" if value == 0 else "spark-3"))
    row: Row = ((f" {name:<6}", "text-muted"), *chars, (f" {end}", "text-strong"))
    assert row_width(row) <= max(width, 18)
    return row
