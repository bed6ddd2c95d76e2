"""The time axis that steps and memory of a start-up share."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.startup.model import Outcome
from gpudash.core.startup.timeline import Timeline
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.startupview import StartupView

_TICKS_S = (5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21_600, 86_400)
_TICK_CELLS = 8
_LEAST_S = 20.0


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


def put_now(view: StartupView, line: Timeline, axis: Axis, cells: list[tuple[str, str]]) -> None:
    """Draw the line at now, or where it failed; what is ready has none."""
    outcome = view.followed.startup.outcome
    if outcome is Outcome.READY:
        return
    at = axis.column(line.now)
    style = "leftover" if outcome is Outcome.FAILED else "border-focus"
    cells[at] = (view.glyphs.down, style)


def joined_cells(cells: list[tuple[str, str]]) -> Row:
    """Join neighbours of one style."""
    spans: list[tuple[str, str]] = []
    for char, style in cells:
        if spans and spans[-1][1] == style:
            spans[-1] = (spans[-1][0] + char, style)
        else:
            spans.append((char, style))
    return tuple(spans)
