"""Orders carry no more than what was agreed to, and everything that the hand needs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.checked import InvalidLine
from gpudash.core.cleanup.consent import Given, chosen
from gpudash.core.cleanup.orderrows import order_row
from gpudash.core.cleanup.orders import Order, Step, Targets, forced, order_of
from gpudash.core.cleanup.plan import Plan, asks_again
from gpudash.core.cleanup.reports import (
    Began,
    Close,
    Done,
    Exited,
    Joined,
    Ran,
    Refusal,
    Refused,
    Sent,
    StepEnded,
    Survivor,
    Waiting,
    report_of,
)
from gpudash.core.holding import Identity
from tests.core.cleanup.making import CID, GIB, SHELL, YES, Box

NAMES = {f"GPU-{index}": f"0000:{index:02x}:00.0" for index in range(8)}


def order(plan: Plan, agreed: Given = YES, **changes: Any) -> Order:
    picked = chosen(plan, agreed)
    return order_of(plan, picked, run="r1", host_now_s=5010.0, gpu_names=NAMES, **changes)


def serving(**changes: Any) -> Box:
    box = Box()
    box.add(300, "python", "-m", "sglang.launch_server", parent=SHELL, **changes)
    for rank in (0, 1):
        box.add(301 + rank, f"sglang::scheduler_TP{rank}", parent=300, memory={rank: GIB})
    return box


# -- steps -------------------------------------------------------------------------------------


def test_the_root_is_asked_once_then_who_outlives_it_then_all_are_forced() -> None:
    (family,) = order(serving().plan()).families
    assert [member.pid for member in family.members] == [300, 301, 302]
    assert family.roots == 1
    asks, survivors, kill = family.steps
    assert asks == Step(signal="TERM", to=Targets.ROOTS, wait_s=3.0)
    assert (survivors.to, survivors.is_after_gone, survivors.wait_s) == (Targets.REST, True, 2.0)
    assert (kill.signal, kill.to, kill.rounds) == ("KILL", Targets.ALL, 3)


def test_no_member_is_asked_twice_by_the_steps_of_one_order() -> None:
    for step in order(serving().plan()).families[0].steps[:-1]:
        assert step.to in (Targets.ROOTS, Targets.REST)


def test_a_force_is_one_kill() -> None:
    (family,) = order(serving().plan(), is_forced=True).families
    assert [step.signal for step in family.steps] == ["KILL"]


def test_who_does_not_end_when_asked_is_not_asked() -> None:
    box = serving()
    argv = ("python", "-m", "sglang.launch_server", "--node-rank", "1")
    box.add(300, *argv, parent=SHELL)
    assert [step.signal for step in order(box.plan()).families[0].steps] == ["KILL"]


def test_the_grace_of_the_request_counts() -> None:
    assert order(serving().plan(grace_s=7.0)).families[0].steps[0].wait_s == 7.0


def test_ray_goes_in_its_own_order() -> None:
    box = Box()
    box.add(300, "/opt/ray/raylet", "--x", parent=SHELL)
    box.add(301, "ray::train", parent=300, memory={0: GIB})
    box.add(302, "/opt/ray/gcs_server", parent=300)
    (family,) = order(box.plan()).families
    pids = [[family.members[at].pid for at in step.to] for step in family.steps[:-1]]  # type: ignore[union-attr]
    assert pids == [[300], [301], [302]]


def test_helpers_get_a_second_and_no_more() -> None:
    box = Box()
    box.dead(0, 300)
    box.add(301, "pt_data_worker", opens=(0,), session=300, group=300)
    asks, rest, _ = order(box.plan()).families[0].steps
    assert (asks.wait_s, rest.wait_s) == (1.0, 1.0)


def test_the_drain_is_scaled_to_the_memory_on_the_host_and_capped() -> None:
    for host_bytes, seconds in ((0, 10.0), (243_000_000_000, 46.45), (4 * 10**12, 180.0)):
        box = Box()
        box.add(300, "python", "t.py", memory={0: GIB}, parent=SHELL, rss_bytes=host_bytes)
        assert order(box.plan()).families[0].steps[-1].wait_s == pytest.approx(seconds)


def test_the_deadline_covers_every_step() -> None:
    made = order(serving().plan())
    steps = made.families[0].steps
    longest = sum(step.wait_s + step.settle_s for step in steps) + made.families[0].save_s
    assert made.deadline_s == pytest.approx(5010.0 + longest + 10.0)


def test_a_managed_family_is_a_command_and_no_signal() -> None:
    box = Box()
    box.add(300, "python", "s.py", memory={0: GIB}, cgroup=f"/docker/{CID}")
    (family,) = order(box.plan(), replace(YES, manages=True)).families
    assert family.commands == (("docker", "stop", "-t", "10", CID[:12]),)
    assert family.commands_s == 20.0
    assert (family.members, family.steps) == ((), ())
    row = order_row(order(box.plan(), replace(YES, manages=True)))
    assert row["families"] == [{"f": 0, "run": [list(family.commands[0])], "for": 20.0}]


def test_what_was_protected_is_asked_and_never_forced() -> None:
    box = Box()
    box.add(300, "nvidia-cuda-mps-server", memory={0: GIB}, comm="nvidia-cuda-mps")
    assert box.plan().families == ()
    plan = box.plan(allowed=frozenset({"nvidia-cuda-mps"}))
    for made in (order(plan), order(plan, is_forced=True)):
        assert "KILL" not in [step.signal for step in made.families[0].steps]
    assert forced(order(plan), host_now_s=5020.0).families == order(plan).families


def test_forcing_one_under_way_keeps_its_members_and_kills() -> None:
    before = order(serving().plan())
    after = forced(before, host_now_s=5020.0)
    assert after.families[0].members == before.families[0].members
    assert [step.signal for step in after.families[0].steps] == ["KILL"]
    assert after.run == before.run


@pytest.mark.parametrize("cgroup", ["/slurm/uid_1000/job_42/step_0", "/kubepods/pod12ab"])
def test_an_order_past_a_printed_manager_is_our_bug(cgroup: str) -> None:
    box = Box()
    box.add(300, "python", "s.py", memory={0: GIB}, cgroup=cgroup)
    plan = box.plan()
    with pytest.raises(ValueError, match="not to be touched"):
        order_of(plan, frozenset({plan.families[0].id}), run="r", host_now_s=1.0, gpu_names=NAMES)


def test_an_order_for_nobody_is_our_bug() -> None:
    with pytest.raises(ValueError, match="somebody"):
        order_of(Box().plan(), frozenset(), run="r", host_now_s=1.0, gpu_names=NAMES)


def test_the_row_is_json_and_complete() -> None:
    row = json.loads(json.dumps(order_row(order(serving().plan()))))
    assert (row["v"], row["run"], row["boot"], row["uid"]) == (1, "r1", "boot-1", 1000)
    (family,) = row["families"]
    assert family["members"][0] == [300, 1300, 1000, [8, 400]]
    assert family["gpus"] == ["0000:00:00.0", "0000:01:00.0"]
    assert family["steps"][1] == {
        "send": "TERM",
        "to": "rest",
        "roots": 1,
        "wait": 2.0,
        "settle": 0.25,
        "after": "gone",
        "rounds": 1,
    }


# -- asking again ------------------------------------------------------------------------------


def again(old: Box, new: Box, *, at_s: float = 110.0) -> str:
    plan = old.plan()
    return asks_again(plan, new.plan(at_s=at_s), chosen(plan, YES), at_s)


def test_the_same_plan_is_not_asked_for_again() -> None:
    assert again(serving(), serving()) == ""
    assert serving().plan().digest == serving().plan(at_s=999.0).digest


def test_an_old_plan_is() -> None:
    assert again(serving(), serving(), at_s=130.0) == ""
    assert "31 s" in again(serving(), serving(), at_s=131.0)


def test_who_went_away_is_no_reason() -> None:
    new = serving()
    del new.processes[302]
    new.listed[1].clear()
    assert again(serving(), new) == ""


def test_a_new_holder_is() -> None:
    new = serving()
    new.add(303, "sglang::scheduler_TP2", parent=300, memory={1: GIB})
    assert "pid 303" in again(serving(), new)


def test_a_new_helper_without_a_gpu_is_none() -> None:
    new = serving()
    new.add(303, "python", "-c", "x", parent=300)
    assert again(serving(), new) == ""


def test_a_pid_used_again_is_nobody_of_the_plan() -> None:
    """The family's root is another process by its start: it is not chosen, and not in the order."""
    old, new = serving(), Box()
    new.add(300, "python", "other.py", parent=SHELL, memory={0: GIB}, start_ticks=9999)
    plan, fresh = old.plan(), new.plan(at_s=110.0)
    assert chosen(plan, YES) & {family.id for family in fresh.families} == frozenset()
    assert plan.digest != fresh.digest


