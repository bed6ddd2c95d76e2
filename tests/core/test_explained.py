"""A record as a person reads it: every line is told, and nothing in it steers a reader."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core.explained import told
from gpudash.core.record import Line, Record, begun, encode, ended, parse_record
from gpudash.core.storytelling import as_markdown, as_text

RUN = "20261129T120642Z-wait-3f2a"
BEGUN = begun(
    ("gpudash", "wait", "--zero", "--", "echo", "go on"),
    version="0.1.0",
    user="ana",
    machine="gpu-a",
    hosts=("local",),
    is_simulated=False,
)
BREAK = Line(
    kind="break",
    says="was clear for 8 s; GPU 3: +512 MiB, pid 4711 python train.py (ana)",
    host="local",
    host_monotonic_s=812.25,
    boot_id="boot-1",
    details={
        "gpus": [
            {"index": 3, "uuid": "GPU-3", "used_bytes": 512 << 20, "reason": None},
            {"index": 4, "uuid": "GPU-4", "used_bytes": 0, "reason": "none"},
        ],
        "reasons": ["one", "two"],
        "reach": "partial",
        "command": ["kill", "-TERM", "a b"],
    },
)


def record_of(*lines: Line, tail: bytes = b"") -> Record:
    utc = "2026-11-29T12:06:42.123Z"
    written = (encode(line, run=RUN, number=n, utc=utc) for n, line in enumerate(lines))
    return parse_record(RUN, b"".join(written) + tail)


WHOLE = record_of(BEGUN, BREAK, ended(5, "not zero for 10 s within 1m"))


def test_as_text() -> None:
    assert as_text(told(WHOLE)) == (
        "20261129T120642Z-wait-3f2a  2026-11-29 12:06:42 UTC\n"
        "gpudash wait --zero -- echo 'go on'\n"
        "on local; by ana at gpu-a; gpudash 0.1.0\n"
        "→ not zero for 10 s within 1m (exit 5)\n"
        "\n"
        "12:06:42.123  local  break  was clear for 8 s; GPU 3: +512 MiB, pid 4711 python train.py"
        " (ana)\n"
        "              reasons: one · reasons: two · reach: partial · command: kill -TERM 'a b'\n"
        "              host's clock: 812.25 s\n"
        "              gpus:\n"
        "                index  uuid   used     reason\n"
        "                3      GPU-3  512 MiB  –\n"
        "                4      GPU-4  0 MiB    none\n"
        "12:06:42.123         end    not zero for 10 s within 1m (exit 5)\n"
    )


def test_the_command_of_whoever_broke_it_is_shown() -> None:
    claimants = [{"pid": 4711, "command": "python train.py", "user": "ana"}]
    line = Line(kind="break", says="broken", details={"claimants": claimants})
    text = as_text(told(record_of(BEGUN, line, ended(1, "held"))))
    assert re.search(r"4711 +python train\.py +ana", text)
    nobody = Line(kind="break", says="broken", details={"claimants": [{"pid": 1, "command": None}]})
    assert "?" not in as_text(told(record_of(BEGUN, nobody, ended(1, "held"))))


def test_as_markdown() -> None:
    text = as_markdown(told(WHOLE))
    assert text.startswith("### gpudash record `20261129T120642Z-wait-3f2a`\n\n```\ngpudash wait")
    assert "| index | uuid | used | reason |\n| --- | --- | --- | --- |\n| 3 | GPU\\-3 |" in text
    assert "- **not zero for 10 s within 1m \\(exit 5\\)**" in text


def test_a_record_without_end_says_so() -> None:
    story = told(record_of(BEGUN, BREAK, tail=b'{"schema":"gpud'))
    assert story.outcome == "no end is on record: it still runs, or was killed"
    assert story.doubts == ("the last line was cut off and is left out",)
    assert "! the last line was cut off" in as_text(story)


def test_an_empty_record_is_told_too() -> None:
    story = told(parse_record(RUN, b""))
    assert story.doubts == ("its first line is missing",)
    assert RUN in as_text(story)
    assert RUN in as_markdown(story)


def test_simulated_is_never_unmarked() -> None:
    begin = begun(("x",), version="1", user="a", machine="m", hosts=("h",), is_simulated=True)
    story = told(record_of(begin))
    assert "SIMULATED" in as_text(story)
    assert "SIMULATED" in as_markdown(story)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
NAMES = st.text(min_size=1).filter(
    lambda name: (
        name not in ("schema", "run", "n", "utc", "kind", "says", "host")
        and name not in ("host_monotonic_s", "boot_id")
    )
)


@settings(max_examples=40)
@given(st.text(), st.text(), st.dictionaries(NAMES, JSON, max_size=4))
def test_any_line_can_be_told_and_steers_nothing(
    kind: str, says: str, details: dict[str, Any]
) -> None:
    line = Line(kind=kind, says=says, host=says, details=details)
    story = told(record_of(BEGUN, line, ended(0, says)))
    for text in (as_text(story), as_markdown(story)):
        assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in text)


@given(st.text(alphabet="`*_[]()<>|#@!\\ab1~+-"))
def test_markdown_shows_what_was_said(says: str) -> None:
    story = told(record_of(BEGUN, Line(kind="note", says=says)))
    row = next(line for line in as_markdown(story).splitlines() if "| note |" in line)
    assert not re.search(r"(?<!\\)[`*_\[\]<>#~]", row.replace("&#64;", "@").replace("\\\\", ""))
    assert "@" not in row
    assert len(re.findall(r"(?<!\\)\|", row.replace("\\\\", ""))) == 5
