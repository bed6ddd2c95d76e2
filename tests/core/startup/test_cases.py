"""Every recorded log yields its phases, progress, READY line, failure and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.startup.following import NAMES, expected_of, log_of, report_of

SLACK_S = 2.0
"""Logs tell whole seconds, bars too."""
NUMBERS_NOT_IN_THE_LOG = {
    "train_nccl_watchdog_timeout": {
        "world_size": "the log names ranks 0, 2 and 4 and never how many there are"
    }
}
TIMES_NOT_IN_THE_LOG = {
    "lmdeploy_0.9_turbomind_tp2_ok": "turbomind's and uvicorn's lines tell no time",
    "train_deepspeed_zero3_ok": "the line before the bar that is already full is 11 s older",
    "train_nccl_watchdog_timeout": "the first two lines tell no time",
    "train_torchrun_hf_trainer_ok": "only the banner tells a time",
    "trtllm_1.1_gpt_oss_ok": "the C++ lines between tell no time",
}


@pytest.mark.parametrize("name", NAMES)
def test_engine_ready_and_failure(name: str) -> None:
    expected, told = expected_of(name), report_of(log_of(name))
    assert told["schema"] == "gpudash.startup/1"
    for key in ("engine", "ready", "ready_line"):
        assert told[key] == expected[key], key
    if expected["failure"] is None:
        assert told["failure"] is None
        return
    assert told["failure"]["hint"]
    assert {key: told["failure"].get(key) for key in expected["failure"]} == expected["failure"]


@pytest.mark.parametrize("name", NAMES)
def test_phases_with_their_lines(name: str) -> None:
    expected, told = expected_of(name)["phases"], report_of(log_of(name))["phases"]
    assert lines_of(told) == lines_of(expected)
    for one, other in zip(told, expected, strict=True):
        assert bar_of(one["progress"], other["progress"]) == bar_of(other["progress"])


def lines_of(phases: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(phase["name"], phase["start_line"], phase["end_line"]) for phase in phases]


def bar_of(
    progress: dict[str, Any] | None, wanted: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return a bar without its time; of ours only what the other one tells."""
    if progress is None:
        return None
    keys = (wanted or progress).keys() - {"bar_100_at"}
    return {key: progress.get(key) for key in keys}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in TIMES_NOT_IN_THE_LOG])
def test_times_are_the_logs_own(name: str) -> None:
    expected, told = expected_of(name), report_of(log_of(name))
    near(told["ready_at"], expected["ready_at"])
    for one, other in zip(told["phases"], expected["phases"], strict=True):
        near(one["start"], other["start"])
        near(one["end"], other["end"])
        full = (other["progress"] or {}).get("bar_100_at")
        if full is not None:
            near(one["progress"]["bar_100_at"], full)


def near(told: float | None, expected: float | None) -> None:
    if expected is None:
        assert told is None
    else:
        assert told == pytest.approx(expected, abs=SLACK_S)


@pytest.mark.parametrize("name", NAMES)
def test_numbers(name: str) -> None:
    expected, told = expected_of(name)["numbers"], report_of(log_of(name))["numbers"]
    wanted = {
        key: value
        for key, value in expected.items()
        if key not in NUMBERS_NOT_IN_THE_LOG.get(name, {})
    }
    assert {key: told.get(key) for key in wanted} == wanted


def test_what_can_not_be_told_is_really_not_in_the_log() -> None:
    for name, numbers in NUMBERS_NOT_IN_THE_LOG.items():
        told = report_of(log_of(name))["numbers"]
        assert not set(numbers) & set(told)
    assert set(TIMES_NOT_IN_THE_LOG) <= set(NAMES)
