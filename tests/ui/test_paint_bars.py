"""Bars and sparklines tell the truth at their ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpudash.ui.paint.bars import Part, chart_row, memory_bar, sparkline
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE, Glyphs
from gpudash.ui.paint.spans import Row, plain, row_width

GIB = 1 << 30
glyph_sets = st.sampled_from([UNICODE, ASCII, MONO])
parts = st.lists(
    st.tuples(
        st.sampled_from(["alive-bar", "foreign-bar", "unknown-bar"]),
        st.booleans(),
        st.integers(0, 100 * GIB),
    ),
    max_size=5,
).map(tuple)


def bar(used: float, *segments: Part, width: int = 40, stacked: bool = False) -> Row:
    used_bytes = int(used * GIB)
    return memory_bar(width, segments, used_bytes, 100 * GIB, stacked=stacked, glyphs=UNICODE)


@given(st.integers(0, 120), parts, st.integers(0, 100 * GIB), st.booleans(), glyph_sets)
def test_a_bar_is_as_wide_as_asked(
    width: int, segments: tuple[Part, ...], used: int, stacked: bool, glyphs: Glyphs
) -> None:
    row = memory_bar(width, segments, used, 100 * GIB, stacked=stacked, glyphs=glyphs)
    assert row_width(row) == width


@given(parts, st.integers(1, 100 * GIB - 1), st.booleans(), st.integers(2, 100))
def test_a_bar_is_neither_empty_nor_full_in_between(
    segments: tuple[Part, ...], used: int, stacked: bool, width: int
) -> None:
    row = memory_bar(width, segments, used, 100 * GIB, stacked=stacked, glyphs=UNICODE)
    track = [text for text, style in row if style in ("bar-track", "text on bar-track")]
    ends_within = any(char in "▏▎▍▌▋▊▉" for char in plain(row))
    assert track or ends_within
    assert any(style.split()[0].endswith("-bar") for _, style in row)


def test_ends() -> None:
    mine = ("alive-bar", False, GIB)
    assert plain(bar(0)) == " " * 40
    assert plain(bar(0.0001, mine)) == "▎" + " " * 39
    assert plain(bar(0.0001, mine, stacked=True))[0] == "▆"
    assert plain(bar(100, mine)) == "█" * 40
    assert plain(bar(99.99, mine)) == "█" * 39 + "▉"
    assert plain(bar(50, mine)) == "█" * 20 + " " * 20


def test_owners_end_on_whole_cells_and_all_of_them_show() -> None:
    row = bar(71.0, ("alive-bar", False, 70 * GIB), ("foreign-bar", False, GIB // 100))
    assert [(style, len(text)) for text, style in row[:2]] == [
        ("alive-bar on bar-track", 28),
        ("foreign-bar on bar-track", 1),
    ]


def test_what_nobody_claims_is_hatched() -> None:
    assert bar(10)[0] == ("▒▒▒▒", "unknown-bar on bar-track")
    row = memory_bar(10, (), 5 * GIB, 10 * GIB, stacked=True, glyphs=ASCII)
    assert plain(row) == "%%%%%....."


def test_owners_differ_without_colour() -> None:
    segments = (("alive-bar", False, GIB), ("foreign-bar", False, GIB), ("unknown-bar", True, GIB))
    row = memory_bar(12, segments, 3 * GIB, 4 * GIB, stacked=True, glyphs=MONO)
    assert plain(row) == "###===%%%..."


def test_unknown_memory_is_not_an_empty_bar() -> None:
    row = memory_bar(5, (), None, GIB, stacked=False, glyphs=UNICODE)
    assert row == (("·····", "decor"),)


@given(
    st.lists(st.none() | st.integers(-5, 300), max_size=60).map(tuple), st.booleans(), glyph_sets
)
def test_a_sparkline_has_one_column_a_sample(
    values: tuple[int | None, ...], is_old: bool, glyphs: Glyphs
) -> None:
    assert row_width(sparkline(values, is_old=is_old, glyphs=glyphs)) == len(values)


def test_sparkline_scale() -> None:
    row = sparkline((None, 0, 1, 20, 21, 50, 80, 81, 100), is_old=False, glyphs=UNICODE)
    assert plain(row) == "·▁▁▁▂▃▄▅▅"
    assert [style for _, style in row] == ["decor", "spark-base", "spark-1", "spark-2", "spark-3"]
    assert plain(sparkline((None, 0, 1, 50, 100), is_old=False, glyphs=ASCII)) == "-_.:|"
    assert sparkline((50, None), is_old=True, glyphs=UNICODE) == (
        ("▃", "stale-bar"),
        ("·", "decor"),
    )


percentages = st.lists(st.none() | st.integers(0, 100), min_size=1, max_size=30).map(tuple)


def chart(values: tuple[int | None, ...], rows: int, glyphs: Glyphs = UNICODE) -> list[str]:
    """Draw a chart from its bottom row up."""
    drawn = (chart_row(values, at, rows, is_old=False, glyphs=glyphs) for at in range(rows))
    return [plain(row) for row in drawn]


@given(percentages, st.integers(2, 6), glyph_sets)
def test_a_chart_grows_from_the_bottom_without_holes(
    values: tuple[int | None, ...], rows: int, glyphs: Glyphs
) -> None:
    drawn = chart(values, rows, glyphs)
    assert all(len(row) == len(values) for row in drawn)
    for column, value in zip(zip(*drawn, strict=True), values, strict=True):
        filled = [cell != " " for cell in column]
        assert filled == sorted(filled, reverse=True)
        full = filled.count(True) - 1
        assert all(cell == glyphs.chart[-1] for cell in column[:full])
        assert (column[0] == glyphs.nothing) == (value is None)


@given(st.integers(0, 99), st.integers(2, 6))
def test_a_chart_is_never_lower_for_more(value: int, rows: int) -> None:
    def heights(of: int) -> list[int]:
        return [" ▁▂▃▄▅▆▇█".index(row) for row in chart((of,), rows)]

    assert heights(value) <= heights(value + 1)
    assert sum(heights(value)) <= sum(heights(value + 1))


def test_a_full_chart_leaves_air_under_the_bar() -> None:
    assert chart((100, 1, 0, None), 3) == ["█▁▁·", "█   ", "▅   "]
    old = chart_row((50, None), 0, 3, is_old=True, glyphs=UNICODE)
    assert [style for _, style in old] == ["stale-bar", "decor"]
