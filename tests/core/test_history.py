"""The rings against a dictionary that forgets nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.history import COARSE, FINE, GAP, PER_COARSE, History, Ring, Series
from gpudash.core.model import GpuReading
from gpudash.services.trace import values_of
from tests.core.making import GIB, gpu_info

VALUES = st.none() | st.integers(0, 12_000)
PUTS = st.lists(
    st.tuples(
        st.one_of(
            st.integers(0, 3), st.integers(-2, 1200), st.sampled_from([599, 600, 601, 3600, 4000])
        ),
        VALUES,
    ),
    max_size=40,
)


class Notebook:
    """Every value by its second, kept for ever."""

    def __init__(self) -> None:
        self.seconds: dict[int, list[int]] = {}
        self.newest: int | None = None

    def put(self, at: int, value: int | None) -> None:
        if self.newest is not None and at < self.newest:
            return
        self.newest = at
        if value is not None:
            self.seconds.setdefault(at, []).append(value)

    def fine(self, now: int, count: int) -> list[int | None]:
        if self.newest is None:
            return [None] * count
        kept = range(self.newest - FINE + 1, self.newest + 1)
        return [
            max(self.seconds[at]) if at in kept and at in self.seconds else None
            for at in range(now - count + 1, now + 1)
        ]

    def coarse(self, now: int, count: int) -> list[tuple[int, int] | None]:
        rows: list[tuple[int, int] | None] = []
        last = now // PER_COARSE
        kept = range(0)
        if self.newest is not None:
            newest = self.newest // PER_COARSE
            kept = range(newest - COARSE + 1, newest + 1)
        for step in range(last - count + 1, last + 1):
            got = [
                value
                for at in range(step * PER_COARSE, (step + 1) * PER_COARSE)
                for value in self.seconds.get(at, ())
            ]
            rows.append((min(got), max(got)) if got and step in kept else None)
        return rows


@given(st.integers(0, 10_000), PUTS, st.sampled_from([0, 0, 1, 59, 700, 5000]))
def test_a_ring_is_a_notebook(start: int, puts: list[tuple[int, int | None]], later: int) -> None:
    ring, notebook = Ring(), Notebook()
    at = start
    for step, value in puts:
        at = max(0, at + step)
        ring.put(at, value)
        notebook.put(at, value)
    now = at + later
    assert ring.fine(now, FINE) == notebook.fine(now, FINE)
    assert ring.fine(now, 60) == notebook.fine(now, 60)
    assert list(ring.coarse(now, COARSE)) == notebook.coarse(now, COARSE)


def test_the_largest_of_one_second_stays_and_the_coarse_tier_sees_both() -> None:
    ring = Ring()
    for value in (5, 9, 7):
        ring.put(100, value)
    assert ring.fine(100, 1) == [9]
    assert list(ring.coarse(100, 1)) == [(5, 9)]


def test_skipped_seconds_are_gaps() -> None:
    ring = Ring()
    ring.put(10, 1)
    ring.put(13, None)
    ring.put(14, 4)
    assert ring.fine(15, 6) == [1, None, None, None, 4, None]


def test_a_whole_turn_later_nothing_old_shows() -> None:
    ring = Ring()
    ring.put(0, 1)
    ring.put(FINE * PER_COARSE, 2)
    assert ring.fine(FINE * PER_COARSE, FINE) == [None] * (FINE - 1) + [2]


def test_a_second_before_the_newest_is_ignored() -> None:
    ring = Ring()
    ring.put(10, 1)
    ring.put(9, 5)
    assert ring.fine(10, 2) == [None, 1]


def test_values_are_kept_in_16_bits() -> None:
    ring = Ring()
    ring.put(1, 1 << 40)
    ring.put(2, -5)
    assert ring.fine(2, 2) == [GAP - 1, 0]


def test_an_empty_ring() -> None:
    assert Ring().fine(5, 3) == [None, None, None]
    assert list(Ring().coarse(5, 2)) == [None, None]
    assert len(Ring().fine(5, 10_000)) == FINE


def test_a_history_by_host_and_gpu() -> None:
    history = History()
    history.put("a", "GPU-0", 1, (1, 2, None, 4))
    history.put("b", "GPU-0", 1, (5, 6, 7, 8))
    ring = history.ring("a", "GPU-0", Series.UTILISATION)
    assert ring is not None
    assert ring.fine(1, 1) == [2]
    power = history.ring("a", "GPU-0", Series.POWER)
    assert power is not None
    assert power.fine(1, 1) == [None]
    history.forget("a")
    assert history.ring("a", "GPU-0", Series.MEMORY) is None
    assert history.ring("b", "GPU-0", Series.MEMORY) is not None


def test_units_of_the_series() -> None:
    got = GpuReading(used_bytes=70 * GIB, utilisation_pct=50, power_mw=74_600, temperature_c=30)
    assert values_of(gpu_info(0), got) == (5000, 50, 75, 30)
    assert values_of(gpu_info(0), GpuReading()) == (None, None, None, None)
    assert values_of(gpu_info(0, total_bytes=None), got)[0] is None
    assert values_of(gpu_info(0, total_bytes=0), got)[0] is None