def test_a_member_that_became_another_program_is() -> None:
    new = serving()
    new.add(301, "sglang::scheduler_TP0", parent=300, memory={0: GIB}, exe=(8, 401))
    assert "pid 301" in again(serving(), new)


def test_a_family_that_came_to_need_more_is() -> None:
    old, new = Box(), Box()
    old.add(300, "sglang::scheduler_TP0", memory={0: GIB})
    new.add(300, "sglang::scheduler_TP0", memory={0: GIB}, cpu_share=0.9)
    assert again(old, new) != ""


def test_another_boot_is() -> None:
    new = serving()
    new.scan_changes["boot_id"] = "boot-2"
    assert "anew" in again(serving(), new)


# -- reports -----------------------------------------------------------------------------------

TOLD = [
    ({"what": "begun", "polled": 2}, Began(polled=2)),
    (
        {"what": "refused", "f": 0, "pid": 300, "why": "changed"},
        Refused(family=0, pid=300, why=Refusal.CHANGED),
    ),
    ({"what": "sent", "f": 0, "pid": 300, "sig": "TERM"}, Sent(family=0, pid=300, signal="TERM")),
    (
        {"what": "sent", "f": 0, "pid": 300, "sig": "KILL", "by": "pid"},
        Sent(family=0, pid=300, signal="KILL", is_by_pid=True),
    ),
    (
        {"what": "joined", "f": 0, "who": [9, 8, 7, [1, 2]], "parent": 300, "comm": "py"},
        Joined(
            family=0,
            identity=Identity(pid=9, start_ticks=8, uid=7, exe=(1, 2)),
            parent=300,
            comm="py",
        ),
    ),
    ({"what": "exited", "f": 0, "pid": 300}, Exited(family=0, pid=300)),
    ({"what": "step", "f": 0, "s": 1, "left": 2}, StepEnded(family=0, step=1, left=2)),
    (
        {
            "what": "waiting",
            "left": [[0, 1]],
            "survivors": [
                {"f": 0, "pid": 300, "state": "D", "where": "x", "cpu": 5, "rss": None}
                | {"pending": True, "blocked": 1}
            ],
        },
        Waiting(
            left=((0, 1),),
            survivors=(
                Survivor(
                    family=0,
                    pid=300,
                    state="D",
                    where="x",
                    cpu_ticks=5,
                    rss_bytes=None,
                    is_kill_pending=True,
                    blocked=1,
                ),
            ),
        ),
    ),
    (
        {"what": "ran", "f": 0, "c": 0, "code": 1, "words": "no"},
        Ran(family=0, command=0, code=1, words="no"),
    ),
    ({"what": "done", "why": "deadline"}, Done(why=Close.DEADLINE)),
]


