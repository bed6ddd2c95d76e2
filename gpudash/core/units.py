"""How quantities are written and read (mockups spec §4)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from gpudash.core.errors import UsageError

MIB = 1 << 20
GIB = 1 << 30
THIN_GAP = " "


def gib(value_bytes: int) -> str:
    """Write bytes as GiB without the unit: one decimal, from 1000 on none and with a gap."""
    value = value_bytes / GIB
    if value < 999.95:
        return f"{value:.1f}"
    return grouped(round(value))


def format_memory(value_bytes: int) -> str:
    """Write an amount of memory for a sentence: `71.2 GiB`, `512 MiB`, `<1 MiB`, `0 MiB`."""
    if value_bytes == 0:
        return "0 MiB"
    if value_bytes < MIB:
        return "<1 MiB"
    if value_bytes < GIB:
        # Up, as drivers from 565 on print it; 1023.2 MiB is still below one GiB.
        return f"{min(ceil_mib(value_bytes), 1023)} MiB"
    return f"{gib(value_bytes)} GiB"


def known_sum(values: Iterable[int | None]) -> tuple[int, bool]:
    """Return the sum of what is known, and whether that is all; of no values at all nothing is."""
    listed = tuple(values)
    return sum(value or 0 for value in listed), bool(listed) and None not in listed


def format_known(value_bytes: int, is_complete: bool) -> str:
    """Write a sum as far as it is known: `71.2 GiB`, `≥ 71.2 GiB`, or `?` for nothing known."""
    if is_complete:
        return format_memory(value_bytes)
    return f"≥ {format_memory(value_bytes)}" if value_bytes else "?"


def ceil_mib(value_bytes: int) -> int:
    """Return whole MiB, rounded up: anything above zero bytes is above 0 MiB."""
    return -(-value_bytes // MIB)


def grouped(number: int) -> str:
    """Write a count with a gap between thousands: `4 812`."""
    return f"{number:,}".replace(",", THIN_GAP)


def format_duration(seconds: float, *, tenths: bool = False) -> str:
    """Write a duration: `0.8 s`, `41 s`, `3m 13s`, `41m`, `2h 04m`, `4d 2h`.

    Tenths only below 10 s and only on request: for what runs now.
    """
    seconds = max(0.0, seconds)
    if tenths and seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = math.floor(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest_s = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m {rest_s:02d}s"
    hours, rest_min = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes}m"
    if hours < 24:
        return f"{hours}h {rest_min:02d}m"
    days, rest_h = divmod(hours, 24)
    return f"{days}d {rest_h}h"


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str, *, flag: str) -> float:
    """Read `500ms`, `10s`, `5m` to seconds. Raises UsageError naming the flag."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        hint = "Write it like 500ms, 10s or 5m."
        raise UsageError(f"{flag} {text}: not a duration", hint=hint)
    return float(match[1]) * _SECONDS[match[2]]


def plural(number: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun: `1 GPU`, `8 GPUs`."""
    return f"{grouped(number)} {one if number == 1 else many or one + 's'}"


def index_list(indices: list[int]) -> str:
    """Write GPU indices with runs joined: `0–7`, `0, 2, 5–7`."""
    parts: list[str] = []
    ordered = sorted(set(indices))
    start = 0
    while start < len(ordered):
        stop = start
        while stop + 1 < len(ordered) and ordered[stop + 1] == ordered[stop] + 1:
            stop += 1
        first, last = ordered[start], ordered[stop]
        parts.append(str(first) if first == last else f"{first}–{last}")
        start = stop + 1
    return ", ".join(parts)


_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(KiB|MiB|GiB|TiB|kB|KB|MB|GB|TB)")
_SIZES: dict[str, int] = {
    **{f"{letter}iB": 1 << power for letter, power in zip("KMGT", (10, 20, 30, 40), strict=True)},
    **{f"{letter}B": 1000**power for letter, power in zip("kMGT", (1, 2, 3, 4), strict=True)},
    "KB": 1000,
}


def parse_size(text: str, *, flag: str) -> int:
    """Read `500MiB`, `40GiB`, `80GB` to bytes. Raises UsageError naming the flag."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(f"{flag} {text}: not a size", hint="Write it like 500MiB or 40GiB.")
    return math.ceil(float(match[1]) * _SIZES[match[2]])
