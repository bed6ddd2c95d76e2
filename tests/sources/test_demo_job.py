"""The scene of the whole job: when what is launched, what its hand says, what its log means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.config.markers import load_catalog
from gpudash.core import wire
from gpudash.core.errors import UsageError
from gpudash.core.events import Ack, LogTold, ProbeEvent, UrlTold
from gpudash.core.model import Owner
from gpudash.core.startup import tracker
from gpudash.core.startup.model import Arrived, Exited, Outcome
from gpudash.core.verify import Verdict, judge_fleet
from gpudash.sources.demo import parse_scenario
from gpudash.sources.demo.acts import AFTER_S, Scene
from gpudash.sources.demo.jobs import FAILED_S, READY_S, memory_mib
from gpudash.sources.demo.logs import Script
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.programs import TOKEN, Hand
from gpudash.sources.demo.scenes import machines
from tests.sources.demo_said import fleet_of, holders_of

JOBS = ("serve", "oom", "train")


def host(text: str = "startup") -> Machine:
    (machine,) = machines(parse_scenario(text), 0)
    return machine


def scene(machine: Machine) -> Scene:
    return next(one for one in machine.tenants if isinstance(one, Scene))


def told(hand: Hand, at_s: float, do: str = "", **arguments: Any) -> list[ProbeEvent]:
    data = TOKEN.encode() + b"\n"
    if do:
        data += hand.answer(wire.encode_command(3, do, **arguments), at_s)
    return wire.LineDecoder(TOKEN).feed(data + hand.pump(at_s))


def logs(events: list[ProbeEvent]) -> bytes:
    return b"".join(event.told.data for event in events if isinstance(event, LogTold))


def clean(machine: Machine, at_s: float) -> None:
    for pid, task in machine.tasks(at_s).items():
        if task.person.uid == 0 and pid > 40_000:
            machine.deeds.leave(pid, at_s)


def test_it_begins_with_leftovers_and_launches_nothing_until_they_are_gone() -> None:
    machine = host()
    found = holders_of(fleet_of("startup"), "gpu-a")
    assert found
    assert scene(machine).launch(10_000.0) is None
    clean(machine, 30.0)
    assert scene(machine).launch(30.0 + AFTER_S - 0.1) is None
    launch = scene(machine).launch(30.0 + AFTER_S)
    assert launch is not None
    assert (launch.job, launch.began_s) == ("serve", 30.0 + AFTER_S)


def test_each_act_follows_the_cleanup_of_the_one_before() -> None:
    machine = host()
    at_s, seen = 30.0, []
    clean(machine, at_s)
    for _ in range(4):
        at_s += AFTER_S + 60.0
        launch = scene(machine).launch(at_s)
        assert launch is not None
        seen.append((launch.job, launch.pid))
        clean(machine, at_s)
    assert [job for job, _ in seen] == ["serve", "oom", "train", "serve"]
    assert len({pid for _, pid in seen}) == 4


@pytest.mark.parametrize(
    ("text", "job"), [("ready", "serve"), ("failed", "oom"), ("training", "train")]
)
def test_an_act_can_be_the_first(text: str, job: str) -> None:
    machine = host(f"startup:{text}")
    launch = scene(machine).launch(5.0)
    assert launch is not None
    assert launch.job == job
    assert judge_fleet(fleet_of(f"startup:{text}", at_s=1.0)).verdict is Verdict.ZERO


def test_an_unknown_act_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        parse_scenario("startup:bang")
    assert "ready|failed|training" in (caught.value.hint or "")


@pytest.mark.parametrize("job", JOBS)
def test_its_log_means_what_the_act_is_called(job: str) -> None:
    state = tracker.Tracker(catalog=load_catalog())
    for one in Script(name=job, pid=51_102, unix_s=1.79e9).written():
        if one.at_s <= 120.0:
            state, _ = tracker.step(state, Arrived(data=one.data, at_s=one.at_s))
    if job == "oom":
        state, _ = tracker.step(state, Exited(code=1, at_s=FAILED_S))
    startup = tracker.snapshot(state)
    wanted = Outcome.FAILED if job == "oom" else Outcome.READY
    assert startup.outcome is wanted
    if job == "oom":
        assert startup.failure is not None
        assert (startup.failure.kind, startup.failure.rank) == ("cuda_oom", "TP5")
        assert startup.failure.phase == "cuda_graph"
        assert startup.failure.others == 2
    else:
        assert startup.ready_at_s == pytest.approx(READY_S[job], abs=2.0)


@pytest.mark.parametrize("job", JOBS)
@given(rank=st.integers(0, 7), at=st.floats(0.0, 200.0))
def test_memory_of_a_rank_never_shrinks_while_it_starts(job: str, rank: int, at: float) -> None:
    assert memory_mib(job, rank, at) <= memory_mib(job, rank, at + 0.5)


def test_the_hand_follows_a_log_to_the_byte() -> None:
    machine = host("startup:ready")
    launch = scene(machine).launch(5.0)
    assert launch is not None
    hand = Hand(machine)
    data = logs(told(hand, 9.0, "tail", of={"pid": launch.pid}))
    at_s = 9.0
    while (due_s := hand.due_s(at_s)) is not None and due_s < 60.0:
        at_s = due_s
        data += logs(told(hand, at_s))
    assert data == launch.script.text(at_s - launch.began_s)
    # A second one that knows the place gets what is behind it.
    again = told(Hand(machine), at_s, "tail", of={"pid": launch.pid}, **{"from": len(data) - 7})
    assert logs(again) == data[-7:]


def test_the_hand_tells_signs_of_life_and_the_end() -> None:
    machine = host("startup:failed")
    launch = scene(machine).launch(5.0)
    assert launch is not None
    hand = Hand(machine)
    signs = [
        event.told.signs
        for at_s in (20.0, 30.0, 2.0 + FAILED_S + 2.0)
        for event in told(hand, at_s, *(("tail",) if at_s == 20.0 else ()), of={"pid": launch.pid})
        if isinstance(event, LogTold) and event.told.signs is not None
    ]
    first, second, last = signs
    assert second.read_bytes > first.read_bytes
    assert len(first.pids) == 9
    assert (first.is_gone, last.is_gone, last.pids) == (False, True, frozenset())


def test_what_is_no_log_here_is_refused() -> None:
    (ack,) = told(Hand(host("startup:ready")), 9.0, "tail", of={"pid": 1})
    assert isinstance(ack, Ack)
    assert not ack.is_ok


@pytest.mark.parametrize(
    ("at_s", "status"),
    [(10.0, None), (2.0 + READY_S["serve"] - 1.0, 503), (2.0 + READY_S["serve"], 200)],
)
def test_the_url_answers_when_the_server_listens(at_s: float, status: int | None) -> None:
    machine = host("startup:ready")
    events = told(Hand(machine), at_s, "url", url="http://127.0.0.1:30000/ready", timeout_s=3)
    (answer,) = [event.answer for event in events if isinstance(event, UrlTold)]
    assert answer.status == status
    other = told(Hand(machine), at_s, "url", url="http://127.0.0.1:8000/", timeout_s=3)
    assert next(event.answer for event in other if isinstance(event, UrlTold)).status is None


def test_a_failed_start_leaves_its_ranks_behind() -> None:
    fleet = fleet_of("startup:failed", at_s=2.0 + FAILED_S + 1.0)
    kinds = {one.owner for one in holders_of(fleet, "gpu-a").values()}
    assert kinds <= {Owner.MINE, Owner.LEFTOVER}
    (machine,) = machines(parse_scenario("startup:failed"), 0)
    tasks = machine.tasks(2.0 + FAILED_S + 1.0)
    assert 51_102 not in tasks
    assert len([pid for pid in tasks if pid > 51_102]) == 8
