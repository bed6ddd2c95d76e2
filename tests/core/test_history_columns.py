"""Columns of a sparkline: maxima over spans that don't move between two seconds."""

from __future__ import annotations

from gpudash.core.history import Ring


def ring(values: dict[int, int]) -> Ring:
    made = Ring()
    for at_s, value in sorted(values.items()):
        made.put(at_s, value)
    return made


def test_one_column_a_second() -> None:
    assert ring({97: 1, 99: 3, 100: 4}).columns(100, 5) == (None, 1, None, 3, 4)


def test_spans_begin_at_multiples_of_their_width() -> None:
    made = ring({second: second for second in range(80, 103)})
    assert made.columns(102, 3, 10) == (89, 99, 102)
    made.put(103, 5)
    assert made.columns(103, 3, 10) == (89, 99, 102)


def test_gaps_and_what_is_too_old_stay_gaps() -> None:
    made = ring({10: 7})
    assert made.columns(45, 4, 10) == (7, None, None, None)
    assert made.columns(10, 700, 1)[:100] == (None,) * 100
    assert Ring().columns(5, 3, 2) == (None, None, None)
