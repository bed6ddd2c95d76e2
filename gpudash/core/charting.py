"""What a chart of the past shows: one time axis, three spans, columns that lie on a fixed grid.

A column is the largest reading of its seconds. Nothing is filled in: where nothing was read there
is no value, and a chart has a hole there.
"""

from __future__ import annotations

from enum import Enum

from gpudash.core.history import COARSE, FINE, PER_COARSE, Ring

Column = int | None


class Window(Enum):
    """How far back a chart looks; the value is in seconds."""

    MINUTE = 60
    TEN_MINUTES = 600
    HOUR = 3600

    @property
    def words(self) -> str:
        """Return it as a key's label says it."""
        return {60: "1 m", 600: "10 m", 3600: "1 h"}[self.value]

    @property
    def next(self) -> Window:
        """Return the one that follows, round and round."""
        order = tuple(Window)
        return order[(order.index(self) + 1) % len(order)]

    def marks(self) -> tuple[tuple[float, str], ...]:
        """Return what stands under the axis: how far along it (0 is the oldest), and the words."""
        step, unit = {60: (15, "s"), 600: (120, "m"), 3600: (900, "m")}[self.value]
        each = 1 if unit == "s" else 60
        aged = range(self.value, 0, -step)
        return (
            *((1 - age / self.value, f"−{age // each}{unit}") for age in aged),
            (1.0, "now"),
        )


def grid(window: Window, width: int) -> tuple[int, int]:
    """Return how many seconds a bucket has and how many of them there are; at most `width`."""
    least = PER_COARSE if window.value > FINE else 1
    each = max(least, -(-window.value // max(width, 1) // least) * least)
    return each, max(1, window.value // each)


def columns_of(ring: Ring | None, second: int, window: Window, width: int) -> tuple[Column, ...]:
    """Return one value for each of `width` columns, oldest first; None where nothing was read."""
    each, count = grid(window, width)
    if ring is None:
        return (None,) * width
    end = ring.latest(second)
    if window.value <= FINE:
        return stretched(_fine(ring, end, each, count), width)
    return stretched(_coarse(ring, end, each // PER_COARSE, count), width)


def times_of(second: int, window: Window, width: int) -> tuple[int, ...]:
    """Return the second at which each column ends, oldest first."""
    each, count = grid(window, width)
    end = second // each * each + each
    ends = tuple(end - each * (count - 1 - place) - 1 for place in range(count))
    return tuple(ends[place * count // width] for place in range(width))


def _fine(ring: Ring, end: int, each: int, count: int) -> list[Column]:
    last = end // each * each + each - 1
    values = ring.fine(last, min(each * count, FINE))
    values[:0] = [None] * (each * count - len(values))
    return [_top(values[at : at + each]) for at in range(0, len(values), each)]


def _coarse(ring: Ring, end: int, each: int, count: int) -> list[Column]:
    newest = end // PER_COARSE
    ahead = each - 1 - newest % each
    kept = min(each * count - ahead, COARSE)
    tops: list[Column] = [pair[1] if pair else None for pair in ring.coarse(end, kept)]
    tops = [None] * (each * count - ahead - kept) + tops + [None] * ahead
    return [_top(tops[at : at + each]) for at in range(0, len(tops), each)]


def _top(values: list[Column]) -> Column:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def last_zero(ring: Ring, second: int) -> int | None:
    """Return the newest second at which a ring read 0, to ten seconds where that is long ago."""
    fine = ring.fine(second, FINE)
    for age, value in enumerate(reversed(fine)):
        if value == 0:
            return second - age
    for age, pair in enumerate(reversed(list(ring.coarse(second, COARSE)))):
        if pair is not None and pair[0] == 0:
            return second - age * PER_COARSE
    return None


def stretched(values: list[Column], width: int) -> tuple[Column, ...]:
    """Spread values over more columns, each as wide as the next, give or take one."""
    count = len(values)
    return tuple(values[place * count // width] for place in range(width)) if count else ()
