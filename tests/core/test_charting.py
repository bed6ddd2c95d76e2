"""Columns of a chart against the ring they come from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.charting import Window, columns_of, grid, last_zero, times_of
from gpudash.core.history import Ring

WINDOWS = st.sampled_from(Window)
WIDTHS = st.integers(1, 330)
PUTS = st.lists(st.tuples(st.integers(0, 4200), st.none() | st.integers(0, 100)), max_size=60)


def ring_of(puts: list[tuple[int, int | None]]) -> Ring:
    ring = Ring()
    for at_s, value in sorted(puts, key=lambda row: row[0]):
        ring.put(at_s, value)
    return ring


@given(WINDOWS, WIDTHS, PUTS, st.integers(0, 5000))
def test_as_many_columns_as_asked_for_and_nothing_invented(
    window: Window, width: int, puts: list[tuple[int, int | None]], second: int
) -> None:
    found = columns_of(ring_of(puts), second, window, width)
    assert len(found) == len(times_of(second, window, width)) == width
    known = {value for _, value in puts if value is not None}
    assert {value for value in found if value is not None} <= known


@given(WINDOWS, WIDTHS)
def test_what_was_never_read_is_a_hole(window: Window, width: int) -> None:
    assert columns_of(None, 5, window, width) == (None,) * width
    assert columns_of(Ring(), 5, window, width) == (None,) * width


@given(WINDOWS, WIDTHS, st.integers(4000, 5000))
def test_the_newest_reading_is_the_last_column_and_the_largest_stands_out(
    window: Window, width: int, second: int
) -> None:
    ring = Ring()
    each, count = grid(window, width)
    peak_s = second - each * (count // 2)
    for at_s in range(second - 3600, second + 1):
        ring.put(at_s, 99 if at_s == peak_s else 7)
    found = columns_of(ring, second, window, width)
    assert found[-1] in (7, 99)
    assert 99 in found


@pytest.mark.parametrize("window", Window)
def test_columns_stay_where_they_are_until_a_whole_one_has_passed(window: Window) -> None:
    ring = Ring()
    each, count = grid(window, 90)
    edge = -(-90 // count)
    before: tuple[int | None, ...] = ()
    for at_s in range(4000, 4000 + 3 * each):
        ring.put(at_s, at_s % 89)
        found = columns_of(ring, at_s, window, 90)
        if at_s > 4000 and at_s % each:
            assert found[:-edge] == before[:-edge]
        before = found


def test_windows_follow_each_other() -> None:
    assert [window.next for window in Window] == [*list(Window)[1:], Window.MINUTE]
    for window in Window:
        marks = window.marks()
        assert marks[-1] == (1.0, "now")
        assert [place for place, _ in marks] == sorted(place for place, _ in marks)


def test_the_last_zero() -> None:
    ring = Ring()
    assert last_zero(ring, 10) is None
    for at_s in range(5000):
        ring.put(at_s, 0 if at_s in (4777, 4450) else 5)
    assert last_zero(ring, 4999) == 4777
    long_ago = Ring()
    for at_s in range(5000):
        long_ago.put(at_s, 0 if at_s == 2345 else 5)
    found = last_zero(long_ago, 4999)
    assert found is not None
    assert abs(found - 2345) <= 10
