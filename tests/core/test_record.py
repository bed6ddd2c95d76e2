"""Lines of a record: what is written comes back whole, and what is torn comes back as nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.masking import masked_argv, masked_command, masked_text
from gpudash.core.record import Line, begun, encode, ended, is_run_id, parse_record, run_id

RUN = "20261129T120642Z-proof-3f2a"
UTC = "2026-11-29T12:06:42.123Z"


def test_a_run_is_named_by_its_time() -> None:
    assert run_id(UTC, "proof", 0x3F2A) == RUN
    assert is_run_id(RUN)
    for topic in ("", "a b", "../x", "UPPER", "averyveryverylongword"):
        with pytest.raises(ValueError, match="-"):
            run_id(UTC, topic, 1)


def test_a_line_says_when_by_both_clocks() -> None:
    line = Line(
        kind="break",
        says="GPU 3: +512 MiB",
        host="gpu-a",
        host_monotonic_s=12.5,
        boot_id="boot-1",
        details={"gpus": [3]},
    )
    assert json.loads(encode(line, run=RUN, number=2, utc=UTC)) == {
        "schema": "gpudash.record/1",
        "run": RUN,
        "n": 2,
        "utc": UTC,
        "kind": "break",
        "says": "GPU 3: +512 MiB",
        "host": "gpu-a",
        "host_monotonic_s": 12.5,
        "boot_id": "boot-1",
        "gpus": [3],
    }


def test_a_member_can_not_be_named_twice() -> None:
    with pytest.raises(ValueError, match="utc"):
        encode(Line(kind="x", says="", details={"utc": "now"}), run=RUN, number=0, utc=UTC)


def _lines(count: int) -> list[bytes]:
    lines = [Line(kind="note", says=f"line {number}") for number in range(count)]
    return [encode(line, run=RUN, number=n, utc=UTC) for n, line in enumerate(lines)]


@given(count=st.integers(0, 5), cut=st.integers(0, 400))
def test_wherever_it_is_cut_only_whole_lines_are_read(count: int, cut: int) -> None:
    lines = _lines(count)
    data = b"".join(lines)[:cut]
    record = parse_record(RUN, data)
    whole = data.count(b"\n")
    assert [line["n"] for line in record.lines] == list(range(whole))
    assert record.is_torn is (data != b"".join(lines[:whole]))
    assert record.damaged == 0


@given(st.text(), st.text())
def test_any_text_comes_back(says: str, more: str) -> None:
    data = encode(Line(kind="note", says=says, details={"x": more}), run=RUN, number=0, utc=UTC)
    assert data.count(b"\n") == 1
    (line,) = parse_record(RUN, data).lines
    assert (line["says"], line["x"]) == (says, more)


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"schema":"gpudash.record/2"}',
        encode(Line(kind="x", says=""), run="20261129T120642Z-proof-ffff", number=0, utc=UTC)[:-1],
        b'{"schema":"gpudash.record/1","run":"' + RUN.encode() + b'","utc":1}',
    ],
)
def test_what_is_no_line_of_the_run_is_counted(bad: bytes) -> None:
    first, second = _lines(2)
    record = parse_record(RUN, first + bad + b"\n" + second)
    assert [line["n"] for line in record.lines] == [0, 1]
    assert (record.damaged, record.is_torn) == (1, False)


def test_first_and_last_lines() -> None:
    begin = begun(
        ("gpudash", "wait", "--zero"),
        version="1",
        user="ana",
        machine="here",
        hosts=("local",),
        is_simulated=True,
    )
    data = encode(begin, run=RUN, number=0, utc=UTC)
    record = parse_record(RUN, data)
    assert record.first["command"] == ["gpudash", "wait", "--zero"]
    assert not record.has_ended
    data += encode(ended(5, "timed out"), run=RUN, number=1, utc=UTC)
    record = parse_record(RUN, data)
    assert record.has_ended
    assert record.last["exit_code"] == 5
    assert parse_record(RUN, b"").first == parse_record(RUN, b"").last == {}


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        (("--api-key", "abc"), ("--api-key", "…")),
        (("--api-key=abc",), ("--api-key=…",)),
        (("--hf-token", "--next"), ("--hf-token", "--next")),
        (("HF_TOKEN=abc", "x"), ("HF_TOKEN=…", "x")),
        (("AWS_SECRET_ACCESS_KEY=abc",), ("AWS_SECRET_ACCESS_KEY=…",)),
        (("--password=a=b",), ("--password=…",)),
        (("https://ana:pw@example.com/x",), ("https://ana:…@example.com/x",)),
        (("-H", "Authorization: Bearer abc"), ("-H", "Authorization: Bearer …")),
        (("hf_abcdefghijkl",), ("…",)),
        (("x sk-abcdefghijkl y",), ("x … y",)),
        (("--max-tokens", "128"), ("--max-tokens", "128")),
        (("--max-tokens=128",), ("--max-tokens=128",)),
        (("--tokenizer", "x"), ("--tokenizer", "x")),
        (("--public-key", "x"), ("--public-key", "x")),
        (("python", "train.py", "--tp=8"), ("python", "train.py", "--tp=8")),
        (("http://[::1]:8000/a@b",), ("http://[::1]:8000/a@b",)),
    ],
    ids=lambda words: " ".join(words),
)
def test_secrets_are_not_kept(word: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert masked_argv(word) == kept


def test_a_joined_command_is_masked_too() -> None:
    assert masked_command("python x.py --api-key abc  y") == "python x.py --api-key …  y"
    assert masked_command("") == ""


@given(st.lists(st.text()))
def test_masking_keeps_the_words_apart(words: list[str]) -> None:
    assert len(masked_argv(words)) == len(words)
    assert masked_text(masked_text(" ".join(words))) == masked_text(" ".join(words))
