"""The order of a launch: gates before the start, in one order, whatever happens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.errors import ExitCode
from gpudash.core.launch import happened as ev
from gpudash.core.launch.checks import Check, Kind, Result
from gpudash.core.launch.machine import Aim, IllegalEvent, State, begin, exit_code_of, step
from gpudash.core.launch.phases import TRANSITIONS, Phase

PORT = Check(name="port 80", kind=Kind.PORT_FREE)
GOOD = ev.Checked(results=(Result(check=PORT, is_ok=True, said="port 80 is free"),))
BAD = ev.Checked(results=(Result(check=PORT, is_ok=False, said="port 80 is taken by pid 7"),))
CLEAN = ev.Cleaned(exit_code=ExitCode.OK, says="2 GPUs at 0 MiB", was_sent=True, is_proven=True)
HELD = ev.Held(exit_code=ExitCode.OK, says="held")
STARTED = ev.Started(pid=77, log="/x.log")
READY = ev.BecameReady(says="READY")


def play(aim: Aim, *events: ev.Event) -> tuple[State, list[ev.Effect]]:
    state, effects = begin(aim)
    done = list(effects)
    for event in events:
        state, effects = step(state, event)
        done += effects
    return state, done


def names(effects: list[ev.Effect]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def test_the_whole_way() -> None:
    aim = Aim(cleans=True, proves=True, chooses=True)
    state, effects = play(aim, GOOD, CLEAN, HELD, GOOD, STARTED, READY)
    expected = ["Check", "Clean", "Prove", "Check", "Launch", "Follow", "Finish"]
    assert names(effects) == expected
    assert [one.is_last for one in effects if isinstance(one, ev.Check)] == [False, True]
    assert (exit_code_of(state), state.says) == (0, "READY")


def test_a_cleanups_own_proof_is_enough_for_zero() -> None:
    _, effects = play(Aim(cleans=True, proves=True), GOOD, CLEAN)
    assert names(effects) == ["Check", "Clean", "Check"]


def test_without_gates_it_is_checked_twice_and_launched() -> None:
    _, effects = play(Aim(), GOOD, GOOD)
    assert names(effects) == ["Check", "Check", "Launch"]


def test_a_failed_check_touches_nothing() -> None:
    state, effects = play(Aim(cleans=True, proves=True), BAD)
    assert names(effects) == ["Check", "Finish"]
    assert (exit_code_of(state), state.says) == (2, "port 80 is taken by pid 7")


def test_a_check_that_fails_at_last_says_what_was_cleaned() -> None:
    state, _ = play(Aim(cleans=True), GOOD, CLEAN, BAD)
    assert exit_code_of(state) == 2
    assert state.says == "port 80 is taken by pid 7; before: 2 GPUs at 0 MiB"


@pytest.mark.parametrize(
    ("aim", "events", "code"),
    [
        (Aim(cleans=True), (GOOD, ev.Cleaned(exit_code=ExitCode.USAGE, says="not agreed to",
                                             was_sent=False, is_proven=False)), 2),
        (Aim(cleans=True), (GOOD, ev.Cleaned(exit_code=ExitCode.STUCK, says="stuck",
                                             was_sent=True, is_proven=False)), 6),
        (Aim(proves=True), (GOOD, ev.Held(exit_code=ExitCode.TIMED_OUT, says="held")), 5),
        (Aim(), (ev.NotChecked(exit_code=ExitCode.UNREACHABLE, says="no"),), 3),
        (Aim(), (GOOD, GOOD, ev.NotStarted(exit_code=ExitCode.USAGE, says="no program")), 2),
        (Aim(), (GOOD, ev.Interrupted()), 130),
        (Aim(), (GOOD, GOOD, STARTED, ev.Interrupted()), 130),
        (Aim(), (GOOD, GOOD, STARTED, ev.FollowEnded(end=ev.End.FAILED, says="OOM")), 7),
        (Aim(), (GOOD, GOOD, STARTED, ev.Exited(code=0),
                 ev.FollowEnded(end=ev.End.FAILED, says="OOM")), 7),
        (Aim(), (GOOD, GOOD, STARTED, ev.Exited(code=3),
                 ev.FollowEnded(end=ev.End.OVER, says="ended with 3")), 7),
        (Aim(), (GOOD, GOOD, STARTED, ev.Exited(code=0),
                 ev.FollowEnded(end=ev.End.OVER, says="name its log")), 2),
        (Aim(), (GOOD, GOOD, STARTED, ev.Exited(code=None),
                 ev.FollowEnded(end=ev.End.OVER, says="nobody knows")), 7),
        (Aim(), (GOOD, GOOD, STARTED, ev.FollowEnded(end=ev.End.TIMED_OUT, says="late")), 5),
        (Aim(), (GOOD, GOOD, STARTED, ev.FollowEnded(end=ev.End.LOST, says="gone")), 3),
        (Aim(), (GOOD, GOOD, STARTED, ev.FollowEnded(end=ev.End.OVER, says="log gone")), 4),
        (Aim(stays=True), (GOOD, GOOD, STARTED, READY, ev.Exited(code=5),
                           ev.FollowEnded(end=ev.End.OVER, says="over")), 5),
        (Aim(stays=True), (GOOD, GOOD, STARTED, READY, ev.Exited(code=-15),
                           ev.FollowEnded(end=ev.End.FAILED, says="over")), 143),
        (Aim(stays=True), (GOOD, GOOD, STARTED, READY,
                           ev.FollowEnded(end=ev.End.FAILED, says="it failed")), 7),
        (Aim(stays=True), (GOOD, GOOD, STARTED, READY, ev.Interrupted()), 0),
        (Aim(stays=True), (GOOD, GOOD, STARTED, READY, ev.StopChosen(is_forced=True),
                           ev.Exited(code=-9), ev.StopEnded(says="ended")), 130),
    ],
)  # fmt: skip
def test_how_it_ends(aim: Aim, events: tuple[ev.Event, ...], code: int) -> None:
    state, effects = play(aim, *events)
    assert names(effects)[-1] == "Finish"
    assert exit_code_of(state) == code


def test_an_interruption_while_it_starts_is_asked_about_afterwards() -> None:
    _, effects = play(Aim(), GOOD, GOOD, ev.Interrupted(), STARTED)
    assert names(effects)[-2:] == ["Follow", "Ask"]


def test_an_interruption_while_cleaning_waits_for_its_end() -> None:
    state, effects = play(Aim(cleans=True), GOOD, ev.Interrupted())
    assert (state.phase, names(effects)[-1]) == (Phase.CLEANING, "CallOff")
    state, _ = step(state, CLEAN)
    assert (exit_code_of(state), state.pid) == (130, None)


# -- laws --------------------------------------------------------------------------------------

CODES = st.sampled_from(list(ExitCode))
EVENTS: st.SearchStrategy[ev.Event] = st.one_of(
    st.sampled_from([GOOD, GOOD, GOOD, BAD, CLEAN, HELD, STARTED, READY]),
    st.builds(ev.NotChecked, exit_code=CODES, says=st.just("x")),
    st.builds(
        ev.Cleaned, exit_code=CODES, says=st.just("x"), was_sent=st.booleans(),
        is_proven=st.booleans(),
    ),
    st.builds(ev.Held, exit_code=CODES, says=st.just("x")),
    st.builds(ev.NotStarted, exit_code=CODES, says=st.just("x")),
    st.builds(ev.Exited, code=st.sampled_from([0, 1, -9, None])),
    st.builds(ev.FollowEnded, end=st.sampled_from(list(ev.End)), says=st.just("x")),
    st.just(ev.Interrupted()),
    st.builds(ev.StopChosen, is_forced=st.booleans()),
    st.just(ev.StopEnded(says="x")),
)  # fmt: skip
AIMS = st.builds(
    Aim, cleans=st.booleans(), proves=st.booleans(), chooses=st.booleans(), stays=st.booleans()
)


@given(aim=AIMS, events=st.lists(EVENTS, max_size=30))
def test_nothing_starts_before_every_gate_passed_in_order(aim: Aim, events: list[ev.Event]) -> None:
    state, effects = begin(aim)
    told: list[object] = list(effects)
    for event in events:
        try:
            state, effects = step(state, event)
        except IllegalEvent:
            assert (state.phase, type(event)) not in TRANSITIONS
            continue
        told += [event, *effects]
    names = [type(one).__name__ for one in told]
    bad = next((at for at, one in enumerate(told) if one is BAD), len(told))
    assert "Clean" not in names[bad:], "nobody is cleaned after a check that failed"
    if "Launch" not in names:
        return
    before = told[: names.index("Launch")]
    assert bad >= len(before)
    gates = [one for one in before if isinstance(one, ev.Checked | ev.Cleaned | ev.Held)]
    expected: list[type[object]] = [ev.Checked]
    expected += [ev.Cleaned] if aim.cleans else []
    is_proven = any(isinstance(one, ev.Cleaned) and one.is_proven for one in gates)
    if aim.chooses or (aim.proves and not is_proven):
        expected.append(ev.Held)
    assert [type(one) for one in gates] == [*expected, ev.Checked]
    for one in gates:
        if isinstance(one, ev.Cleaned | ev.Held):
            assert one.exit_code is ExitCode.OK
    assert not any(isinstance(one, ev.Interrupted) for one in before)


@given(aim=AIMS, events=st.lists(EVENTS, max_size=30))
def test_it_starts_once_and_finishes_once(aim: Aim, events: list[ev.Event]) -> None:
    state, effects = begin(aim)
    told = list(effects)
    for event in events:
        if (state.phase, type(event)) in TRANSITIONS:
            state, effects = step(state, event)
            told += effects
    counts = [type(one).__name__ for one in told]
    assert counts.count("Launch") <= 1
    assert counts.count("Clean") <= 1
    assert counts.count("Finish") == (1 if state.is_over else 0)
    if state.is_over:
        assert state.says or state.exit_code in (ExitCode.OK, None)


def test_what_a_phase_does_not_know_changes_nothing() -> None:
    state, _ = begin(Aim())
    with pytest.raises(IllegalEvent):
        step(state, STARTED)
