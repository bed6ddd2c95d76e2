"""Curves of a GPU's past: layers by owner, tones by height, on fixed scales."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.charting import Column
from gpudash.core.history import Series
from gpudash.core.ownership import Share, note_at
from gpudash.core.units import gib
from gpudash.ui.paint.claims import BAR_OF
from gpudash.ui.paint.detailview import Curve, DetailsView


class Scale(NamedTuple):
    """What the top of a chart stands for."""

    top: float
    """In the units of the history."""
    label: str


def scale_of(view: DetailsView, series: Series) -> Scale:
    """Return what the top of a chart of these GPUs stands for."""
    if series is Series.MEMORY:
        totals = {gpu.info.total_bytes for gpu in view.gpus}
        total = totals.pop() if len(totals) == 1 else None
        return Scale(10_000, gib(total) if total else "100%")
    if series is Series.UTILISATION:
        return Scale(100, "100%")
    if series is Series.POWER:
        limits = [gpu.info.power_limit_mw for gpu in view.gpus if gpu.info.power_limit_mw]
        most = max(limits, default=0) / 1000 or 700
        return Scale(most, f"{round(most)} W")
    most = view.slows_at_c or 100
    return Scale(most, f"{most}{view.glyphs.degree}C")


def share_of(value: Column, scale: Scale) -> float:
    """Return how high a value stands; what was not read has no height."""
    return 0.0 if value is None else min(1.0, value / scale.top)


def tone_curves(shares: tuple[float, ...], height: int) -> tuple[Curve, ...]:
    """Return one curve in three tones: the higher it goes, the lighter."""
    curves: list[Curve] = [(shares, "spark-3")]
    for part, style in ((2, "spark-2"), (1, "spark-1")):
        edge = max(1, round(height * part / 3)) / height
        curves.append((tuple(min(share, edge) for share in shares), style))
    return tuple(curves)


def owner_curves(
    view: DetailsView, values: tuple[Column, ...], width: int, height: int
) -> tuple[Curve, ...]:
    """Return memory as layers, one for each owner: who held most of it lies at the bottom."""
    notes = view.trail.notes(view.gpus[0].info.key)
    times = view.trail.times(width)
    split = [
        _split(value, note.shares if (note := note_at(notes, second)) else None)
        for value, second in zip(values, times, strict=True)
    ]
    weight: dict[str, float] = {}
    for parts in split:
        for style, share in parts.items():
            weight[style] = weight.get(style, 0.0) + share
    order = sorted(weight, key=lambda style: -weight[style])
    heights: dict[str, list[float]] = {style: [] for style in order}
    for parts in split:
        for style, level in _levels(parts, order, height).items():
            heights[style].append(level)
    return tuple((tuple(heights[style]), style) for style in reversed(order))


def _split(value: Column, shares: tuple[Share, ...] | None) -> dict[str, float]:
    """Divide a column among its owners; what nobody knew of, or nobody is listed for, is grey."""
    if not value:
        return {}
    whole = value / 10_000
    if not shares:
        return {"stale-bar" if shares is None else "unknown-bar": whole}
    total = sum(one.used_bytes for one in shares)
    parts: dict[str, float] = {}
    seen = False
    for one in shares:
        style = BAR_OF[one.owner]
        if style == "alive-bar":
            style, seen = ("alive-bar-2" if seen else style), True
        parts[style] = parts.get(style, 0.0) + whole * one.used_bytes / total
    return parts


def _levels(parts: dict[str, float], order: list[str], height: int) -> dict[str, float]:
    """Return how high each layer reaches: edges between layers lie on whole cells."""
    total = sum(parts.values())
    highest = -(-total * height // 1)
    levels: dict[str, float] = {}
    reached, cells = 0.0, 0.0
    left = sum(style in parts for style in order)
    for style in order:
        reached += parts.get(style, 0.0)
        left -= style in parts
        is_top = left == 0
        room = highest - left
        cells = max(cells, min(round(reached * height), room)) if not is_top else total * height
        levels[style] = min(1.0, cells / height)
    return levels
