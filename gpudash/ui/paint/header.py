"""The first row: what is watched, how often, and the time."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.units import format_duration, plural
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, finished, outside, row_width, shorten, spread

SIMULATED: Row = ((" SIMULATED ", "on-badge-loud b on badge-unknown"),)


class HeaderView(NamedTuple):
    """What the header says."""

    hosts: tuple[str, ...]
    gpus: int
    clock: str
    """As written: `12:06:23`."""
    interval_s: float = 1.0
    is_simulated: bool = False
    paused_s: float | None = None
    """For how long all is paused."""
    is_read_only: bool = False
    filter: str = ""
    """As it was typed; empty for none."""
    shown: str = ""
    """How much of the fleet that is: `3 of 32 hosts`."""
    sort: str = ""
    alerts: int = 0
    """How many are raised."""


def header_row(view: HeaderView, width: int, glyphs: Glyphs) -> Row:
    """Paint the header."""
    start = _start(view, width)
    end = _end(view, width)
    if not view.is_simulated:
        return finished(spread(start, end, width, glyphs.cut), width, glyphs)
    before = (width - row_width(SIMULATED)) // 2
    after = width - before - row_width(SIMULATED)
    for less in (60, 0):
        if row_width(start) > before - 1:
            start = _start(view, min(width, less))
    if row_width(end) > after - 1:
        end = _end(view, 0)
    row = (*spread(start, (), before, glyphs.cut), *SIMULATED, *spread((), end, after))
    return finished(row, width, glyphs)


def notes(view: HeaderView) -> Row:
    """Return what must be said even where the header has no room."""
    row: Row = SIMULATED if view.is_simulated else ()
    if view.paused_s is not None:
        row += ((" PAUSED", "unknown b"),)
    if view.is_read_only:
        row += ((" read-only", "text-muted"),)
    if view.filter:
        row += ((f" /{shorten(outside(view.filter, 60), 16)}", "key"),)
    return row


def _start(view: HeaderView, width: int) -> Row:
    row: Row = ((" gpudash", "key b"),)
    row += ((f"  {_what(view)}", "text-strong"),)
    if width >= 60 and view.hosts:
        counted = plural(view.gpus, "GPU") if view.gpus else "no GPU known yet"
        row += ((f"   {counted}", "text-muted"),)
    return row + _chosen(view, width)


def _chosen(view: HeaderView, width: int) -> Row:
    """Say what is hidden and how it is sorted: on a small screen only that something is."""
    row: Row = ()
    if view.filter:
        most = 12 if width < 100 else 40
        row += ((f"   /{shorten(outside(view.filter, 80), most)}", "key b"),)
        row += ((f" {view.shown}", "text"),) if width >= 60 else ()
    if view.sort and width >= 80:
        row += ((f"   {view.sort}", "text-muted"),)
    return row


def _what(view: HeaderView) -> str:
    if not view.hosts:
        return "no hosts"
    if len(view.hosts) == 1:
        return shorten(outside(view.hosts[0], 60), 32)
    return plural(len(view.hosts), "host")


def _end(view: HeaderView, width: int) -> Row:
    row: Row = ()
    if view.alerts and width >= 60:
        row += ((f"{plural(view.alerts, 'alert')}   ", "unknown b"),)
    if view.is_read_only:
        row += (("read-only   ", "text-muted"),)
    if view.paused_s is not None:
        row += ((f"PAUSED {format_duration(view.paused_s)}   ", "unknown b"),)
    elif width >= 60:
        row += ((f"every {view.interval_s:.1f} s   ", "text-muted"),)
    return (*row, (f"{view.clock} ", "text-strong"))
