"""Bytes become segments: what ends one, what is glued, what is dropped, what is kept bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.startup.segments import (
    KEPT_BYTES,
    LONGEST_BYTES,
    Segment,
    Tail,
    feed,
    finish,
    peek,
)


def cut(*chunks: bytes) -> list[Segment]:
    tail, found = Tail(), []
    for chunk in chunks:
        more, tail = feed(tail, chunk)
        found += more
    more, _ = finish(tail)
    return found + more


def texts(*chunks: bytes) -> list[tuple[int, str]]:
    return [(segment.line, segment.text) for segment in cut(*chunks)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb\n", [(1, "a"), (2, "b")]),
        (b"a\r\nb\r\n", [(1, "a"), (2, "b")]),
        (b"a\rb\rc\n", [(1, "a"), (1, "b"), (1, "c")]),
        (b"a\n\nb", [(1, "a"), (2, ""), (3, "b")]),
        (b"\r\n\r\n", [(1, ""), (2, "")]),
        (b"\rbar 1\r   \rbar 2\n", [(1, "bar 1"), (1, "   "), (1, "bar 2")]),
        (b"\x1b[1;36m(A pid=1)\x1b[0;0m x\n", [(1, "(A pid=1) x")]),
        (b"#033[31mred#033[0m\n", [(1, "red")]),
        (b"^[[31mred^[[0m\n", [(1, "red")]),
        (b"[2m2024[0m [32m INFO[0m x\n", [(1, "2024  INFO x")]),
        (b"\x1b]0;title\x07x\x1b[A\x1b[2K\n", [(1, "x")]),
        (b"list[2] and [1m] stay\n", [(1, "list[2] and [1m] stay")]),
    ],
)
def test_breaks_and_escapes(data: bytes, expected: list[tuple[int, str]]) -> None:
    assert texts(data) == expected


@pytest.mark.parametrize(
    "glued",
    [
        b"  9%| | 1/12 [00:01<00:15, 1.41s/it]|[2026-01-14 03:22:20 TP3] [CAR] x",
        b" 31%| | 1.22G/3.95G [00:12<00:27, 101MB/s]|/usr/lib/x.py:651: UserWarning: y",
        b"Epoch 0: | | 0/? [00:00<?, ?it/s, v_num=3]|(Worker_TP1 pid=3) ERROR x",
        b"some words|[2026-01-14 03:22:20] Load weight begin. avail mem=1 GB",
        b"some words|(EngineCore_DP0 pid=268) INFO x",
    ],
)
def test_glued_records_come_apart(glued: bytes) -> None:
    left, _, right = glued.rpartition(b"|")
    assert texts(left + right + b"\n") == [(1, left.decode()), (1, right.decode())]


def test_only_the_first_part_of_a_line_is_first() -> None:
    assert [s.is_first for s in cut(b"a\rb\nc[2026-01-14 03:22:20] d\n\re\n")] == [
        True, False, True, False, True,
    ]  # fmt: skip


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=40))
def test_a_character_that_is_cut_in_two_is_whole(text: str) -> None:
    data = ("x" + text + "\n").encode()
    assert texts(*(data[at : at + 1] for at in range(len(data)))) == texts(data)


def test_what_is_no_utf_8_is_replaced() -> None:
    assert texts(b"\xe2\x96\xff ok\n")[0][1].endswith(" ok")


@given(data=st.binary(max_size=300), sizes=st.lists(st.integers(1, 9), max_size=60))
def test_any_bytes_in_any_pieces(data: bytes, sizes: list[int]) -> None:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(data[at : at + size])
        at += size
    assert texts(*chunks, data[at:]) == texts(data)


@pytest.mark.parametrize("size", [1, 100, 4096, 70_000, 8_000_000])
def test_an_endless_part_stays_small(size: int) -> None:
    total = 8_000_000 if size > 1 else 60_000
    tail = Tail()
    for _ in range(total // size):
        found, tail = feed(tail, b"." * size)
        assert found == []
        assert len(tail.held) <= LONGEST_BYTES
    found, tail = feed(tail, b"end\n")
    assert len(found[0].text) < 2 * KEPT_BYTES + 10
    assert found[0].text.startswith("....")
    assert found[0].text.endswith("end")
    assert (tail.held, tail.line) == (b"", 2)


@pytest.mark.parametrize("size", [1, 7, 5000, 50_000])
def test_the_middle_that_is_dropped_does_not_depend_on_the_pieces(size: int) -> None:
    data = b"h" * 9000 + b"m" * 20_000 + b"t" * 9000 + b"\n"
    assert texts(*(data[at : at + size] for at in range(0, len(data), size))) == texts(data)


def test_a_look_at_the_unfinished_changes_nothing() -> None:
    _, tail = feed(Tail(), b"x\n\r 40%| | 4/10")
    assert [segment.text for segment in peek(tail)] == [" 40%| | 4/10"]
    found, _ = feed(tail, b" [00:01<00:02, 1it/s]\n")
    assert found[0].text == " 40%| | 4/10 [00:01<00:02, 1it/s]"
