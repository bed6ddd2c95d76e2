"""Read how far a bar is: shard bars, tqdm, dots, counted lines."""

from __future__ import annotations

import re

from gpudash.core.startup.catalog import Marker
from gpudash.core.startup.logtime import bar_seconds
from gpudash.core.startup.model import Progress

_SHARDS = re.compile(r"\d+% Completed \| (\d+)/(\d+) \[([\d:]+)<")
_TQDM = re.compile(r"\|[^|]*\| ([\d.]+[kMGT]?)/([\d.]+[kMGT]?|\?) \[([\d:]+)<")
_SCALE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
FULL_DOTS = 100
"""llama.cpp prints about one dot a percent."""


def read_bar(marker: Marker, match: re.Match[str], message: str) -> Progress | None:
    """Return the state of the bar in this message; None where it is cut short."""
    bar = _SHARDS.search(message) or _TQDM.search(message)
    if bar is None:
        return None
    is_bytes = marker.unit == "GB"
    found = match.groupdict()
    return Progress(
        done=_quantity(bar[1], is_bytes),
        total=None if bar[2] == "?" else _quantity(bar[2], is_bytes),
        unit=marker.unit,
        desc=(found.get("desc") or "").strip(),
        detail=_detail(found),
        elapsed_s=bar_seconds(bar[3]),
    )


def counted(
    marker: Marker, match: re.Match[str], known: Progress | None, sequence: tuple[str, ...]
) -> Progress | None:
    """Return the progress of what is counted line by line; `known` is what it was before."""
    found = match.groupdict()
    before = known.done if known else 0
    total = known.total if known else None
    match marker.count:
        case "total":
            return Progress(done=0, total=float(found["total"]), unit=marker.unit)
        case "lines":
            return Progress(done=before + 1, total=total, unit=marker.unit, detail=_detail(found))
        case "members":
            return Progress(done=before + 1, total=float(found["total"]), unit=marker.unit)
        case "dots":
            dots = len(found["dots"])
            full = float(FULL_DOTS) if dots >= FULL_DOTS else None
            return Progress(done=dots, total=full, unit=marker.unit)
        case "fraction":
            return Progress(done=float(found["done"]), total=1.0, unit=marker.unit)
        case "sequence":
            size = found.get("n") or ""
            done = sequence.index(size) + 1 if size in sequence else before
            return Progress(done=done, total=float(len(sequence)) or None, unit=marker.unit)
        case "steps":
            of = found.get("total")
            return Progress(
                done=float(found["done"]), total=float(of) if of else None, unit=marker.unit
            )
    return None


def _quantity(text: str, is_bytes: bool) -> float:
    scale = _SCALE.get(text[-1], 1.0)
    value = float(text.rstrip("kMGT") or 0) * scale
    return round(value / 1e9, 6) if is_bytes else value


def _detail(found: dict[str, str | None]) -> str:
    if name := found.get("file"):
        return name
    for key in ("bs", "num_tokens"):
        if value := found.get(key):
            return f"{key}={value}"
    return ""