@pytest.mark.parametrize(("line", "told"), TOLD, ids=lambda value: str(value)[:24])
def test_a_report_is_read(line: dict[str, Any], told: object) -> None:
    report = report_of({"t": "order", "run": "r1", "n": 3, "at": 12.5, **line})
    assert (report.run, report.number, report.host_s) == ("r1", 3, 12.5)
    assert report.told == told


@pytest.mark.parametrize(("line", "told"), TOLD, ids=lambda value: str(value)[:24])
def test_a_report_without_a_field_is_none(line: dict[str, Any], told: object) -> None:
    whole = {"t": "order", "run": "r1", "n": 3, "at": 12.5, **line}
    optional = {"t", "polled", "left", "survivors", "code", "words", "by"}
    for name in whole.keys() - optional:
        with pytest.raises(InvalidLine):
            report_of({key: value for key, value in whole.items() if key != name})


@given(
    st.dictionaries(
        st.sampled_from(("what", "f", "pid", "sig", "who", "left", "n", "at", "run", "why")),
        st.one_of(
            st.sampled_from([line["what"] for line, _ in TOLD]),
            st.integers(-3, 3),
            st.lists(st.lists(st.integers(), max_size=4), max_size=4),
            st.none(),
        ),
    )
)
def test_no_line_breaks_the_reader(line: dict[str, object]) -> None:
    try:
        report_of(line)
    except InvalidLine:
        return
    assert line["what"] in [one["what"] for one, _ in TOLD]
