"""What is on the screen, for other eyes: lines to copy, and a document to keep.

Only what is shown is told, with its verdicts as they stand; what is made up says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from gpudash.core.families import Holder
from gpudash.core.model import Fleet, Gpu, Host, Link
from gpudash.core.names import clean_text
from gpudash.core.units import format_duration, format_memory, index_list
from gpudash.core.verify import GpuVerdict, HostVerdict

SCHEMA = "gpudash.screen/1"
HEAD = ("host", "GPU", "used", "total", "util", "temp", "power", "verdict", "who")
SIMULATED = "SIMULATED: every host here is made up"

Place = tuple[str, int]
"""Name of a host, position in its roster."""


class Told(NamedTuple):
    """What is known of the hosts that are told of."""

    fleet: Fleet
    judge: Callable[[Host], HostVerdict]
    holders: Callable[[Host], tuple[Holder, ...]]
    now_s: float


def told_table(told: Told, places: Iterable[Place]) -> str:
    """Return GPUs as an aligned table; a single one as its line, without a head."""
    rows = [_cells(told, told.fleet.host(name), at) for name, at in places]
    if len(rows) > 1:
        rows.insert(0, HEAD)
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))] if rows else []
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    if told.fleet.is_simulated and lines:
        names = [host.name for host in told.fleet.hosts if host.is_simulated]
        is_all = len(names) == len(told.fleet.hosts)
        words = SIMULATED if is_all else f"SIMULATED: {', '.join(map(clean_text, names))}"
        lines.insert(0, words)
    return "\n".join(lines)


def _cells(told: Told, host: Host, at: int) -> tuple[str, ...]:
    judged = told.judge(host).gpus[at]
    gpu = judged.gpu
    reading = gpu.reading
    is_old = host.link is not Link.LIVE
    who = "; ".join(_who(one, gpu, told.now_s) for one in _on(told.holders(host), gpu))
    verdict = judged.verdict.value + (" (old values)" if is_old and reading else "")
    power = reading.power_mw if reading else None
    return (
        clean_text(host.name),
        str(gpu.info.index),
        _amount(reading.used_bytes if reading else None),
        _amount(gpu.info.total_bytes),
        _with(reading.utilisation_pct if reading else None, "%"),
        _with(reading.temperature_c if reading else None, "°C"),
        _with(None if power is None else round(power / 1000), " W"),
        verdict,
        who or clean_text(judged.reason) or "nobody",
    )


def _amount(value_bytes: int | None) -> str:
    return "?" if value_bytes is None else format_memory(value_bytes)


def _with(value: int | None, unit: str) -> str:
    return "?" if value is None else f"{value}{unit}"


def _on(holders: tuple[Holder, ...], gpu: Gpu) -> list[Holder]:
    return [one for one in holders if any(index == gpu.info.index for index, _ in one.gpu_bytes)]


def _who(holder: Holder, gpu: Gpu, now_s: float) -> str:
    used = dict(holder.gpu_bytes)[gpu.info.index]
    label = f"{holder.label.name} {holder.label.detail}".strip()
    age = holder.age(now_s)
    parts = [
        clean_text(label),
        f"pid {', '.join(map(str, holder.pids[:8]))}" + (" …" if holder.pids[8:] else ""),
        clean_text(holder.user or ""),
        "" if used is None else format_memory(used),
        "" if age is None else f"since {format_duration(age)}",
    ]
    return ", ".join(filter(None, parts))


def document(
    told: Told,
    shown: Iterable[tuple[str, tuple[int, ...] | None]],
    *,
    recorded_at: str,
    chosen: str = "",
    sort: str = "",
) -> dict[str, object]:
    """Return what is shown as a JSON object. `chosen`: the filter; `recorded_at`: UTC."""
    return {
        "schema": SCHEMA,
        "recorded_at": recorded_at,
        "simulated": told.fleet.is_simulated,
        "filter": chosen,
        "sort": sort,
        "hosts_watched": len(told.fleet.hosts),
        "hosts": [_host(told, told.fleet.host(name), kept) for name, kept in shown],
    }


def _host(told: Told, host: Host, kept: tuple[int, ...] | None) -> dict[str, object]:
    judged = told.judge(host)
    at = range(len(host.gpus)) if kept is None else [one for one in kept if one < len(host.gpus)]
    return {
        "name": host.name,
        "simulated": host.is_simulated,
        "link": host.link.value,
        "verdict": judged.verdict.value,
        "clear": judged.clear.value,
        "reason": judged.reason,
        "problem": host.problem.sentence if host.problem else None,
        "driver": host.facts.driver if host.facts else None,
        "gpus_listed": len(host.gpus),
        "gpus": [_gpu(judged.gpus[one]) for one in at],
        "holders": [_holder(one, told.now_s) for one in told.holders(host)],
    }


def _gpu(judged: GpuVerdict) -> dict[str, object]:
    gpu, reading = judged.gpu, judged.gpu.reading
    return {
        "index": gpu.info.index,
        "uuid": gpu.info.uuid,
        "name": gpu.info.name,
        "state": gpu.state.value,
        "verdict": judged.verdict.value,
        "reason": judged.reason,
        "used_bytes": reading.used_bytes if reading else None,
        "total_bytes": gpu.info.total_bytes,
        "utilisation_pct": reading.utilisation_pct if reading else None,
        "temperature_c": reading.temperature_c if reading else None,
        "power_mw": reading.power_mw if reading else None,
    }


def _holder(holder: Holder, now_s: float) -> dict[str, object]:
    return {
        "letter": holder.letter,
        "name": holder.label.name,
        "detail": holder.label.detail,
        "owner": holder.owner.value,
        "user": holder.user,
        "pids": list(holder.pids),
        "gpus": [{"index": index, "used_bytes": used} for index, used in holder.gpu_bytes],
        "gpu_list": index_list([index for index, _ in holder.gpu_bytes]),
        "age_s": holder.age(now_s),
    }
