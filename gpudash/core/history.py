"""What was, in two tiers of 16-bit numbers: 600 × 1 s, then 360 × 10 s with minimum and maximum.

One ring is 2 640 bytes; four of them a GPU are 11 MB for 1 024 GPUs. A gap is stored as a gap:
nothing is ever carried over from an older value.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from enum import IntEnum

from gpudash.core.ownership import Ownership

FINE = 600
COARSE = 360
PER_COARSE = 10
GAP = 0xFFFF


class Series(IntEnum):
    """What is kept of one GPU; the order is the order of its rings."""

    MEMORY = 0
    """Used memory in 1/10 000 of the total."""
    UTILISATION = 1
    """Per cent."""
    POWER = 2
    """Watts."""
    TEMPERATURE = 3
    """Degrees Celsius."""


class Ring:
    """One quantity over time; positions are whole seconds of the viewer's clock."""

    __slots__ = ("_coarse_max", "_coarse_min", "_columns", "_fine", "_newest_s")

    def __init__(self) -> None:
        self._fine = array("H", [GAP]) * FINE
        self._coarse_min = array("H", [GAP]) * COARSE
        self._coarse_max = array("H", [GAP]) * COARSE
        self._newest_s: int | None = None
        self._columns: dict[tuple[int, int], tuple[int, tuple[int | None, ...]]] = {}
        """By count and width: where the columns asked for last end, and what they were."""

    def put(self, at_s: int, value: int | None) -> None:
        """Store a value for a second; of several in one second the largest stays.

        Seconds that were skipped are gaps. A second before the newest one is ignored.
        """
        if self._newest_s is None or at_s > self._newest_s:
            self._advance(at_s)
        elif at_s < self._newest_s:
            return
        if value is None:
            return
        value = min(max(value, 0), GAP - 1)
        slot = at_s % FINE
        old = self._fine[slot]
        self._fine[slot] = value if old == GAP else max(old, value)
        coarse = at_s // PER_COARSE % COARSE
        low, high = self._coarse_min[coarse], self._coarse_max[coarse]
        self._coarse_min[coarse] = value if low == GAP else min(low, value)
        self._coarse_max[coarse] = value if high == GAP else max(high, value)

    def _advance(self, at_s: int) -> None:
        newest = self._newest_s
        self._newest_s = at_s
        first = at_s - FINE + 1 if newest is None else max(newest + 1, at_s - FINE + 1)
        for second in range(first, at_s + 1):
            self._fine[second % FINE] = GAP
        last = at_s // PER_COARSE
        start = last - COARSE + 1
        if newest is not None:
            start = max(newest // PER_COARSE + 1, start)
        for step in range(start, last + 1):
            self._coarse_min[step % COARSE] = GAP
            self._coarse_max[step % COARSE] = GAP

    def fine(self, now_s: int, seconds: int) -> list[int | None]:
        """Return the last `seconds` values up to and with `now_s`, oldest first; None is a gap."""
        seconds = min(seconds, FINE)
        newest = self._newest_s
        if newest is None:
            return [None] * seconds
        first = now_s - seconds + 1
        start, stop = max(first, newest - FINE + 1), min(now_s, newest) + 1
        if start >= stop:
            return [None] * seconds
        # Two slices and no arithmetic for each second: charts ask for 300 of them at every tick.
        at, end = start % FINE, stop % FINE
        kept = self._fine[at:end] if at < end else self._fine[at:] + self._fine[:end]
        values = [None if value == GAP else value for value in kept]
        return [None] * (start - first) + values + [None] * (now_s + 1 - stop)

    def latest(self, now_s: int) -> int:
        """Return the second up to which a chart is drawn: now, or just before where now waits.

        Between two ticks the running second has no value yet; that is no gap.
        """
        return now_s - 1 if self._newest_s == now_s - 1 else now_s

    def columns(self, now_s: int, count: int, width_s: int = 1) -> tuple[int | None, ...]:
        """Return the maxima of the last `count` spans of `width_s` seconds, oldest first.

        Spans begin at whole multiples of their width, so only the newest ones still change: charts
        ask at every tick, and what they were told before is kept.
        """
        end = now_s // width_s * width_s + width_s
        if width_s == 1:
            return self._spans(end, count, 1)
        kept_end, kept = self._columns.get((count, width_s), (0, ()))
        moved = (end - kept_end) // width_s
        # A tick may be counted for the second before the one that was asked about: one span more.
        if kept and 0 <= moved <= count - 2:
            found = kept[moved : count - 2] + self._spans(end, moved + 2, width_s)
        else:
            found = self._spans(end, count, width_s)
        self._columns[count, width_s] = (end, found)
        return found

    def _spans(self, end: int, count: int, width_s: int) -> tuple[int | None, ...]:
        first = end - count * width_s
        values = self.fine(end - 1, min(end - first, FINE))
        values[:0] = [None] * (end - first - len(values))
        if width_s == 1:
            return tuple(values)
        # A gap below every reading: then one plain `max` a span will do.
        plain = [-1 if value is None else value for value in values]
        tops = (max(plain[at : at + width_s]) for at in range(0, len(plain), width_s))
        return tuple(None if top < 0 else top for top in tops)

    def coarse(self, now_s: int, steps: int) -> Iterator[tuple[int, int] | None]:
        """Yield (minimum, maximum) of the last `steps` spans of 10 s, oldest first."""
        newest = None if self._newest_s is None else self._newest_s // PER_COARSE
        now = now_s // PER_COARSE
        for step in range(now - min(steps, COARSE) + 1, now + 1):
            if newest is None or not newest - COARSE < step <= newest:
                yield None
                continue
            low, high = self._coarse_min[step % COARSE], self._coarse_max[step % COARSE]
            yield None if low == GAP else (low, high)


class History:
    """The rings of all GPUs, by host name and GPU key."""

    def __init__(self) -> None:
        self._rings: dict[tuple[str, str], tuple[Ring, ...]] = {}
        self.ownership = Ownership()

    def put(self, host: str, gpu: str, at_s: int, values: tuple[int | None, ...]) -> None:
        """Store one reading, in the order of `Series`."""
        key = (host, gpu)
        rings = self._rings.get(key)
        if rings is None:
            rings = self._rings[key] = tuple(Ring() for _ in Series)
        for ring, value in zip(rings, values, strict=True):
            ring.put(at_s, value)

    def ring(self, host: str, gpu: str, series: Series) -> Ring | None:
        """Return one ring, or None when nothing was ever stored."""
        rings = self._rings.get((host, gpu))
        return None if rings is None else rings[series]

    def forget(self, host: str) -> None:
        """Drop all of a host: it rebooted, its past is another machine's."""
        for key in [key for key in self._rings if key[0] == host]:
            del self._rings[key]
        self.ownership.forget(host)
