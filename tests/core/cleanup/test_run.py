"""The machine of a cleanup: nothing leaves before its time, and nobody is left untold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.phases import TRANSITIONS, Phase
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.progress import Fate
from gpudash.core.cleanup.reports import (
    Began,
    Close,
    Done,
    Exited,
    Joined,
    Refusal,
    Refused,
    Report,
    Sent,
    StepEnded,
    Survivor,
    Told,
    Waiting,
)
from gpudash.core.cleanup.run import IllegalEvent, step
from gpudash.core.cleanup.state import State, Step, begin
from gpudash.core.holding import Identity
from tests.core.cleanup.making import GIB, SHELL, YES, Box

RUN = "r1"
NAMES = {"GPU-0": "0000:00:00.0", "GPU-1": "0000:01:00.0"}


def serving(**changes: Any) -> Box:
    box = Box()
    box.add(300, "python", "-m", "sglang.launch_server", parent=SHELL, **changes)
    for rank in (0, 1):
        box.add(301 + rank, f"sglang::scheduler_TP{rank}", parent=300, memory={rank: GIB})
    return box


@lru_cache(maxsize=8)
def planned_once(box: Box) -> Plan:
    """Plan a host that does not change any more; making plans is what costs here."""
    return box.plan()


EMPTY = Box()
SERVING = serving()
OTHER = Box()
OTHER.add(300, "python", "other.py", parent=SHELL, memory={0: GIB}, start_ticks=7)


class Play:
    """A cleanup that is played event by event; time and the host's clock go together."""

    def __init__(self, box: Box | None = None, **options: Any) -> None:
        self.box = box or SERVING
        self.now_s = 100.0
        self.effects: list[ev.Effect] = []
        self.state, effects = begin(RUN, NAMES, **options)
        self.effects += effects
        self.told = 0

    def feed(self, *events: ev.Event) -> Play:
        for event in events:
            self.state, effects = step(self.state, event)
            self.effects += effects
        return self

    def plan(self, box: Box | None = None) -> Plan:
        return replace(planned_once(box or self.box), created_s=self.now_s)

    def planned(self, box: Box | None = None) -> Play:
        return self.feed(ev.Planned(plan=self.plan(box), at_s=self.now_s, host_s=self.now_s + 1000))

    def agreed(self, agreed: Given = YES, digest: str = "") -> Play:
        assert self.state.plan is not None
        shown = digest or self.state.plan.digest
        return self.feed(
            ev.Confirmed(given=agreed, at_s=self.now_s, host_s=self.now_s + 1000, digest=shown)
        )

    def recorded(self) -> Play:
        return self.feed(ev.Recorded(serial=self.state.orders))

    def reports(self, *told: Told) -> Play:
        for one in told:
            report = Report(run=RUN, number=self.told, host_s=self.now_s + 1000, told=one)
            self.told += 1
            self.feed(ev.Reported(report=report))
        return self

    def sampled(self, *used: int | None) -> Play:
        pairs = tuple((f"GPU-{index}", size) for index, size in enumerate(used))
        return self.feed(ev.Sampled(used=pairs, at_s=self.now_s, host_s=self.now_s + 1000))

    def running(self) -> Play:
        return self.planned().agreed().recorded().feed(ev.Taken(run=RUN))

    def ended(self) -> Play:
        self.running().reports(Began(polled=0), Sent(family=0, pid=300, signal="TERM"))
        return self.reports(
            *(Exited(family=0, pid=pid) for pid in (301, 302, 300)), Done(why=Close.FINISHED)
        )

    def all_of(self, kind: type[ev.Effect]) -> list[ev.Effect]:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    @property
    def fates(self) -> dict[int, Fate]:
        return {target.identity.pid: target.fate for target in self.state.targets}

    @property
    def outcomes(self) -> list[Outcome]:
        return [ending.outcome for ending in self.state.endings]


# -- the way through ---------------------------------------------------------------------------


def test_the_whole_way() -> None:
    play = Play().ended()
    assert play.state.phase is Phase.DRAINING
    play.sampled(GIB, 0)
    assert play.state.phase is Phase.DRAINING
    play.sampled(0, 0)
    assert play.state.phase is Phase.RESCANNING
    play.planned(Box())
    assert play.state.phase is Phase.HOLDING
    assert play.effects[-1] == ev.StartProof(
        hold_s=2.0, why="every holder was known and seen to end"
    )
    play.feed(ev.ProofEnded(is_proven=True))
    assert play.state.phase is Phase.DONE
    assert play.outcomes == [Outcome.CLEANED, Outcome.CLEANED]
    assert set(play.fates.values()) == {Fate.ENDED}
    assert len(play.all_of(ev.SendOrder)) == 1
    assert len(play.all_of(ev.DropReports)) == 1


