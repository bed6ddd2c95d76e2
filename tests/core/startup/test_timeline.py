"""Phases on one axis: what was, what runs, and what the earlier run says is to come."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from gpudash.core.startup.history import PastPhase, PastRun
from gpudash.core.startup.timeline import Stage, Step, Timeline, timeline
from tests.ui import startups


def laid(name: str, after_s: float, **more: object) -> Timeline:
    return startups.view(name, after_s, **more).timeline  # type: ignore[arg-type]


def by_name(line: Timeline) -> dict[str, Step]:
    return {step.name: step for step in line.steps}


def test_the_running_phase_is_now_and_the_rest_is_to_come() -> None:
    line = laid("serve", 40.0)
    steps = by_name(line)
    assert [step.name for step in line.steps][:3] == ["launch", "init_dist", "load_weights"]
    assert steps["launch"].stage is Stage.DONE
    assert steps["launch"].spans[0][0] == 0.0
    assert steps["load_weights"].stage is Stage.NOW
    assert steps["load_weights"].spans[0][1] == pytest.approx(40.0)
    assert steps["warmup"].stage is Stage.TO_COME
    assert line.now == pytest.approx(40.0)


def test_what_is_to_come_follows_now_without_gap() -> None:
    line = laid("serve", 40.0)
    coming = [step.expected for step in line.steps if step.expected is not None]
    assert coming[0][0] == pytest.approx(line.now)
    for before, after in pairwise(coming):
        assert after[0] == pytest.approx(before[1])
    assert line.expected_end == pytest.approx(coming[-1][1])


def test_a_bar_tells_more_of_its_phase_than_the_earlier_run() -> None:
    step = by_name(laid("serve", 40.0))["load_weights"]
    assert step.expected is not None
    assert step.progress is not None
    assert step.progress.total is not None
    spent_s = 40.0 - step.spans[0][0]
    left_s = spent_s * (step.progress.total - step.progress.done) / step.progress.done
    assert step.expected[1] - step.expected[0] == pytest.approx(left_s)


def test_without_an_earlier_run_nothing_is_expected() -> None:
    line = laid("serve", 40.0, earlier=None)
    assert line.expected_end is None
    assert all(step.stage is not Stage.TO_COME and step.expected is None for step in line.steps)
    assert line.late_s == 0.0


def test_late_is_amber_from_fifteen_seconds_and_fifteen_per_cent() -> None:
    step = Step(name="x", stage=Stage.DONE, seconds=50.0, before_s=36.0)
    assert not step.is_late
    assert replace(step, seconds=51.5).is_late
    assert not replace(step, seconds=216.0, before_s=200.0).is_late


def test_a_running_phase_is_late_only_once_it_is() -> None:
    step = Step(name="x", stage=Stage.NOW, seconds=10.0, before_s=30.0)
    assert step.delta_s is None
    assert replace(step, seconds=31.0).delta_s == pytest.approx(1.0)


def test_a_failed_phase_is_marked_and_what_never_came_has_no_time() -> None:
    line = laid("oom", 48.0, exit_code=1)
    steps = by_name(line)
    assert steps["cuda_graph"].stage is Stage.FAILED
    assert steps["warmup"].stage is Stage.TO_COME
    assert steps["warmup"].seconds is None
    assert line.now == pytest.approx(47.0, abs=1.5)


def test_ready_ends_the_axis_where_it_arrived() -> None:
    line = laid("serve", 300.0)
    assert line.now == pytest.approx(86.8, abs=1.0)
    assert not [step for step in line.steps if step.stage is Stage.NOW]


def test_what_was_read_at_once_stands_where_its_log_says() -> None:
    """Who attaches late gets all of it in one moment."""
    one, _ = startups.followed("serve", 300.0, earlier=None)
    at_once = startups.read_at_once("serve", 300.0)
    late = timeline(at_once, started_s=one.started_s + 300.0, now_s=one.started_s + 300.0)
    live = timeline(one.startup, started_s=one.started_s, now_s=one.started_s + 300.0)
    assert late.now == pytest.approx(live.now, abs=2.5)
    for a, b in zip(late.steps, live.steps, strict=True):
        assert a.name == b.name
        assert a.seconds == pytest.approx(b.seconds, abs=2.5)


def test_phases_of_the_earlier_run_that_this_one_skips_stay_in_their_order() -> None:
    before = PastRun(
        key="k", command="", recorded_at="", outcome="ready",
        phases=tuple(PastPhase(name=name, seconds=1.0) for name in ("launch", "compile", "warmup")),
    )  # fmt: skip
    line = laid("serve", 3.0, earlier=before)
    assert [step.name for step in line.steps] == ["launch", "compile", "warmup"]
