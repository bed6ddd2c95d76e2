"""Charts by plotext 6: the one place that knows it.

plotext lays a chart out and colours it by number; what comes back is taken apart into rows with
style keys, so that themes, few colours and none hold for charts as for everything else. There is
one figure in the process: only the thread of the screen may draw.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from typing import NamedTuple

from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, Span
from gpudash.ui.paint.startupview import Chart, Curve

_EIGHTHS = " ▁▂▃▄▅▆▇"
_FULL = "█"
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_COLOURED = re.compile(r"38;2;0;0;(\d+)")


class Area(NamedTuple):
    """A filled curve."""

    start: int
    """Its first column."""
    heights: tuple[float, ...]
    """A share of the chart's height for each column from there on."""
    style: str


@lru_cache(maxsize=64)
def areas(drawn: tuple[Area, ...], width: int, height: int, *, is_ascii: bool) -> tuple[Row, ...]:
    """Draw filled curves over each other: `height` rows, the highest first."""
    if width < 2 or height < 1 or not drawn:
        return ((("" if width < 1 else " " * width, "text"),),) * max(height, 0)
    # Only where a chart is shown: its import takes 0.1 s and more.
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.canvas("default")
    figure.axes(False)
    for axis, most in (("x", width - 1), ("y", max(height - 1, 1))):
        figure.ruler(axis).lim(0, most)
        for side in (0, 1):
            figure.ruler(axis, side).ticks([])
    for number, area in enumerate(drawn):
        for char, columns, row, fills in _signals(area, width, height, is_ascii=is_ascii):
            signal = figure.signal(
                columns,
                [row] * len(columns),
                marker=plotext.marker(char, plotext.pixel((0, 0, number + 1))),
            )
            if fills:
                signal.fillx()
            figure.draw(signal)
    lines = figure.build().string().splitlines()
    return tuple(_row(line, drawn, width) for line in lines[:height])


def _signals(
    area: Area, width: int, height: int, *, is_ascii: bool
) -> list[tuple[str, list[int], int, bool]]:
    """Return character, columns, row and whether it is filled down, of each level of a curve."""
    full: dict[int, list[int]] = {}
    tops: dict[tuple[int, int], list[int]] = {}
    for place, share in enumerate(area.heights):
        column = area.start + place
        if not 0 <= column < width or share <= 0:
            continue
        eighths = max(1, min(round(share * height * 8), height * 8))
        whole, rest = divmod(eighths, 8)
        if is_ascii:
            whole, rest = max(1, round(eighths / 8)), 0
        if whole:
            full.setdefault(whole - 1, []).append(column)
        if rest:
            tops.setdefault((whole, rest), []).append(column)
    body = _FULL if not is_ascii else "." if area.style == "bar-plan" else "#"
    found = [(body, columns, row, True) for row, columns in full.items()]
    return found + [(_EIGHTHS[rest], columns, row, False) for (row, rest), columns in tops.items()]


def _row(line: str, drawn: tuple[Area, ...], width: int) -> Row:
    spans: list[Span] = []
    style, at, taken = "text", 0, 0
    for match in _SGR.finditer(line):
        taken += _add(spans, line[at : match.start()], style)
        colour = _COLOURED.search(match[1])
        style = drawn[int(colour[1]) - 1].style if colour else "text"
        at = match.end()
    taken += _add(spans, line[at:], style)
    if taken < width:
        spans.append((" " * (width - taken), "text"))
    return tuple(spans)


def _add(spans: list[Span], text: str, style: str) -> int:
    if text:
        spans.append((text, style))
    return len(text)


def has_charts() -> bool:
    """Tell whether plotext is there: who waits for a key press draws without it first."""
    return "plotext" in sys.modules


def load_charts() -> None:
    """Import plotext now."""
    import plotext  # noqa: F401


def chart_of(glyphs: Glyphs) -> Chart:
    """Return what painters draw charts with, for these characters."""

    def chart(curves: tuple[Curve, ...], width: int, height: int) -> tuple[Row, ...]:
        drawn = tuple(Area(start, heights, style) for start, heights, style in curves)
        return areas(drawn, width, height, is_ascii=glyphs.has_patterns)

    return chart