def test_an_order_waits_until_it_is_durable() -> None:
    play = Play().planned().agreed()
    assert len(play.all_of(ev.Record)) == 1
    assert play.all_of(ev.SendOrder) == []
    assert len(play.recorded().all_of(ev.SendOrder)) == 1
    assert len(play.recorded().all_of(ev.SendOrder)) == 1


def test_who_agreed_to_nothing_is_done_at_once() -> None:
    play = Play().planned().agreed(Given())
    assert play.state.phase is Phase.DONE
    assert play.outcomes == [Outcome.HELD, Outcome.HELD]
    assert play.all_of(ev.Record) == []


def test_a_yes_to_another_plan_than_the_one_shown_is_none() -> None:
    play = Play().planned().agreed(digest="another")
    assert play.state.phase is Phase.PLANNED
    assert play.all_of(ev.Record) == []
    assert len(play.all_of(ev.ShowPlan)) == 2


def test_a_plan_of_some_age_is_compared_with_a_fresh_scan() -> None:
    play = Play().planned()
    play.now_s += 10
    play.agreed()
    assert play.all_of(ev.Record) == []
    play.planned()
    assert len(play.all_of(ev.Record)) == 1


def test_a_plan_older_than_30_s_asks_again() -> None:
    play = Play().planned()
    play.now_s += 31
    play.agreed().planned()
    assert play.state.phase is Phase.PLANNED
    assert play.all_of(ev.Record) == []
    assert play.state.given is None


def test_a_new_holder_asks_again_and_its_order_is_of_what_was_shown() -> None:
    play = Play().planned()
    play.now_s += 10
    grown = serving()
    grown.add(303, "sglang::scheduler_TP2", parent=300, memory={1: GIB})
    play.agreed().planned(grown)
    assert play.state.phase is Phase.PLANNED
    play.agreed()
    assert 303 in play.fates


def test_a_helper_born_since_is_not_in_the_order() -> None:
    play = Play().planned()
    play.now_s += 10
    grown = serving()
    grown.add(303, "python", "-c", "x", parent=300)
    play.agreed().planned(grown)
    assert sorted(play.fates) == [300, 301, 302]


def test_a_family_that_went_away_meanwhile_is_nobodys_order() -> None:
    play = Play().planned()
    play.now_s += 10
    play.agreed().planned(Box())
    assert play.state.phase is Phase.DONE
    assert play.all_of(ev.Record) == []


def test_a_second_cleaner_is_told_and_nothing_is_touched() -> None:
    play = Play().planned().agreed().recorded()
    play.feed(ev.Declined(run=RUN, reason="locked by pid 812"))
    assert play.state.phase is Phase.DONE
    assert play.state.declined == "locked by pid 812"
    assert set(play.fates.values()) == {Fate.UNTOUCHED}


# -- while it runs -----------------------------------------------------------------------------


def test_phases_follow_the_signals() -> None:
    play = Play().running()
    assert play.state.phase is Phase.BOUND
    play.reports(Began(polled=0))
    assert play.state.phase is Phase.BOUND
    play.reports(Sent(family=0, pid=300, signal="TERM"))
    assert play.state.phase is Phase.TERMINATING
    play.reports(StepEnded(family=0, step=0, left=1), Sent(family=0, pid=300, signal="KILL"))
    assert play.state.phase is Phase.KILLING
    play.reports(Sent(family=0, pid=301, signal="KILL"))
    assert play.fates == {300: Fate.FORCED, 301: Fate.FORCED, 302: Fate.UNTOUCHED}


def test_who_refused_and_who_joined_is_told() -> None:
    heir = Identity(pid=399, start_ticks=9, uid=1000, exe=None)
    play = (
        Play()
        .running()
        .reports(
            Refused(family=0, pid=301, why=Refusal.CHANGED),
            Refused(family=0, pid=302, why=Refusal.GONE),
            Joined(family=0, identity=heir, parent=300, comm="python"),
            Sent(family=0, pid=399, signal="KILL"),
        )
    )
    assert play.fates == {
        300: Fate.UNTOUCHED,
        301: Fate.REFUSED,
        302: Fate.ENDED,
        399: Fate.FORCED,
    }


