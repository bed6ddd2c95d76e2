"""How a cleanup is called at its end: zero only where it was proven, and the worst counts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.lines import order_line, plan_line, report_line
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.progress import Fate
from gpudash.core.cleanup.reports import Close, Done, Report, Sent
from gpudash.core.cleanup.results import HostResult, Stop, joint_code, result_of
from gpudash.core.cleanup.timing import Times, after_report, after_sample
from gpudash.core.cleanup.unfinished import unfinished_of
from gpudash.core.errors import ExitCode
from gpudash.core.model import Host, Problem
from gpudash.core.record import Line, Record, encode, parse_record
from tests.core.cleanup.making import GIB, Box
from tests.core.cleanup.test_run import RUN, Play

HOST = Host(name="gpu-a")
GONE = Problem(title="gone", sentence="It is gone.", exit_code=ExitCode.UNREACHABLE)


def result(play: Play, **changes: Any) -> HostResult:
    told: dict[str, Any] = {"times": Times(), "hold": None, "problem": None, "proof": None}
    return result_of(HOST, play.state, **{**told, "stop": None, **changes})


def test_a_plan_alone_is_what_the_gpus_read() -> None:
    found = result(Play().planned())
    assert (found.exit_code, found.outcome) == (ExitCode.HELD, Outcome.HELD)
    assert not found.was_sent


def test_zero_without_a_proof_is_unknown() -> None:
    play = Play().ended().sampled(0, 0).planned(Box())
    found = result(play)
    assert {ending.outcome for ending in found.endings} == {Outcome.UNKNOWN}
    assert found.exit_code is ExitCode.UNKNOWN


def test_what_was_ordered_and_not_looked_at_again_is_unknown() -> None:
    found = result(Play().ended())
    assert {ending.outcome for ending in found.endings} == {Outcome.UNKNOWN}
    assert "not looked at" in found.endings[0].reason


def test_who_is_still_there_is_named() -> None:
    play = Play().running().reports(Sent(family=0, pid=300, signal="TERM"))
    play.reports(Done(why=Close.ABORTED))
    found = result(play)
    (family,) = found.families
    assert (family.outcome, family.was_picked) == (Outcome.HELD, True)
    assert "pid 300" in family.reason


def test_a_refusal_is_2_and_touched_nobody() -> None:
    play = Play().planned().agreed().recorded()
    play.feed(ev.Declined(run=RUN, reason="locked by pid 7"))
    found = result(play)
    assert (found.exit_code, found.refused) == (ExitCode.USAGE, "locked by pid 7")
    assert joint_code([found]) is ExitCode.USAGE


def test_who_could_not_be_reached_ends_with_its_own_code() -> None:
    found = result(Play().feed(ev.Cancelled()), problem=GONE)
    assert (found.exit_code, found.says) == (ExitCode.UNREACHABLE, "It is gone")


@pytest.mark.parametrize(
    ("stop", "code"),
    [
        (Stop.INTERRUPTED, ExitCode.INTERRUPTED),
        (Stop.TIMED_OUT, ExitCode.TIMED_OUT),
        (Stop.DECLINED, ExitCode.USAGE),
    ],
)
def test_why_it_was_stopped_is_the_code(stop: Stop, code: ExitCode) -> None:
    assert result(Play().planned().feed(ev.Cancelled()), stop=stop).exit_code is code


def test_the_worst_host_counts_and_a_refusal_beside_others_is_what_it_reads() -> None:
    held = result(Play().planned())
    clean = replace(held, exit_code=ExitCode.OK, was_sent=True)
    refused = replace(held, exit_code=ExitCode.USAGE, refused="locked by pid 7", was_sent=True)
    gone = replace(held, exit_code=ExitCode.UNREACHABLE)
    assert joint_code([clean, held]) is ExitCode.HELD
    assert joint_code([clean, held, gone]) is ExitCode.UNREACHABLE
    assert joint_code([clean, refused]) is ExitCode.HELD
    assert joint_code([refused, refused]) is ExitCode.USAGE
    assert joint_code([]) is ExitCode.UNKNOWN


def test_times_are_kept_once() -> None:
    times = Times(confirmed_s=10.0)
    report = Report(run=RUN, number=0, host_s=1.0, told=Sent(family=0, pid=3, signal="TERM"))
    times = after_report(after_report(times, report, 11.0), report, 12.0)
    times = after_sample(times, (("GPU-0", 0), ("GPU-1", None)), 12.5)
    times = after_sample(times, (("GPU-0", 0), ("GPU-1", 0)), 13.0)
    times = after_sample(times, (("GPU-0", 0), ("GPU-1", 0)), 14.0)
    since = times.since_confirmed()
    assert (since["first_signal_s"], since["first_zero_s"], since["proven_s"]) == (1.0, 3.0, None)


# -- orders without an end ---------------------------------------------------------------------


def record(run: str, *lines: Line) -> Record:
    data = b"".join(
        encode(line, run=run, number=number, utc="2026-11-29T12:06:42.123Z")
        for number, line in enumerate(lines)
    )
    return parse_record(run, data)


def ordered() -> Line:
    order = Play().planned().agreed().state.order
    assert order is not None
    return order_line(order, "gpu-a", 1)


def test_an_order_without_an_end_is_unfinished() -> None:
    first = "20261129T120642Z-clean-3f2a"
    (found,) = unfinished_of([record(first, ordered())])
    assert (found.run, found.host) == (first, "gpu-a")
    assert [target.identity.pid for target in found.targets] == [300, 301, 302]
    assert {target.fate for target in found.targets} == {Fate.UNTOUCHED}


@pytest.mark.parametrize("kind", ["released", "forgotten", "refused"])
def test_whoever_learnt_of_its_end_closes_it(kind: str) -> None:
    first, second = "20261129T120642Z-clean-3f2a", "20261129T120742Z-clean-0001"
    end = Line(kind=kind, says="x", host="gpu-a")
    assert unfinished_of([record(first, ordered(), end)]) == ()
    later = Line(kind=kind, says="x", host="gpu-a", details={"of": first})
    assert unfinished_of([record(second, later), record(first, ordered())]) == ()
    elsewhere = Line(kind=kind, says="x", host="gpu-b", details={"of": first})
    assert len(unfinished_of([record(second, elsewhere), record(first, ordered())])) == 1


def test_what_was_fetched_and_not_released_is_still_to_be_let_go() -> None:
    first = "20261129T120642Z-clean-3f2a"
    fetched, released = (
        Line(kind=kind, says="x", host="gpu-a") for kind in ("fetched", "released")
    )
    (found,) = unfinished_of([record(first, ordered(), fetched)])
    assert found.is_fetched
    assert unfinished_of([record(first, ordered(), fetched, released)]) == ()


@pytest.mark.parametrize("targets", [None, 7, {}, [7], [{"pid": "x"}], [{"pid": 1}], [{"pid": 9}]])
def test_a_damaged_order_has_no_targets(targets: object) -> None:
    line = Line(kind="order", says="x", host="gpu-a", details={"targets": targets})
    (found,) = unfinished_of([record("20261129T120642Z-clean-3f2a", line)])
    assert found.targets == ()


def test_no_line_of_a_cleanup_carries_a_command_line() -> None:
    box = Box()
    box.add(300, "python", "train.py", "--token=hunter2", parent=60, memory={0: GIB})
    play = Play(box).planned().agreed()
    (shown,) = play.all_of(ev.ShowPlan)
    assert isinstance(shown, ev.ShowPlan)
    assert "hunter2" not in json.dumps(dict(plan_line(shown.plan, "").details))
    report = Report(run=RUN, number=0, host_s=1.0, told=Sent(family=0, pid=300, signal="TERM"))
    assert report_line(report, "gpu-a", None).details == {
        "report": 0,
        "pid": 300,
        "signal": "TERM",
    }
