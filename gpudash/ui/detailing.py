"""Joins what is known of one host or GPU into what its details show."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from gpudash.core import charting
from gpudash.core.charting import Column, Window
from gpudash.core.details import gpu_facts, host_facts
from gpudash.core.detailwords import NOT_DETAILED, Detailed, at
from gpudash.core.families import Holder, holders
from gpudash.core.history import Series
from gpudash.core.kintree import tree_rows
from gpudash.core.model import Fleet, Gpu, Host
from gpudash.core.obstacles import obstacles, verdict_words
from gpudash.core.verify import judge_fleet
from gpudash.services.clock import Clock
from gpudash.services.detailing import Detailing
from gpudash.services.monitor import FleetMonitor
from gpudash.ui.paint.detailview import Curve, DetailsView, Page, Trail
from gpudash.ui.paint.frame import FrameView, header_view
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.story import Keys, Stand, Story, stand_after, tell
from gpudash.ui.paint.tally import is_read, tally
from gpudash.ui.plots import Area, areas, has_charts
from gpudash.ui.scene import Scene


@dataclass(slots=True)
class Detailled:
    """What is looked at, and how."""

    host: str
    gpu: str | None
    """Key of the GPU; None for the whole host."""
    window: Window = Window.TEN_MINUTES
    page: Page = Page.CHARTS
    cursor: int = 0
    top: int = 0
    stand: Stand | None = None
    last: tuple[str, str | None] = field(default=("", None))


def chosen_by(scene: Scene, fleet: Fleet, *, by_host: bool) -> Detailled:
    """Return what the cursor is on: a GPU, or a host where that is one row or has no GPU."""
    host = fleet.host(scene.focus or "")
    gpus = host.gpus[scene.cursor : scene.cursor + 1]
    is_host = by_host or not gpus
    return Detailled(host.name, None if is_host else gpus[0].info.key)


def view_of(
    chosen: Detailled,
    monitor: FleetMonitor,
    looking: Detailing,
    clock: Clock,
    glyphs: Glyphs,
    keys: Keys,
    *,
    is_wide: bool,
) -> DetailsView:
    """Return all that the details show now."""
    host = monitor.fleet.host(chosen.host)
    now_s = clock.now()
    gpus = tuple(gpu for gpu in host.gpus if chosen.gpu in (None, gpu.info.key))
    is_host = chosen.gpu is None or not gpus
    gpus = gpus or host.gpus
    found = holders(host, monitor.fleet.letters)
    detail = NOT_DETAILED if is_host else looking.detail(gpus[0])
    tree = tree_rows(
        host,
        found,
        looking.members(host),
        looking.ended(),
        gpu=None if is_host else gpus[0].info.index,
        now_s=now_s,
    )
    alone = _alone(monitor.fleet, host, gpus)
    facts = host_facts(host, now_s) if is_host else gpu_facts(host, gpus[0], detail, now_s)
    return DetailsView(
        host=host,
        gpus=gpus,
        is_host=is_host,
        story=_story(chosen, alone, now_s, keys, is_wide=is_wide),
        header=header_view(FrameView(fleet=alone, now_s=now_s, wall_of=clock.wall)),
        trail=_trail(monitor, host.name, chosen.window),
        draw=partial(draw_areas, is_ascii=glyphs.is_ascii),
        facts=facts,
        obstacles=obstacles(host, gpus, found, now_s),
        verdict=f"This reading: {verdict_words(host, gpus)}",
        since=() if is_host else _last_zero(monitor, host, gpus[0], clock),
        holders=found,
        tree=tree,
        cursor=min(chosen.cursor, max(0, len(tree) - 1)),
        top=chosen.top,
        window=chosen.window,
        page=chosen.page,
        glyphs=glyphs,
        is_old=not is_read(host),
        slows_at_c=_slows_at(detail),
        keys=keys,
        note=detail.error,
    )


def _last_zero(monitor: FleetMonitor, host: Host, gpu: Gpu, clock: Clock) -> tuple[str, ...]:
    """Say when a GPU that is not zero was, as far as anybody watched."""
    ring = monitor.history.ring(host.name, gpu.info.key, Series.MEMORY)
    if ring is None or gpu.reading is None or not gpu.reading.used_bytes:
        return ()
    second = monitor.second(host.name)
    at_s = charting.last_zero(ring, second)
    if at_s is None:
        return ("Not zero while it was watched.",)
    return (f"Last zero at {clock.wall(clock.now() - (second - at_s))}.",)


def _slows_at(detail: Detailed) -> int | None:
    return at(detail.now.fact("thresholds"), 1) if detail.now else None


def draw_areas(
    curves: tuple[Curve, ...], width: int, height: int, *, is_ascii: bool
) -> tuple[Row, ...]:
    """Draw curves with plotext; until that is imported there is nothing but room for them."""
    drawn = tuple(Area(0, heights, style) for heights, style in curves)
    return areas(drawn if has_charts() else (), width, height, is_ascii=is_ascii)


def _trail(monitor: FleetMonitor, name: str, window: Window) -> Trail:
    history, second = monitor.history, monitor.second(name)

    def past(gpu: str, series: Series, columns: int) -> tuple[Column, ...]:
        return charting.columns_of(history.ring(name, gpu, series), second, window, columns)

    def times(columns: int) -> tuple[int, ...]:
        return charting.times_of(second, window, columns)

    return Trail(past, times, partial(history.ownership.notes, name))


def _alone(fleet: Fleet, host: Host, gpus: tuple[Gpu, ...]) -> Fleet:
    """Return a fleet of these GPUs alone: the banner speaks of nothing else."""
    return replace(fleet, hosts=(replace(host, gpus=gpus),), happenings=())


def _story(chosen: Detailled, alone: Fleet, now_s: float, keys: Keys, *, is_wide: bool) -> Story:
    what = chosen.host, chosen.gpu
    if chosen.last != what:
        chosen.stand, chosen.last = None, what
    found = holders_of(alone)
    judged = judge_fleet(alone)
    story = tell(judged, tally(alone, found), now_s=now_s, stand=chosen.stand, is_wide=is_wide)
    chosen.stand = stand_after(chosen.stand, story.word, now_s)
    offered = {"e", "r", "p", *(key for key, _ in keys)}
    caps = tuple(one for one in story.keys if one[0] in offered)
    return story._replace(keys=(*caps, ("esc", "back")))


def holders_of(fleet: Fleet) -> tuple[Holder, ...]:
    """Return the holders of a fleet of one host."""
    return tuple(one for host in fleet.hosts for one in holders(host, fleet.letters))


def neighbours(host: Host) -> tuple[str | None, ...]:
    """Return what tab goes through: the host, then its GPUs."""
    return (None, *(gpu.info.key for gpu in host.gpus))