def test_a_force_is_a_new_order_and_durable_first() -> None:
    play = Play().running().feed(ev.Forced(at_s=101.0, host_s=1101.0))
    assert len(play.all_of(ev.Record)) == 2
    assert len(play.all_of(ev.SendOrder)) == 1
    play.recorded()
    (_, forced) = play.all_of(ev.SendOrder)
    assert isinstance(forced, ev.SendOrder)
    assert [one.signal for one in forced.order.families[0].steps] == ["KILL"]
    play.feed(ev.Forced(at_s=102.0, host_s=1102.0))
    assert len(play.all_of(ev.Record)) == 2


def test_escape_stops_and_goes_on_to_see() -> None:
    play = Play().running().feed(ev.Aborted())
    assert play.effects[-1] == ev.SendAbort(run=RUN)
    play.reports(Done(why=Close.ABORTED)).sampled(GIB, GIB)
    assert play.state.phase is Phase.RESCANNING
    assert play.planned(serving()).outcomes == [Outcome.HELD, Outcome.HELD]


def survivor(ticks: int = 5, **changes: Any) -> Survivor:
    values: dict[str, Any] = {"state": "D", "where": "uvm_lock", "blocked": 1}
    values |= {"rss_bytes": 10, "is_kill_pending": True}
    return Survivor(family=0, pid=301, cpu_ticks=ticks, **(values | changes))


def watch(play: Play, *looks: Survivor, seconds: float = 1.0) -> Play:
    for look in looks:
        play.reports(Waiting(left=((0, 1),), survivors=(look,)))
        play.now_s += seconds
    return play


def killed() -> Play:
    return Play().running().reports(Sent(family=0, pid=301, signal="KILL"))


def test_stuck_is_one_that_stands_still_with_sigkill_pending() -> None:
    play = watch(killed(), survivor(), survivor())
    assert play.fates[301] is Fate.FORCED
    watch(play, survivor())
    assert play.fates[301] is Fate.STUCK
    play.reports(Done(why=Close.DEADLINE))
    play.now_s += 11
    still_there = serving()
    assert play.sampled(GIB, GIB).planned(still_there).outcomes[0] is Outcome.STUCK
    assert "pid 301" in play.state.endings[0].reason


@pytest.mark.parametrize(
    "looks",
    [
        [survivor(), survivor(), survivor(6), survivor(6)],
        [survivor(), survivor(), survivor(state="R", blocked=0), survivor(), survivor()],
        [survivor(is_kill_pending=False)] * 5,
        [survivor(state="S", blocked=0)] * 5,
    ],
)
def test_a_moment_is_not_stuck(looks: list[Survivor]) -> None:
    assert watch(killed(), *looks).fates[301] is Fate.FORCED


def test_three_looks_within_a_moment_are_not_enough() -> None:
    assert watch(killed(), *[survivor()] * 5, seconds=0.3).fates[301] is Fate.FORCED


def test_two_looks_are_not_enough() -> None:
    assert watch(killed(), *[survivor()] * 2, seconds=5.0).fates[301] is Fate.FORCED


