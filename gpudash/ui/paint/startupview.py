"""What the painters of start-ups are given: values, and one function that draws a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gpudash.core.startup.following import Followed
from gpudash.core.startup.logbook import LogLine
from gpudash.core.startup.timeline import Timeline, timeline
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.header import HeaderView
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.story import Keys
from gpudash.ui.paint.view import WallClock, no_clock

Curve = tuple[int, tuple[float, ...], str]
"""First column, a share of the height for each column, style key."""
Chart = Callable[[tuple[Curve, ...], int, int], tuple[Row, ...]]
"""Curves, width, height: rows, the highest first."""


class Trace(NamedTuple):
    """Signs of life over the last minute, oldest first; percentages, None is not known."""

    disk: tuple[int | None, ...] = ()
    cpu: tuple[int | None, ...] = ()
    gpu: tuple[int | None, ...] = ()


def no_chart(_curves: tuple[Curve, ...], width: int, height: int) -> tuple[Row, ...]:
    """Stand in where nothing draws."""
    return ((("" if width < 1 else " " * width, "text"),),) * max(0, height)


class StartupView(NamedTuple):
    """One start-up as it is to be painted."""

    followed: Followed
    now_s: float = 0.0
    wall_of: WallClock = no_clock
    glyphs: Glyphs = UNICODE
    lines: tuple[LogLine, ...] = ()
    """The newest lines of its log, oldest first."""
    totals: Mapping[str, int] = {}
    """Bytes of each GPU, by UUID."""
    indices: Mapping[str, int] = {}
    """Of each GPU, by UUID."""
    before: str = ""
    """When the earlier run was, in the viewer's zone."""
    left: str = ""
    """What a failed one left behind, in words."""
    trace: Trace = Trace()
    chart: Chart = no_chart
    keys: Keys = ()

    @property
    def timeline(self) -> Timeline:
        """Lay its phases out."""
        one = self.followed
        return timeline(one.startup, started_s=one.started_s, now_s=self.now_s, earlier=one.earlier)


class StartupsView(NamedTuple):
    """The screen: one that is open, or the list of all."""

    shown: tuple[StartupView, ...] = ()
    """Newest first."""
    opened: int | None = None
    """None: the list."""
    cursor: int = 0
    header: HeaderView = HeaderView((), 0, "")
    glyphs: Glyphs = UNICODE
    keys: Keys = ()
