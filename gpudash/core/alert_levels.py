"""Where the values that alerts watch stand beside their bounds, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from gpudash.core.model import Gpu, GpuReading, GpuState, Host, Link
from gpudash.core.throttling import is_slowed, reasons


class Kind(Enum):
    """What an alert is about, as the configuration calls it."""

    MEMORY = "memory"
    TEMPERATURE = "temperature"
    THROTTLE = "throttle"
    ECC = "ecc"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """When alerts are raised. None, or False, raises none of that kind."""

    memory_pct: int | None = None
    """Of the total. A full GPU is normal here, so nobody is told unless they ask."""
    temperature_c: int | None = 90
    throttle: bool = True
    ecc: bool = True
    lost: bool = True


MARGIN_PCT = 5
MARGIN_C = 5
"""How far below its bound a value must be to be well again."""


Place = tuple[str, Kind]
"""Key of a GPU within its host, or an empty text for the host; and the kind."""


class Level(Enum):
    """What a value says beside its bounds."""

    OVER = "over"
    BETWEEN = "between"
    UNDER = "under"
    UNKNOWN = "unknown"


def levels(host: Host, bounds: Bounds) -> Iterator[tuple[Place, Gpu | None, Level]]:
    """Yield where each value stands; words are made only for what is told."""
    if bounds.lost:
        yield ("", Kind.LOST), None, _host_level(host)
    asked = [kind for kind in _LEVELS if _wants(bounds, kind)]
    is_read = host.link is Link.LIVE
    for gpu in host.gpus:
        key = gpu.info.key
        for kind in asked:
            yield (key, kind), gpu, _LEVELS[kind](gpu, bounds) if is_read else Level.UNKNOWN


def _wants(bounds: Bounds, kind: Kind) -> bool:
    match kind:
        case Kind.MEMORY:
            return bounds.memory_pct is not None
        case Kind.TEMPERATURE:
            return bounds.temperature_c is not None
        case Kind.THROTTLE:
            return bounds.throttle
        case Kind.ECC:
            return bounds.ecc
        case Kind.LOST:
            return bounds.lost


def _host_level(host: Host) -> Level:
    """A host that was read and is not: one that never answered shows that in its pane."""
    if host.link in (Link.STALE, Link.HUNG, Link.DOWN):
        return Level.OVER if host.samples else Level.UNKNOWN
    return Level.UNDER if host.link in (Link.LIVE, Link.PAUSED) else Level.UNKNOWN


_GONE = {
    GpuState.LOST: "is lost",
    GpuState.MISSING: "was here and is gone",
    GpuState.NEEDS_RESET: "needs a reset",
}


def _is(over: bool) -> Level:
    return Level.OVER if over else Level.UNDER


def _lost(gpu: Gpu, _bounds: Bounds) -> Level:
    return Level.UNKNOWN if gpu.state is GpuState.UNREAD else _is(gpu.state in _GONE)


def _ecc(gpu: Gpu, _bounds: Bounds) -> Level:
    # A row that waits is one of the roster's facts: who is gone still has them, and they are old.
    is_known = gpu.state not in (GpuState.UNREAD, GpuState.LOST, GpuState.MISSING)
    return _is(_repair(gpu) != "") if is_known else Level.UNKNOWN


def _temperature(gpu: Gpu, bounds: Bounds) -> Level:
    value = gpu.reading.temperature_c if gpu.reading else None
    return _against(value, bounds.temperature_c, MARGIN_C)


def _memory(gpu: Gpu, bounds: Bounds) -> Level:
    return _against(_memory_pct(gpu), bounds.memory_pct, MARGIN_PCT)


def _throttle(gpu: Gpu, _bounds: Bounds) -> Level:
    bits = gpu.reading.throttle_bits if gpu.reading else None
    return Level.UNKNOWN if bits is None else _is(is_slowed(bits))


_LEVELS: Mapping[Kind, Callable[[Gpu, Bounds], Level]] = {
    Kind.LOST: _lost,
    Kind.ECC: _ecc,
    Kind.TEMPERATURE: _temperature,
    Kind.MEMORY: _memory,
    Kind.THROTTLE: _throttle,
}


def _against(value: int | None, bound: int | None, margin: int) -> Level:
    if value is None or bound is None:
        return Level.UNKNOWN
    if value >= bound:
        return Level.OVER
    return Level.UNDER if value < bound - margin else Level.BETWEEN


def _memory_pct(gpu: Gpu) -> int | None:
    used, total = gpu.reading.used_bytes if gpu.reading else None, gpu.info.total_bytes
    return used * 100 // total if used is not None and total else None


def _repair(gpu: Gpu) -> str:
    if gpu.info.has_remap_failed:
        return "a broken memory row could not be replaced"
    if gpu.info.is_remap_pending:
        return "a broken memory row waits for a reset to be replaced"
    return ""


def subject(gpu: Gpu | None) -> str:
    return "" if gpu is None else f"GPU {gpu.info.index}  "


WELL = {
    Kind.MEMORY: "memory is below its bound again",
    Kind.TEMPERATURE: "is cool enough again",
    Kind.THROTTLE: "is not slowed any more",
    Kind.ECC: "needs no repair any more",
    Kind.LOST: "answers again",
}


def said(kind: Kind, host: Host, gpu: Gpu | None, bounds: Bounds) -> str:
    reading = gpu.reading if gpu else None
    match kind:
        case Kind.LOST if gpu:
            return _GONE[gpu.state]
        case Kind.LOST:
            is_hung = host.link is Link.HUNG
            return "the driver hangs" if is_hung else "does not answer any more"
        case Kind.ECC:
            return _repair(gpu) if gpu else ""
        case Kind.TEMPERATURE:
            value = reading.temperature_c if reading else None
            return f"{value}°C, the bound is {bounds.temperature_c}°C"
        case Kind.MEMORY:
            value = _memory_pct(gpu) if gpu else None
            return f"{value}% of its memory is used, the bound is {bounds.memory_pct}%"
        case Kind.THROTTLE:
            return _slowed(reading)


def _slowed(reading: GpuReading | None) -> str:
    if reading is None:
        return ""
    clock = reading.sm_clock_mhz
    return reasons(reading.throttle_bits)[0] + (f", now at {clock} MHz" if clock else "")
