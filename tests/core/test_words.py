"""How things are written, read, and guessed: units, scope, the nearest word."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.errors import UsageError
from gpudash.core.model import Gpu, GpuState
from gpudash.core.nearest import edit_distance, nearest
from gpudash.core.scope import normal_bus_id, parse_scope
from gpudash.core.units import (
    GIB,
    MIB,
    ceil_mib,
    format_duration,
    format_known,
    format_memory,
    gib,
    grouped,
    index_list,
    known_sum,
    parse_duration,
    plural,
)
from tests.core.making import gpu_info

# -- units (mockups §4) ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 MiB"),
        (1, "<1 MiB"),
        (MIB - 1, "<1 MiB"),
        (MIB, "1 MiB"),
        (MIB + 1, "2 MiB"),
        (512 * MIB, "512 MiB"),
        (GIB - 1, "1023 MiB"),
        (GIB, "1.0 GiB"),
        (int(71.2 * GIB), "71.2 GiB"),
        (1529 * GIB, "1 529 GiB"),
        (999 * GIB, "999.0 GiB"),
        (int(999.96 * GIB), "1 000 GiB"),
    ],
)
def test_memory(value: int, text: str) -> None:
    assert format_memory(value).replace("\N{THIN SPACE}", " ") == text


@given(st.integers(1, 1 << 44))
def test_above_zero_never_reads_as_zero(value: int) -> None:
    assert format_memory(value) != "0 MiB"
    assert ceil_mib(value) > 0
    assert (ceil_mib(value) - 1) * MIB < value <= ceil_mib(value) * MIB


@pytest.mark.parametrize(
    ("values", "text"),
    [((), "?"), ((None,), "?"), ((None, 0), "?"), ((0, 0), "0 MiB"), ((None, GIB), "≥ 1.0 GiB")],
)
def test_a_sum_with_unknown_parts(values: tuple[int | None, ...], text: str) -> None:
    assert format_known(*known_sum(values)) == text


def test_gib_without_unit() -> None:
    assert gib(int(71.25 * GIB)) == "71.2"
    assert gib(1529 * GIB).startswith("1")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (41.9, "41 s"),
        (59.99, "59 s"),
        (60, "1m 00s"),
        (193, "3m 13s"),
        (599, "9m 59s"),
        (600, "10m"),
        (41 * 60, "41m"),
        (3600, "1h 00m"),
        (2 * 3600 + 240, "2h 04m"),
        (86399, "23h 59m"),
        (4 * 86400 + 7200, "4d 2h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.8, "0.8 s"), (9.94, "9.9 s"), (9.95, "9 s"), (10, "10 s")]
)
def test_tenths(seconds: float, text: str) -> None:
    assert format_duration(seconds, tenths=True) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("10s", 10), ("5m", 300), ("1.5h", 5400), (" 1s ", 1)]
)
def test_reading_durations(text: str, seconds: float) -> None:
    assert parse_duration(text, flag="--hold") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "s", "-1s", "1 s", "1e3s", "1s2", "infs", "nan", "1d"])
def test_no_durations(text: str) -> None:
    with pytest.raises(UsageError, match="--hold"):
        parse_duration(text, flag="--hold")


def test_counts() -> None:
    assert plural(1, "GPU") == "1 GPU"
    assert plural(0, "GPU") == "0 GPUs"
    assert plural(2, "process", "processes") == "2 processes"
    assert grouped(999) == "999"
    assert len(grouped(4812)) == 5


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([0, 1], "0–1"),
        ([7, 0, 2, 6, 5, 5], "0, 2, 5–7"),
        (list(range(8)), "0–7"),
    ],
)
def test_index_lists(indices: list[int], text: str) -> None:
    assert index_list(indices) == text


# -- scope -------------------------------------------------------------------------------------


def gpus(count: int = 4) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(
            info=gpu_info(n, f"GPU-{n}a{n}b0000", bus_id=f"00000000:{0x17 + n:02X}:00.0"),
            reading=None,
            state=GpuState.UNREAD,
        )
        for n in range(count)
    )


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("0", [0]),
        ("0-3", [0, 1, 2, 3]),
        ("3,1", [1, 3]),
        ("1-2,2-3", [1, 2, 3]),
        (" 0 , 2 ", [0, 2]),
        ("GPU-2a", [2]),
        ("gpu-2A".replace("gpu", "GPU"), [2]),
        ("GPU-2a2b0000", [2]),
        ("0000:17:00.0", [0]),
        ("00000000:18:00.0", [1]),
        ("17:00", [0]),
        ("1a:00.0", [3]),
        ("gpu-a:0-1", [0, 1]),
        ("gpu-a:0000:17:00.0", [0]),
        ("gpu-b:0", []),
        ("gpu-b:0,3", [3]),
    ],
)
def test_scopes(text: str, indices: list[int]) -> None:
    assert [gpu.info.index for gpu in parse_scope(text).select("gpu-a", gpus())] == indices


@pytest.mark.parametrize(
    "text", ["4", "0-4", "GPU-9", "GPU-", "0000:99:00.0", "gpu-a:7", "MIG-1", "9999"]
)
def test_who_is_not_there_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_scope(text).select("gpu-a", gpus())


def test_half_a_uuid_of_two_is_an_error() -> None:
    pair = tuple(
        Gpu(info=gpu_info(n, f"GPU-aa{n}"), reading=None, state=GpuState.UNREAD) for n in range(2)
    )
    with pytest.raises(UsageError, match="2 UUIDs"):
        parse_scope("GPU-aa").select("gpu-a", pair)


@pytest.mark.parametrize(
    "text", ["", ",", "0,,1", "3-1", "all", "0-", "-1", "GPU", "x", "1.5", "0x1", "host:", ":0:"]
)
def test_no_scopes(text: str) -> None:
    with pytest.raises(UsageError):
        parse_scope(text)


@given(st.text(max_size=12))
def test_any_word_is_a_scope_or_an_error(text: str) -> None:
    with suppress(UsageError):
        parse_scope(text).select("gpu-a", gpus())


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("00000000:19:00.0", "0000:19:00"),
        ("0000:19:00.0", "0000:19:00"),
        ("19:00", "0000:19:00"),
        ("00010000:0A:00.0", "10000:0a:00"),
        ("odd", "odd"),
    ],
)
def test_bus_ids(text: str, normal: str) -> None:
    assert normal_bus_id(text) == normal


# -- the nearest word --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "guess"),
    [
        ("chekc", "check"),
        ("chck", "check"),
        ("check", "check"),
        ("sream", "stream"),
        ("docter", "doctor"),
        ("nonsense", None),
        ("", None),
    ],
)
def test_the_nearest(word: str, guess: str | None) -> None:
    assert nearest(word, ("check", "demo", "doctor", "stream")) == guess


def test_the_nearest_of_none() -> None:
    assert nearest("check", ()) is None


WORDS = st.text("abc", max_size=6)


@given(WORDS, WORDS, st.integers(0, 6))
def test_a_distance(one: str, other: str, limit: int) -> None:
    distance = edit_distance(one, other, limit)
    assert distance == edit_distance(other, one, limit)
    assert (distance == 0) is (one == other)
    assert distance <= limit + 1
    assert min(abs(len(one) - len(other)), limit + 1) <= distance <= max(len(one), len(other))
