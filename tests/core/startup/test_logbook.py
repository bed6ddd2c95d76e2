"""The log as lines to read: numbered as in the file, bounded, nothing that a terminal obeys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.startup.logbook import Logbook, found_in, place_of, ranks_in

LOG = (
    b"[2026-01-14 03:12:26 TP3] Init torch distributed begin.\n"
    b"[2026-01-14 03:12:26 TP10] Init torch distributed begin.\n"
    b"plain line\n"
    b"\n"
    b"Loading: 10%|# | 1/10 [00:01<00:09, 1.0s/it]\rLoading: 20%|## | 2/10 [00:02<00:08, 1.0s/it]"
)


def filled(data: bytes = LOG, **more: int) -> Logbook:
    book = Logbook(**more)
    book.feed(data, 5.0)
    return book


def test_lines_keep_their_numbers_and_ranks_and_lose_their_prefix() -> None:
    lines = filled().lines()
    assert [(one.number, one.rank, one.text) for one in lines[:3]] == [
        (1, "TP3", "Init torch distributed begin."),
        (2, "TP10", "Init torch distributed begin."),
        (3, "", "plain line"),
    ]
    assert ranks_in(lines) == ("TP3", "TP10")


def test_a_bar_is_one_line_with_its_newest_state() -> None:
    book = filled()
    book.feed(b"\r", 6.0)
    assert [one.text[:12] for one in book.lines() if one.number == 5] == ["Loading: 20%"]
    book.feed(b"\rLoading: 100%|##| 10/10 [00:10<00:00, 1.0s/it]\ndone\n", 7.0)
    assert [one.text[:13] for one in book.lines()][-2:] == ["Loading: 100%", "done"]


def test_what_was_never_ended_comes_with_the_end() -> None:
    book = filled(b"no end")
    assert book.lines() == ()
    book.finish(9.0)
    assert [(one.at_s, one.text) for one in book.lines()] == [(9.0, "no end")]


def test_old_lines_go_and_are_counted() -> None:
    book = filled(b"".join(b"line %d\n" % number for number in range(50)), most_lines=10)
    assert [one.number for one in book.lines()] == list(range(41, 51))
    assert book.dropped == 40
    assert place_of(book.lines(), 41) == 0
    assert place_of(book.lines(), 40) is None
    assert [one.number for one in book.newest(3)] == [48, 49, 50]
    assert [one.number for one in book.around(45, 3)] == [44, 45, 46]
    assert [one.number for one in book.around(2, 3)] == [48, 49, 50]


def test_a_long_log_is_bounded_by_its_text_too() -> None:
    book = filled(b"x" * 90 + b"\n", most_chars=400)
    for _ in range(20):
        book.feed(b"y" * 90 + b"\n", 1.0)
    assert sum(len(one.text) for one in book.lines()) <= 400


def test_numbers_begin_where_the_reading_began() -> None:
    book = Logbook()
    book.begin_at(4_000)
    book.feed(b"first\n", 0.0)
    assert book.lines()[0].number == 4_000


def test_nothing_that_moves_a_cursor_or_is_secret_is_kept() -> None:
    book = filled(b"\x1b[31mred\x1b[0m \x07\x9b2J\xe2\x80\xae api_key='abcdefgh'\n")
    (line,) = book.lines()
    assert line.text.isprintable()
    assert "red" in line.text
    assert "abcdefgh" not in line.text


def test_words_are_found_by_their_case_where_they_have_one() -> None:
    lines = filled(b"Error one\nerror two\n").lines()
    assert found_in(lines, "error") == (0, 1)
    assert found_in(lines, "Error") == (0,)
    assert found_in(lines, "") == ()


@given(st.binary(max_size=400), st.lists(st.integers(1, 40), max_size=30))
def test_any_pieces_make_the_same_lines(data: bytes, cuts: list[int]) -> None:
    whole = filled(data)
    whole.finish(5.0)
    book, at = Logbook(), 0
    for cut in cuts:
        book.feed(data[at : at + cut], 5.0)
        at += cut
    book.feed(data[at:], 5.0)
    book.finish(5.0)
    assert book.lines() == whole.lines()
    assert all(one.text.isprintable() for one in book.lines())


def test_the_same_lines_are_the_same_object_until_something_comes() -> None:
    book = filled()
    before = book.lines()
    assert book.lines() is before
    book.feed(b"\rmore\n", 6.0)
    assert book.lines() is not before
