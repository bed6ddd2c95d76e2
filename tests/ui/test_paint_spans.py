"""Widths: every helper returns exactly what was asked, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gpudash.ui.paint import box, spans
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE

texts = st.text(max_size=30).map(spans.outside)
rows = st.lists(st.tuples(texts, st.sampled_from(["text", "key b", "text on raised"])), max_size=6)
widths = st.integers(0, 60)


@given(st.text(max_size=40))
def test_outside_text_is_as_wide_as_the_terminal_library_says(text: str) -> None:
    kept = spans.outside(text)
    assert spans.cell_width(kept) == cell_len(kept)


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("sglang", 6), ("模型", 4), ("e\u0301", 1), ("71.2 GiB · ana", 14), ("■□√×", 4)],
)
def test_cell_width(text: str, width: int) -> None:
    assert spans.cell_width(spans.outside(text)) == width


@given(texts, widths)
def test_padding_and_cutting_are_exact(text: str, width: int) -> None:
    assert spans.cell_width(spans.left(text, width)) == width
    assert spans.cell_width(spans.right(text, width)) == width
    assert spans.cell_width(spans.shorten(text, width)) <= width
    assert spans.cell_width(spans.crop(text, width)) <= width


@given(rows.map(tuple), rows.map(tuple), widths, st.sampled_from(["", "…"]))
def test_rows_are_exact(first: spans.Row, second: spans.Row, width: int, mark: str) -> None:
    assert spans.row_width(spans.fit(first, width, mark)) == width
    assert spans.row_width(spans.spread(first, second, width, mark)) == width
    for glyphs in (UNICODE, ASCII, MONO):
        done = spans.finished(first, width, glyphs)
        assert spans.row_width(done) == width
        assert not glyphs.is_ascii or spans.plain(done).isascii()


@given(rows.map(tuple), rows.map(tuple), st.integers(0, 60))
def test_borders_are_exact(first: spans.Row, second: spans.Row, width: int) -> None:
    start, end = (Piece(first), Piece(second, 2)), (Piece(second, 1),)
    for draw in (box.top, box.bottom):
        assert spans.row_width(draw(start, end, width, "border", UNICODE)) == width


@given(texts, st.integers(4, 40))
def test_wrapped_lines_fit(text: str, width: int) -> None:
    assert all(spans.cell_width(line) <= width for line in spans.wrapped(text, width))


def test_a_cut_says_so() -> None:
    row = (("torchrun", "text"), (" train.py", "text"))
    assert spans.plain(spans.fit(row, 12, "…")) == "torchrun tr…"
    assert spans.plain(spans.fit(row, 8, "…")) == "torchru…"


def test_a_background_keeps_what_is_filled() -> None:
    row = (("a", "text b"), ("b", "text on bar-track"))
    assert spans.on_background(row, "row-cursor") == (
        ("a", "text b on row-cursor"),
        ("b", "text on bar-track"),
    )
