"""Painting: from a fleet to rows, and from rows to what Textual shows. No terminal is involved.

Every painting is of a new view, as in a live screen; what is cached within one view counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudash.core.families import holders
from gpudash.core.model import Fleet, Host
from gpudash.ui.paint.frame import FrameView, compose, frame_rows
from gpudash.ui.paint.hostpane import HostPane
from gpudash.ui.paint.view import Density, HostView
from gpudash.ui.strips import Ink
from gpudash.ui.theme import load_theme
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings
from tests.benchmarks.wire import seconds_of
from tests.ui import fleets

METRICS = (Metric("us", "µs"), Metric("frames_in_15_ms", "of them in 15 ms"))
ROUNDS = 40
SIZES = ((200, 50), (120, 40), (80, 24))


def measure(settings: Settings) -> list[Comparison]:
    """Paint one host of eight busy GPUs, and whole screens of it."""
    comparison = Comparison("paint: a host of 8 busy GPUs", METRICS)
    work: dict[str, Callable[[int], object]] = {}
    for width in (200, 120):
        for density in (Density.CARD, Density.LINE):
            work[f"host pane, {density.value}, {width} wide"] = pane_painter(density, width)
    for width, height in SIZES:
        work[f"whole frame, {width}×{height}"] = frame_painter(width, height)
    work["all but hosts, 200×50"] = rest_painter(200, 50)
    work["strips of changed rows, 200×50"] = strip_maker(200, 50)
    for turn in range(settings.loops + 1):
        for name, paint in work.items():
            us = time_painting(paint) * 1e6
            if turn:
                comparison.add(name, {"us": us, "frames_in_15_ms": 15_000 / us})
    return [comparison]


def time_painting(paint: Callable[[int], object]) -> float:
    """Return the CPU seconds of one painting; each is given another number."""

    def run() -> None:
        for number in range(ROUNDS):
            paint(number)

    return seconds_of(run) / ROUNDS


def moved(host: Host, number: int) -> Host:
    """Return a host whose readings differ from those of other numbers."""
    gpus = tuple(
        replace(
            gpu,
            reading=gpu.reading
            and replace(
                gpu.reading,
                utilisation_pct=(37 * number + 11 * gpu.info.index) % 101,
                power_mw=300_000 + 1000 * ((13 * number) % 300),
                temperature_c=40 + (number + gpu.info.index) % 30,
            ),
        )
        for gpu in host.gpus
    )
    return replace(host, gpus=gpus)


def pane_painter(density: Density, width: int) -> Callable[[int], object]:
    """Return what paints the host alone."""
    host = fleets.busy().hosts[0]
    known = holders(host, ())
    past = fleets.utilisation(host)

    def paint(number: int) -> object:
        view = HostView(
            host=moved(host, number),
            holders=known,
            utilisation=past,
            now_s=fleets.NOW,
            wall_of=fleets.wall_of,
            density=density,
        )
        return HostPane(view, width).rows()

    return paint


def frame_view(number: int) -> FrameView:
    """Return the screen's input."""
    fleet = fleets.busy()
    host = moved(fleet.hosts[0], number)
    return FrameView(
        fleet=Fleet(hosts=(host,), letters=fleet.letters, happenings=fleet.happenings),
        now_s=fleets.NOW + number,
        wall_of=fleets.wall_of,
        utilisation_of={host.name: fleets.utilisation(host)},
        focus=host.name,
        cursor=0,
    )


def frame_painter(width: int, height: int) -> Callable[[int], object]:
    """Return what paints a whole screen."""
    views = [frame_view(number) for number in range(ROUNDS)]
    return lambda number: frame_rows(views[number], width, height)


def rest_painter(width: int, height: int) -> Callable[[int], object]:
    """Return what paints header, banner, holders, events and footer."""
    views = [frame_view(number) for number in range(ROUNDS)]
    return lambda number: compose(views[number], width, height)


def strip_maker(width: int, height: int) -> Callable[[int], object]:
    """Return what turns a painted screen into strips; rows that were seen before are cached."""
    frames = [frame_rows(frame_view(number), width, height) for number in range(ROUNDS)]

    ink = Ink(load_theme("gpudash-dark")[0])

    def make(number: int) -> object:
        if number == 0:
            ink.strip.cache_clear()
        return [ink.strip(row, width) for row in frames[number]]

    return make
