"""Lines behind a time are taken up again anywhere, without losing or doubling a byte."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core.startup.prefixes import peel
from gpudash.probe.loglines import Journal, Stamped, whole_stamp

STAMPS = [f"2026-01-14T03:22:2{n}.{frac}Z" for n in range(3) for frac in ("1", "12", "123456789")]
MESSAGES = st.text(st.characters(exclude_characters="\n", max_codepoint=0x2FF), max_size=12)
LOGS = st.lists(st.tuples(st.sampled_from(STAMPS), MESSAGES), max_size=12)


def since(lines: list[tuple[str, str]], cursor: list[object]) -> bytes:
    """Print what `--since` prints: all from that second on, as kubectl does."""
    start = str(cursor[0])[:19]
    return b"".join(
        f"{stamp} {text}\n".encode() for stamp, text in lines if not start or stamp[:19] >= start
    )


@given(log=LOGS, seed=st.integers(0, 10_000))
@settings(max_examples=300, deadline=None)
def test_any_cut_at_any_byte(log: list[tuple[str, str]], seed: int) -> None:
    pick = random.Random(seed)
    lines = sorted(log, key=lambda row: whole_stamp(row[0].encode()))
    whole = since(lines, [""])
    got, cursor = b"", ["", 0, 0]
    for _ in range(6):
        reader = Stamped(list(cursor))
        data = since(lines, cursor)
        data = data[: pick.randrange(len(data) + 1)]
        while data:
            size = pick.randrange(1, len(data) + 1)
            new = reader.feed(data[:size])
            data = data[size:]
            if new:
                got += new
                cursor = reader.cursor()
        assert whole.startswith(got)
    reader = Stamped(list(cursor))
    got += reader.feed(since(lines, cursor))
    assert got == whole


def test_a_bar_without_an_end_comes_at_once() -> None:
    reader = Stamped(None)
    stamp = b"2026-01-14T03:22:20.1Z "
    assert reader.feed(stamp + b"Loading: 10%\rLoading: 20%") == (
        stamp + b"Loading: 10%\rLoading: 20%"
    )
    assert reader.feed(b"\rLoading: 30%") == b"\rLoading: 30%"


def test_output_without_times_is_passed_on() -> None:
    reader = Stamped(None)
    data = b"Error response from daemon: no such container, and that is a long line\n"
    assert reader.feed(data) == data


def entry(message: object, micros: int, cursor: str) -> bytes:
    told = {"MESSAGE": message, "__REALTIME_TIMESTAMP": str(micros), "__CURSOR": cursor}
    return json.dumps(told).encode() + b"\n"


def test_the_journal_keeps_bytes_and_time() -> None:
    reader = Journal(None)
    escaped = list(b"\x1b[32mINFO\x1b[0m ok\r")
    data = entry("plain", 1_768_360_940_123_456, "s=1") + entry(
        escaped, 1_768_360_941_000_000, "s=2"
    )
    got = reader.feed(data[:-10]) + reader.feed(data[-10:])
    first, second, rest = got.split(b"\n")
    assert rest == b""
    assert first == b"2026-01-14T03:22:20.123456Z plain"
    assert second.endswith(b" \x1b[32mINFO\x1b[0m ok\r")
    assert reader.cursor() == ["s=2"]
    prefix, text = peel(first.decode())
    assert (prefix.passed is not None, text) == (True, "plain")


def test_what_the_journal_can_not_show() -> None:
    reader = Journal(None)
    assert reader.feed(entry(None, 0, "s=3")).endswith(b"Z \n")
    assert reader.feed(b"no json at all\n") == b"no json at all\n"