def test_nobody_is_stuck_while_memory_comes_back() -> None:
    play = killed().sampled(GIB, GIB)
    for left in (9, 8, 7, 6):
        watch(play, survivor())
        play.sampled(left * GIB // 10, GIB)
    assert play.fates[301] is Fate.FORCED


def test_who_was_stuck_and_ends_is_ended() -> None:
    play = watch(killed(), *[survivor()] * 4)
    assert play.fates[301] is Fate.STUCK
    assert play.reports(Exited(family=0, pid=301)).fates[301] is Fate.ENDED


# -- drain, return, hold -----------------------------------------------------------------------


def test_memory_is_waited_for_no_longer_than_it_can_take() -> None:
    play = Play().ended().sampled(GIB, 0)
    play.now_s += 10.4
    assert play.sampled(GIB, 0).state.phase is Phase.DRAINING
    play.now_s += 1
    assert play.sampled(GIB, 0).state.phase is Phase.RESCANNING
    left = Box()
    left.used[0] = GIB
    assert play.planned(left).outcomes == [Outcome.UNATTRIBUTED, Outcome.CLEANED]


def test_an_unread_gpu_is_no_drained_one() -> None:
    assert Play().ended().sampled(None, 0).state.phase is Phase.DRAINING


def test_what_others_hold_is_not_waited_for() -> None:
    box = serving()
    box.add(400, "python", "t.py", uid=1001, memory={0: GIB})
    play = Play(box).ended()
    assert play.sampled(GIB, 0).state.phase is Phase.RESCANNING


def test_a_family_that_came_back_is_named_with_who_starts_it() -> None:
    box = Box()
    box.add(290, "/bin/bash", "loop.sh", comm="bash", parent=SHELL)
    box.add(300, "python", "s.py", parent=290, memory={0: GIB})
    play = Play(box).running()
    play.reports(Sent(family=0, pid=300, signal="TERM"), Exited(family=0, pid=300))
    play.reports(Done(why=Close.FINISHED)).sampled(0, 0).planned(Box())
    assert play.effects[-1] == ev.StartProof(hold_s=10.0, why="a script may start it again")
    play.feed(ev.ProofEnded(is_proven=False))
    again = Box()
    again.add(290, "/bin/bash", "loop.sh", comm="bash", parent=SHELL)
    again.add(377, "python", "s.py", parent=290, memory={0: GIB})
    play.planned(again)
    assert play.state.phase is Phase.DONE
    assert play.outcomes == [Outcome.RESPAWNING, Outcome.CLEANED]
    assert "pid 290 (bash)" in play.state.endings[0].reason


def test_another_program_afterwards_is_no_return() -> None:
    other = Box()
    other.add(377, "python", "other.py", parent=SHELL, memory={0: GIB})
    play = Play().ended().sampled(0, 0).planned(other)
    assert play.outcomes == [Outcome.HELD, Outcome.CLEANED]


def test_a_proof_that_broke_for_a_moment_is_started_anew_and_longer() -> None:
    play = Play().ended().sampled(0, 0).planned(Box()).feed(ev.ProofEnded(is_proven=False))
    play.planned(Box())
    assert play.state.phase is Phase.HOLDING
    assert isinstance(play.effects[-1], ev.StartProof)
    assert play.effects[-1].hold_s == 10.0


def test_the_hold_that_was_asked_for_counts() -> None:
    play = Play(hold_s=60.0).ended().sampled(0, 0).planned(Box())
    assert play.effects[-1] == ev.StartProof(hold_s=60.0, why="as asked for")


# -- the link ----------------------------------------------------------------------------------


def test_a_link_that_comes_back_asks_for_what_is_missing() -> None:
    play = Play().running().reports(Began(polled=0), Sent(family=0, pid=300, signal="TERM"))
    play.feed(ev.LinkCut(), ev.LinkBack())
    assert play.effects[-1] == ev.FetchReports(run=RUN, first=2)


def test_a_gap_in_the_reports_is_asked_for_and_nothing_is_skipped() -> None:
    play = Play().running()
    late = Report(run=RUN, number=3, host_s=1.0, told=Exited(family=0, pid=300))
    play.feed(ev.Reported(report=late))
    assert play.effects[-1] == ev.FetchReports(run=RUN, first=0)
    assert play.fates[300] is Fate.UNTOUCHED


def test_a_report_twice_counts_once() -> None:
    play = Play().running().reports(Began(polled=0))
    again = Report(run=RUN, number=0, host_s=1.0, told=Done(why=Close.FINISHED))
    assert play.feed(ev.Reported(report=again)).state.phase is Phase.BOUND


def test_what_became_durable_while_the_link_was_cut_is_not_sent_blindly() -> None:
    play = Play().planned().agreed().feed(ev.LinkCut()).recorded()
    assert play.all_of(ev.SendOrder) == []
    play.now_s += 60
    play.feed(ev.LinkBack()).planned()
    assert play.state.phase is Phase.PLANNED
    assert play.all_of(ev.SendOrder) == []


def test_a_host_that_knows_nothing_any_more_leaves_its_targets_unknown() -> None:
    play = Play().running().reports(Began(polled=0), Exited(family=0, pid=300))
    play.feed(ev.LinkCut(), ev.LinkBack(), ev.Forgotten(run=RUN))
    assert play.state.phase is Phase.RESCANNING
    assert play.fates == {300: Fate.ENDED, 301: Fate.UNKNOWN, 302: Fate.UNKNOWN}


# -- the table and the law ---------------------------------------------------------------------


def test_an_event_out_of_place_raises_and_changes_nothing() -> None:
    state, _ = begin(RUN, NAMES)
    with pytest.raises(IllegalEvent, match="Forced while scanning"):
        step(state, ev.Forced(at_s=1.0, host_s=1.0))
    done = replace(state, phase=Phase.DONE)
    with pytest.raises(IllegalEvent):
        step(done, ev.LinkBack())


def test_every_phase_can_be_reached_and_left_but_the_last() -> None:
    reached = {to for ways in TRANSITIONS.values() for to in ways}
    left = {phase for (phase, _), ways in TRANSITIONS.items() if set(ways) - {phase}}
    assert reached == set(Phase)
    assert left == set(Phase) - {Phase.DONE}


def _events(play: Play) -> dict[str, Callable[[], object]]:
    heir = Identity(pid=399, start_ticks=9, uid=1000, exe=None)
    return {
        "planned": play.planned,
        "other plan": lambda: play.planned(OTHER),
        "empty plan": lambda: play.planned(EMPTY),
        "agreed": play.agreed,
        "agreed to little": lambda: play.agreed(Given(is_confirmed=True)),
        "agreed to another": lambda: play.agreed(digest="x"),
        "recorded": play.recorded,
        "recorded before": lambda: play.feed(ev.Recorded(serial=play.state.orders - 1)),
        "taken": lambda: play.feed(ev.Taken(run=RUN)),
        "declined": lambda: play.feed(ev.Declined(run=RUN, reason="x")),
        "term": lambda: play.reports(Sent(family=0, pid=300, signal="TERM")),
        "kill": lambda: play.reports(Sent(family=0, pid=301, signal="KILL")),
        "heir": lambda: play.reports(Joined(family=0, identity=heir, parent=300, comm="x")),
        "exit": lambda: play.reports(Exited(family=0, pid=301)),
        "stuck": lambda: watch(play, survivor()),
        "done": lambda: play.reports(Done(why=Close.FINISHED)),
        "zero": lambda: play.sampled(0, 0),
        "held": lambda: play.sampled(GIB, GIB),
        "force": lambda: play.feed(ev.Forced(at_s=play.now_s, host_s=1.0)),
        "abort": lambda: play.feed(ev.Aborted()),
        "cancel": lambda: play.feed(ev.Cancelled()),
        "cut": lambda: play.feed(ev.LinkCut()),
        "back": lambda: play.feed(ev.LinkBack()),
        "forgotten": lambda: play.feed(ev.Forgotten(run=RUN)),
        "proven": lambda: play.feed(ev.ProofEnded(is_proven=True)),
        "broken": lambda: play.feed(ev.ProofEnded(is_proven=False)),
        "time": lambda: setattr(play, "now_s", play.now_s + 12),
    }


NAMES_OF_EVENTS = sorted(_events(Play()))
USUAL = ("planned", "agreed", "recorded", "taken", "term", "heir", "kill", "exit", "done", "zero")


@st.composite
def sequences(draw: st.DrawFn) -> list[str]:
    """Return the usual way with parts left out and anything at all in between."""
    names: list[str] = []
    between = st.lists(st.sampled_from(NAMES_OF_EVENTS), max_size=2)
    for usual in (*USUAL, "empty plan", "proven"):
        names += draw(between)
        names += [usual] if draw(st.integers(0, 9)) else []
    return names + draw(st.lists(st.sampled_from((*NAMES_OF_EVENTS, *USUAL)), max_size=12))


@given(sequences())
@settings(max_examples=300, deadline=None)
def test_no_order_leaves_before_its_time_or_beyond_its_plan(names: list[str]) -> None:
    play = Play()
    shown: Plan | None = None
    agreed: set[Identity] = set()
    durable: set[int] = set()
    seen = 0
    sent = 0
    for name in names:
        before = play.state
        confirmed = name == "agreed" and before.phase is Phase.PLANNED and shown is not None
        try:
            _events(play)[name]()
        except (IllegalEvent, AssertionError):
            assert play.state == before
            continue
        if confirmed and shown is not None:
            agreed |= {one.identity for family in shown.families for one in family.members}
        if name == "recorded":
            durable.add(before.orders)
        for effect in play.effects[seen:]:
            match effect:
                case ev.ShowPlan(plan=plan):
                    shown, agreed = plan, set()
                case ev.SendOrder(order=order):
                    sent += 1
                    members = {one for family in order.families for one in family.members}
                    assert members <= agreed
                    assert play.state.orders in durable
                    assert play.state.is_linked
        seen = len(play.effects)
        # Nobody is signalled without an order that left.
        signalled = {Fate.ASKED, Fate.FORCED, Fate.STUCK}
        assert sent or not signalled & set(play.fates.values())
    note(f"orders sent: {sent}")
    note(f"ended as {play.state.phase.value}")


def test_a_step_is_a_value() -> None:
    state, effects = begin(RUN, NAMES)
    assert isinstance(state, State)
    made: Step = step(state, ev.LinkCut())
    assert made == step(state, ev.LinkCut())
    assert effects == (ev.Scan(),)
