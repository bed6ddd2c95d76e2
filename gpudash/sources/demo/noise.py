"""Numbers that look alive and are a pure function of a key and a time.

No generator with a state: the same (key, second) gives the same value in any order of asking.
The caches only spare work: neighbouring seconds ask for the same numbers.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache

_MASK = (1 << 64) - 1


@lru_cache(maxsize=1 << 13)
def key_of(*parts: object) -> int:
    """Return a number for a name, the same in every process and on every machine."""
    return zlib.crc32("/".join(map(str, parts)).encode())


@lru_cache(maxsize=1 << 15)
def steady(key: int, step: int) -> float:
    """Return a number in [0, 1) for one step of a key (the mixer of splitmix64)."""
    mixed = (key * 0x9E3779B97F4A7C15 + step * 0xD1B54A32D192ED03) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) / (1 << 64)


def smooth(key: int, at_s: float, period_s: float) -> float:
    """Return a curve in [0, 1) that takes a new value each period and has no jumps."""
    position = at_s / period_s
    step = math.floor(position)
    part = position - step
    part *= part * (3 - 2 * part)
    return steady(key, step) * (1 - part) + steady(key, step + 1) * part


def is_rare(key: int, at_s: float, period_s: float, share: float) -> bool:
    """Tell whether the span of time around `at_s` is one of the given share of all spans."""
    return steady(key, math.floor(at_s / period_s)) < share
