"""Which GPUs of a host a start-up is on, and what they read now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudash.core.model import Gpu, Host
from gpudash.core.startup.following import FollowSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The GPUs of a start-up in one tick."""

    uuids: tuple[str, ...]
    name: str
    """Of their kind."""
    used_bytes: Mapping[str, int]
    busy_pct: float | None
    """The busiest one's."""


def watched_of(
    host: Host, spec: FollowSpec, known: tuple[str, ...], pids: frozenset[int]
) -> Watched:
    """Return the GPUs that were named, else those that were known before or hold these pids now."""
    is_named = spec.gpus is not None or spec.scope is not None
    mine = []
    for gpu in host.gpus:
        uuid = gpu.info.uuid
        if uuid and (
            _is_named(gpu, host.name, spec) if is_named else uuid in known or _holds(gpu, pids)
        ):
            mine.append((uuid, gpu))
    readings = [(uuid, gpu.reading) for uuid, gpu in mine if gpu.reading is not None]
    return Watched(
        uuids=tuple(uuid for uuid, _ in mine),
        name=next((gpu.info.name or "" for _, gpu in mine), ""),
        used_bytes={uuid: r.used_bytes for uuid, r in readings if r.used_bytes is not None},
        busy_pct=max(
            (float(r.utilisation_pct) for _, r in readings if r.utilisation_pct is not None),
            default=None,
        ),
    )


def _is_named(gpu: Gpu, host: str, spec: FollowSpec) -> bool:
    if spec.gpus is not None and gpu.info.uuid in spec.gpus:
        return True
    items = spec.scope.items if spec.scope is not None else ()
    return any(item.host in (None, host) and item.matches(gpu) for item in items)


def _holds(gpu: Gpu, pids: frozenset[int]) -> bool:
    processes = gpu.reading.processes if gpu.reading is not None else None
    return any(process.pid in pids for process in processes or ())
