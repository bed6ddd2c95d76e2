"""The filter's language: what reads, what does not and where, and laws over any text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpudash.core.query.fields import FIELDS, NEEDS_UNIT, STATES, UNITS, Measure
from gpudash.core.query.language import (
    EVERYTHING,
    MOST_CHARACTERS,
    MOST_DEPTH,
    All,
    Compared,
    Not,
    Query,
    Same,
    Some,
    Word,
    parse,
)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", EVERYTHING),
        ("   ", EVERYTHING),
        ("abc", Word("abc")),
        ('"two words"', Word("two words")),
        (r'"a \"b\" \\"', Word(r'a "b" \\'.replace(r"\\", "\\"))),
        ("mem>50%", Compared("mem", ">", "50", "%")),
        ("mem > 50 %", Compared("mem", ">", "50", "%")),
        ("MEM>=40gib", Compared("mem", ">=", "40", "GiB")),
        ("mem<007.50G", Compared("mem", "<", "7.5", "GiB")),
        ("free>512MiB", Compared("free", ">", "512", "MiB")),
        ("util<5", Compared("util", "<", "5", "%")),
        ("temp>=80", Compared("temp", ">=", "80", "°C")),
        ("temp!=80c", Compared("temp", "!=", "80", "°C")),
        ("power>0.3kW", Compared("power", ">", "0.3", "kW")),
        ("clock<1200mhz", Compared("clock", "<", "1200", "MHz")),
        ("age>2h", Compared("age", ">", "2", "h")),
        ("age<5 m", Compared("age", "<", "5", "m")),
        ("gpu=3", Compared("gpu", "=", "3", "")),
        ("host=node*", Same("host", True, "node*")),
        ("user!=me", Same("user", False, "me")),
        ("state=HELD", Same("state", True, "held")),
        ('name="my server"', Same("name", True, "my server")),
        ("host=root@gpu-a:22", Same("host", True, "root@gpu-a:22")),
        ("a b and c", All((Word("a"), Word("b"), Word("c")))),
        ("a b or c", Some((All((Word("a"), Word("b"))), Word("c")))),
        ("a (b or c)", All((Word("a"), Some((Word("b"), Word("c")))))),
        ("not a", Not(Word("a"))),
        ("!a !b", All((Not(Word("a")), Not(Word("b"))))),
        ("NOT (a b)", Not(All((Word("a"), Word("b"))))),
        ("((a))", Word("a")),
        ("wow!", Word("wow!")),
        ("mem", Word("mem")),
        (
            "mem>50% user=me host=node* state=held",
            All(
                (
                    Compared("mem", ">", "50", "%"),
                    Same("user", True, "me"),
                    Same("host", True, "node*"),
                    Same("state", True, "held"),
                )
            ),
        ),
    ],
)
def test_what_reads(text: str, query: Query) -> None:
    assert parse(text) == (query, None)


@pytest.mark.parametrize(
    ("text", "at", "length", "words"),
    [
        ("usr=me", 0, 3, "no field usr; did you mean user?"),
        ("a zzzzzz=1", 2, 6, "no field zzzzzz; there are mem, free"),
        ("mem>", 4, 1, "a value is missing, as in mem>50%"),
        ("mem>50", 4, 2, "mem is told in % or MiB or GiB or TiB, as in mem>50%"),
        ("mem>50W", 4, 3, "mem is told in %"),
        ("mem>abc", 4, 3, "mem is a number, as in mem>50%"),
        ("age>7", 4, 1, "age is told in s or m or h or d"),
        ("gpu=3W", 4, 2, "gpu is told in no unit"),
        ("user>me", 4, 1, "user is no number: = or !=, as in user=me"),
        ("state=helt", 6, 4, "no state helt; did you mean held?"),
        ("state=", 6, 1, "a value is missing, as in state=leftover"),
        ("(a", 0, 1, "this ( is not closed"),
        ("a)", 1, 1, "there is no ( before this )"),
        ("a ()", 3, 1, "there is nothing before this )"),
        ('a "b', 2, 2, "this quote is not closed"),
        ('name="b', 5, 2, "this quote is not closed"),
        ("=5", 0, 1, "a field stands before =, like mem or user"),
        ("a or", 4, 1, "something is missing here"),
        ("or a", 0, 2, "or stands between two things"),
        ("not", 3, 1, "something is missing here"),
        ("user=(", 5, 1, "a value is missing, as in user=me"),
        ("(" * 30, MOST_DEPTH, 1, "too many brackets within each other"),
        ("a" * 500, MOST_CHARACTERS, 1, "longer than 400 characters"),
    ],
)
def test_what_is_wrong_has_its_column(text: str, at: int, length: int, words: str) -> None:
    query, mistake = parse(text)
    assert query == EVERYTHING
    assert mistake is not None
    assert (mistake.at, mistake.length) == (at, length)
    assert mistake.message.startswith(words)


TEXTS = st.text(max_size=20)
NUMBERED = [
    (field.name, unit.name)
    for field in FIELDS.values()
    if field.measure not in (Measure.TEXT, Measure.STATE)
    for unit in UNITS[field.measure]
]
TERMS = st.one_of(
    TEXTS.map(Word),
    st.builds(
        Same,
        st.sampled_from([f.name for f in FIELDS.values() if f.measure is Measure.TEXT]),
        st.booleans(),
        TEXTS,
    ),
    st.builds(Same, st.just("state"), st.booleans(), st.sampled_from([*STATES])),
    st.builds(
        lambda pair, sign, amount: Compared(pair[0], sign, amount, pair[1]),
        st.sampled_from(NUMBERED),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(["0", "5", "50", "0.5", "123456", "99.25"]),
    ),
)


def joined(kind: type) -> object:
    def make(parts: list[Query]) -> Query:
        return kind(tuple(parts))

    return make


QUERIES = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=4).map(joined(All)),
        st.lists(inner, min_size=2, max_size=4).map(joined(Some)),
    ),
    max_leaves=8,
)
PIECES = st.sampled_from(
    [
        *'mem user host = != > <= ! ( ) " \\ or and not 50% 40GiB me a* ° é 5 m'.split(),  # noqa: SIM905
        *" \n\x00",
    ]
)


@given(text=st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=24).map("".join)))
@example(text='"\\')
@example(text='"a\n')
@example(text="!=")
def test_no_text_raises_and_what_reads_prints_as_itself(text: str) -> None:
    query, mistake = parse(text)
    if mistake is None:
        assert parse(str(query)) == (query, None)
    else:
        assert query == EVERYTHING
        assert 0 <= mistake.at <= len(text)
        assert mistake.at + mistake.length <= len(text) + 1
        assert mistake.message


@given(query=QUERIES)
def test_the_printed_form_reads_as_the_same(query: Query) -> None:
    printed = str(query)
    if len(printed) <= MOST_CHARACTERS:
        assert parse(printed) == (query, None)


@pytest.mark.parametrize("field", FIELDS.values(), ids=lambda field: field.name)
def test_examples_read(field: object) -> None:
    query, mistake = parse(field.example)  # type: ignore[attr-defined]
    assert mistake is None
    assert str(query) == field.example  # type: ignore[attr-defined]


def test_a_measure_without_a_unit_has_one_meaning() -> None:
    assert all(len(UNITS[measure]) > 1 for measure in NEEDS_UNIT)
