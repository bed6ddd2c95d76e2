"""The same log says the same, however it comes: in pieces, wrapped, cut, or behind another run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.startup.following import (
    NAMES,
    WRAPPERS,
    expected_of,
    log_of,
    moved,
    pieces,
    report_of,
    without_time,
)
from tests.core.startup.made import LOGS

ALL = [*NAMES, *LOGS]
WITHOUT_END = frozenset(
    {
        "sglang_0.5.9_multinode_node1",
        "vllm warns of memory and goes on",
        "a script that was stopped",
        "a script that just ends",
        "a script that says nothing and is killed",
        "vllm command not found",
    }
)
"""Neither READY nor failed by the log alone."""
WITHOUT_ANCHOR = frozenset(
    {
        "vllm wrong argument",
        "sglang and a path that is not there",
        "a script that ends with a traceback",
        "docker port already allocated",
        "docker without the nvidia runtime",
        "nvidia container without driver",
        "ollama port taken",
        "trtllm-serve 1.2 import error of mpi",
        "trtllm-serve and an option that is none",
        "vllm module missing",
        "vllm spec module missing",
        "vllm without a visible GPU",
    }
)
"""No line of them says that a run begins."""


def data_of(name: str) -> bytes:
    return LOGS[name].log if name in LOGS else log_of(name)


@pytest.mark.parametrize("name", ALL)
def test_byte_by_byte(name: str) -> None:
    data = data_of(name)
    assert report_of(*(data[at : at + 1] for at in range(len(data)))) == report_of(data)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sizes=st.lists(st.integers(1, 700), max_size=120))
@pytest.mark.parametrize("name", NAMES)
def test_in_random_pieces(name: str, sizes: list[int]) -> None:
    data = log_of(name)
    assert report_of(*pieces(data, sizes)) == report_of(data)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", ALL)
def test_behind_a_prefix(name: str, wrapper: str) -> None:
    data = data_of(name)
    bare, told = report_of(data), report_of(WRAPPERS[wrapper](data))
    assert without_time(told) == without_time(bare)


@pytest.mark.parametrize("name", NAMES)
def test_cut_anywhere_nothing_is_told_too_early(name: str) -> None:
    data, expected = log_of(name), expected_of(name)
    failure_line = expected["failure"]["line"] if expected["failure"] else None
    for size in sorted({*range(0, len(data), 256), *range(0, len(data), 1024), len(data)}):
        told = report_of(data[:size])
        line = data[:size].count(b"\n") + 1
        if failure_line is None or line < failure_line:
            assert told["failure"] is None, (size, line)
        assert told["ready_line"] in (None, expected["ready_line"])
        if told["ready"]:
            assert line >= expected["ready_line"]


@pytest.mark.parametrize("name", NAMES)
def test_progress_never_goes_back(name: str) -> None:
    data = log_of(name)
    before: dict[tuple[str, int, float | None], float] = {}
    for size in range(0, len(data) + 1024, 1024):
        for phase in report_of(data[:size])["phases"]:
            if (bar := phase["progress"]) is not None:
                key = (phase["name"], phase["start_line"], bar["total"])
                assert bar["done"] >= before.get(key, 0)
                before[key] = bar["done"]


@pytest.mark.parametrize("name", sorted({*ALL} - WITHOUT_END - WITHOUT_ANCHOR))
def test_the_last_of_two_runs_is_the_one_that_is_told(name: str) -> None:
    data = data_of(name)
    once, twice = report_of(data), report_of(data + data)
    assert once["failure"] is not None or once["ready"]
    wanted = moved(once, data.count(b"\n"))
    assert moved(twice, 0) == wanted
    assert twice["earlier_runs"] == 1


@pytest.mark.parametrize("first", ["sglang_0.5.9_tp8_oom_load_weights", "vllm_0.8.5_v1_tp8_ok"])
@pytest.mark.parametrize("second", ["vllm_0.11.0_v1_tp8_ansi_crlf_ok", "sglang_0.4.3_dsv3_tp8_ok"])
def test_another_engine_begins_another_run(first: str, second: str) -> None:
    told = report_of(log_of(first) + log_of(second))
    alone = report_of(log_of(second))
    assert told["engine"] == alone["engine"]
    assert told["failure"] is None
    assert told["ready_line"] == alone["ready_line"] + log_of(first).count(b"\n")


LINES = [line for name in ALL for line in data_of(name).split(b"\n")]
BREAKS = (b"\n", b"\r\n", b"\r", b"")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    picked=st.lists(
        st.tuples(st.integers(0, len(LINES) - 1), st.integers(0, 400), st.sampled_from(BREAKS)),
        max_size=30,
    ),
    size=st.integers(1, 60),
)
def test_any_lines_in_any_order_cut_anywhere(
    picked: list[tuple[int, int, bytes]], size: int
) -> None:
    data = b"".join(LINES[at][-length:] + end for at, length, end in picked)
    told = report_of(data)
    assert report_of(*pieces(data, [size] * (len(data) // size))) == told
    for phase in told["phases"]:
        assert phase["end_line"] is None or phase["end_line"] >= phase["start_line"]
        assert phase.get("seconds", 0) >= 0
