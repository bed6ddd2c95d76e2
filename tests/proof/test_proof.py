"""The proof, case by case: what holds, what suspends, what breaks, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.baselines import Baseline, Baselines
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.events import (
    Bye,
    Event,
    Fault,
    Garbled,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkSlept,
    LinkStale,
    LinkUp,
)
from gpudash.core.events import Scanned as EventScanned
from gpudash.core.holding import PROBE_MARK, Existence
from gpudash.core.model import Problem
from gpudash.core.proof import (
    Basis,
    BreakKind,
    IllegalEvent,
    Moment,
    Observed,
    Phase,
    Policy,
    Restart,
    Scanned,
    Settle,
    State,
    Stop,
    begin,
    break_sentence,
    step,
)
from gpudash.core.proof.phases import TABLE, Sign
from gpudash.core.proof.phases import Phase as AnyPhase
from gpudash.core.scope import parse_scope
from tests.core.making import GIB, HOST, ack, failed, hello, info, process, reading, roster
from tests.proof.driving import BOOT_S, Driver, scan_of

MIB = 1 << 20
ZERO = (0, 0)


def proven(**policy: object) -> Driver:
    drive = Driver(hold_s=1.0, **policy)
    drive.ticks(5, 0, 0)
    assert drive.proof.is_proven
    return drive


# -- holding -----------------------------------------------------------------------------------


def test_a_hold_becomes_a_proof_and_asks_for_rate_and_scans() -> None:
    drive = Driver(hold_s=1.0)
    drive.tick(*ZERO)
    assert drive.proof.state is State.HOLDING
    assert drive.rates == [0.25]
    assert drive.scans == ["start"]
    drive.ticks(3, *ZERO)
    assert drive.proof.state is State.HOLDING
    drive.tick(*ZERO)
    assert drive.proof.is_proven
    assert drive.proof.is_over
    assert drive.proof.exit_code is ExitCode.OK
    assert drive.rates == [0.25, None]
    assert drive.moments == [Moment.BEGAN, Moment.PROVEN]
    evidence = drive.host.evidence
    assert evidence is not None
    assert (evidence.samples, evidence.held_s, evidence.longest_gap_s) == (5, 1.0, 0.25)
    assert evidence.uuids == ("GPU-0", "GPU-1")
    assert evidence.first.host_s == BOOT_S + 0.25
    assert evidence.first.at_s == 0.25
    assert evidence.driver == "580.159.04"
    assert evidence.basis is Basis.ZERO


def test_a_hold_needs_four_samples_a_second() -> None:
    drive = Driver(hold_s=2.0)
    for _ in range(4):
        drive.tick(*ZERO, after_s=0.6)
    assert drive.host.held_s == pytest.approx(1.8)
    drive.tick(*ZERO, after_s=0.6)
    assert drive.host.held_s > 2.0
    assert drive.proof.state is State.HOLDING
    drive.ticks(2, *ZERO)
    assert drive.proof.state is State.HOLDING
    drive.tick(*ZERO)
    assert drive.proof.is_proven


def test_memory_in_the_hold_begins_it_anew_where_that_was_asked_for() -> None:
    drive = Driver(hold_s=1.0, restarts=True)
    drive.ticks(4, *ZERO)
    drive.tick(0, 1)
    assert drive.host.phase is Phase.BROKEN
    assert drive.rates == [0.25, None]
    drive.ticks(4, *ZERO)
    assert drive.proof.state is State.HOLDING
    drive.tick(*ZERO)
    assert drive.proof.is_proven
    assert drive.broken.kind is BreakKind.CLAIM


def test_memory_in_the_hold_ends_a_proof_that_is_tried_once() -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(4, *ZERO)
    drive.tick(0, 1)
    drive.ticks(9, *ZERO)
    assert drive.proof.state is State.BROKEN
    assert drive.proof.is_over
    assert drive.proof.exit_code is ExitCode.HELD


@pytest.mark.parametrize(
    ("used", "code"),
    [
        ((0, 5), ExitCode.HELD),
        ((0, failed(15)), ExitCode.UNKNOWN),
        ((0, failed(16)), ExitCode.STUCK),
        ((0, reading(0, recovery_action=1)), ExitCode.STUCK),
        ((0, reading(0, process(7, None))), ExitCode.UNKNOWN),
        ((5, failed(15)), ExitCode.UNKNOWN),
        ((0,), ExitCode.UNKNOWN),
    ],
)
def test_what_is_not_clear_from_the_start_is_refused(used: tuple[int, ...], code: int) -> None:
    drive = Driver(hold_s=1.0)
    drive.tick(*used)
    assert drive.proof.is_over
    assert drive.proof.exit_code is code
    assert drive.broken.clear_s is None
    assert "was clear" not in break_sentence(drive.broken)


def test_an_unreachable_host_ends_a_proof_that_is_tried_once() -> None:
    drive = Driver(hold_s=1.0)
    problem = Problem(title="no", sentence="No route.", exit_code=ExitCode.UNREACHABLE)
    drive.tell(LinkDown(problem=problem))
    assert drive.proof.is_over
    assert drive.proof.exit_code is ExitCode.UNREACHABLE
    assert break_sentence(drive.broken) == "No route"


def test_one_that_waits_goes_on_waiting_for_a_host_that_is_down() -> None:
    drive = Driver(hold_s=1.0, restarts=True)
    drive.tell(LinkDown(problem=Problem(title="no", sentence="No route.")))
    assert drive.proof.state is State.NONE
    assert not drive.proof.is_over
    drive.reconnect()
    drive.ticks(5, *ZERO)
    assert drive.proof.is_proven


# -- gaps --------------------------------------------------------------------------------------


def test_a_gap_of_three_intervals_is_none_and_one_more_is() -> None:
    drive = Driver(hold_s=1.0)
    drive.tick(*ZERO)
    drive.tick(*ZERO, after_s=0.75)
    assert drive.host.held_s == 0.75
    drive.tick(*ZERO, after_s=0.751)
    assert drive.host.held_s == 0.0
    assert drive.moments[-1] is Moment.ANEW
    assert drive.host.delay == "readings 0.8 s apart"


def test_the_rate_of_before_is_no_failure_of_the_hold() -> None:
    """The faster rate counts only from when it is there: up to two samples come at the old one."""
    drive = Driver(hold_s=1.0)
    drive.tick(*ZERO)
    drive.tick(*ZERO, after_s=1.0)
    drive.tick(*ZERO, after_s=1.0)
    assert drive.host.held_s == 0.0
    drive.ticks(2, *ZERO)
    assert (drive.host.held_s, drive.host.delay) == (0.5, "")
    assert Moment.ANEW not in drive.moments
    drive.ticks(2, *ZERO)
    assert drive.proof.is_proven


def test_readings_that_stay_too_far_apart_are_told() -> None:
    drive = Driver(hold_s=1.0)
    drive.tick(*ZERO)
    for _ in range(3):
        drive.tick(*ZERO, after_s=0.9)
    assert drive.moments[-1] is Moment.ANEW
    assert drive.host.delay == "readings 0.9 s apart"


def test_a_missing_sample_begins_the_hold_anew() -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(4, *ZERO)
    drive.tick(*ZERO, skip=1)
    assert drive.proof.state is State.HOLDING
    assert drive.host.held_s == 0.0
    assert drive.host.delay == "1 reading missing"


def test_a_stalled_link_suspends_and_goes_on_when_all_that_is_missing_came() -> None:
    drive = Driver(hold_s=4.0)
    drive.ticks(3, *ZERO)
    drive.at_s += 2.0
    drive.tell(LinkStale())
    assert drive.host.phase is Phase.SUSPENDED
    assert drive.host.unwatched_since_s == 0.75
    assert drive.proof.state is State.HOLDING
    for number in range(8):
        drive.tick(*ZERO, after_s=0.0, late_s=1.75 - number * 0.25)
    assert drive.host.phase is Phase.HOLDING
    assert drive.host.held_s == 2.5
    drive.ticks(6, *ZERO)
    assert drive.proof.is_proven
    assert drive.moments == [Moment.BEGAN, Moment.SUSPENDED, Moment.RESUMED, Moment.PROVEN]


def test_what_was_read_long_ago_completes_no_proof() -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(3, *ZERO)
    drive.at_s += 10.0
    for number in range(33):
        drive.tick(*ZERO, after_s=0.0, late_s=9.75 - number * 0.25)
        assert drive.host.phase is Phase.SUSPENDED
    drive.tick(*ZERO, after_s=0.0, late_s=1.5)
    assert drive.proof.is_proven


def test_another_probe_has_another_way_and_what_waits_for_it_is_late_too() -> None:
    drive = Driver(hold_s=1.0, restarts=True)
    drive.ticks(5, *ZERO)
    drive.at_s += 20.0
    drive.tell(replace(hello(*roster(2), interval_s=0.25), host_monotonic_s=BOOT_S + drive.at_s))
    drive.seq[HOST] = 0
    drive.at_s += 3.0
    for number in range(12):
        drive.tick(*ZERO, after_s=0.0, late_s=2.75 - number * 0.25)
        assert drive.host.is_proven is (number >= 5)


def test_a_host_that_stood_still_for_a_moment_is_believed_again_in_time() -> None:
    drive = Driver(hold_s=1.0, restarts=True)
    drive.ticks(5, *ZERO)
    drive.at_s += 4.0
    late = [drive.tick(*ZERO, late_s=4.0) or drive.host.phase for _ in range(1200)]
    assert late[0] is Phase.UNWATCHED
    assert late[-1] is Phase.PROVEN
    anew = Driver(hold_s=1.0, restarts=True)
    anew.ticks(5, *ZERO)
    anew.at_s += 4.0
    anew.told(Restart())
    for _ in range(5):
        anew.tick(*ZERO, late_s=4.0)
    assert anew.proof.is_proven


def test_what_device_numbers_of_a_stand_in_explain_is_simulated() -> None:
    drive = proven()
    assert not drive.proof.is_simulated
    drive.scanned(replace(scan_of(at_s=BOOT_S + 1.3), is_simulated=True))
    assert drive.proof.is_simulated


def test_memory_among_the_late_samples_breaks_the_hold() -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(3, *ZERO)
    drive.tell(LinkStale())
    drive.at_s += 3.0
    drive.tick(*ZERO, after_s=0.0, late_s=2.75)
    drive.tick(0, 1, after_s=0.0, late_s=2.5)
    assert drive.proof.state is State.BROKEN


def test_the_hold_is_measured_on_the_clock_of_the_host() -> None:
    drive = Driver(hold_s=1.0)
    for number in range(1, 30):
        drive.at_s += 0.25
        drive.say(number, BOOT_S + number * 0.01, reading(0), reading(0))
    assert drive.proof.state is State.HOLDING
    assert drive.host.held_s == pytest.approx(0.28)


# -- what breaks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (Garbled(reason="r", excerpt=""), BreakKind.UNKNOWN),
        (Fault(call="nvmlDeviceGetMemoryInfo", code=None, hung_s=3.0), BreakKind.UNKNOWN),
        (Fault(call="nvmlInit", code=9, is_fatal=True), BreakKind.LINK),
        (LinkConnecting(), BreakKind.LINK),
        (LinkDown(problem=Problem(title="t", sentence="Gone.")), BreakKind.LINK),
        (LinkPaused(is_released=False), BreakKind.LINK),
        (hello(*roster(2)), BreakKind.RESTARTED),
        (hello(*roster(2), seq=4, boot_id="boot-2"), BreakKind.REBOOTED),
        (hello(*roster(2), seq=4, driver="590.1"), BreakKind.RESTARTED),
        (hello(*roster(1), seq=4), BreakKind.ROSTER),
        (hello(*roster(3), seq=4), BreakKind.ROSTER),
        (hello(seq=4), BreakKind.ROSTER),
    ],
    ids=str,
)
def test_what_ends_a_proof_beside_memory(event: Event, kind: BreakKind) -> None:
    drive = proven(restarts=True)
    drive.tell(event)
    assert drive.proof.state is State.BROKEN
    assert drive.broken.kind is kind
    assert drive.broken.was_proven
    assert not drive.broken.is_alarm
    assert break_sentence(drive.broken, "12:07:23").startswith("was clear for 1.0 s; ")
    holding = Driver(hold_s=1.0)
    holding.ticks(4, *ZERO)
    holding.tell(event)
    assert holding.proof.state is State.BROKEN
    assert holding.broken.kind is kind
    assert not holding.broken.was_proven


@pytest.mark.parametrize(
    "event",
    [
        LinkUp(transport="ssh"),
        Bye(reason="x"),
        ack(info(4)),
        Fault(call="nvmlDeviceGetUUID", code=3),
        hello(*roster(2), seq=4, interval_s=0.25),
    ],
    ids=str,
)
def test_what_says_nothing_of_memory_changes_nothing(event: Event) -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(4, *ZERO)
    drive.tell(event)
    drive.tick(*ZERO)
    assert drive.proof.is_proven


@pytest.mark.parametrize(
    ("used", "kind"),
    [
        (failed(15), BreakKind.GPU_LOST),
        (failed(16), BreakKind.RESET),
        (reading(0, recovery_action=3), BreakKind.RESET),
        (failed(999), BreakKind.UNKNOWN),
        (reading(0, process(3, None)), BreakKind.UNKNOWN),
        (reading(0, process(3, 1)), BreakKind.CLAIM),
        (1, BreakKind.CLAIM),
    ],
    ids=str,
)
def test_what_breaks_a_proof_on_a_gpu(used: int, kind: BreakKind) -> None:
    drive = proven()
    drive.tick(0, used)
    assert drive.broken.kind is kind
    assert drive.broken.gpus == (1,)
    assert drive.broken.gpu_uuid == "GPU-1"


def test_a_gap_after_the_proof_breaks_it_and_begins_anew() -> None:
    drive = proven(restarts=True)
    drive.tick(*ZERO, after_s=0.8)
    assert drive.host.phase is Phase.HOLDING
    assert drive.broken.kind is BreakKind.STALE
    assert drive.moments[-2:] == [Moment.BROKE, Moment.BEGAN]
    once = proven()
    once.tick(*ZERO, skip=2)
    assert once.proof.state is State.BROKEN


def test_after_the_proof_three_intervals_of_the_usual_rate_are_no_gap() -> None:
    drive = proven()
    drive.tell(hello(*roster(2), seq=5, interval_s=1.0))
    drive.tick(*ZERO, after_s=3.0)
    assert drive.proof.is_proven
    drive.tick(*ZERO, after_s=3.01)
    assert drive.proof.state is State.BROKEN


def test_a_proof_goes_on_after_a_stall_in_which_nothing_was_missed() -> None:
    drive = proven()
    drive.at_s += 2.0
    drive.tell(LinkStale())
    assert drive.host.phase is Phase.UNWATCHED
    assert not drive.proof.is_proven
    assert drive.proof.state is State.PROVEN
    for number in range(8):
        drive.tick(*ZERO, after_s=0.0, late_s=1.75 - number * 0.25)
    assert drive.proof.is_proven
    assert drive.host.held_s == 3.0


def test_sleep_ends_a_hold_and_lets_a_proof_lapse() -> None:
    drive = Driver(hold_s=1.0, restarts=True)
    drive.ticks(4, *ZERO)
    drive.tell(LinkSlept())
    assert drive.proof.state is State.NONE
    assert drive.rates[-1] is None
    lapsed = proven(restarts=True)
    lapsed.tell(LinkSlept())
    lapsed.at_s += 60.0
    lapsed.tell(LinkConnecting())
    assert lapsed.host.phase is Phase.LAPSED
    assert lapsed.proof.state is State.PROVEN
    assert not lapsed.proof.is_proven
    assert lapsed.host.unwatched_since_s == 1.25
    lapsed.reconnect()
    lapsed.ticks(5, *ZERO)
    assert lapsed.proof.is_proven
    assert lapsed.host.held_s == 1.0


# -- who it was --------------------------------------------------------------------------------


def test_a_launch_of_ones_own_is_named_and_no_alarm() -> None:
    drive = proven(restarts=True)
    drive.tick(0, reading(512 * MIB, process(4711, 500 * MIB)))
    assert drive.broken.kind is BreakKind.CLAIM
    assert not drive.broken.is_settled
    told = break_sentence(drive.broken, "12:07:23")
    assert told == "was clear for 1.0 s; GPU 1: +512 MiB, pid 4711 at 12:07:23"
    drive.tell(ack(info(4711, age_s=0.2)))
    assert drive.broken.kind is BreakKind.LAUNCH
    assert not drive.broken.is_alarm
    told = break_sentence(drive.broken, "12:07:23")
    who = "pid 4711 python train.py (ana)"
    assert told == f"was clear for 1.0 s; GPU 1: +512 MiB, {who} at 12:07:23"
    assert drive.moments[-2:] == [Moment.BROKE, Moment.NAMED]


def test_whose_a_claim_is() -> None:
    mine = proven()
    mine.tell(ack(info(4711, age_s=900.0)))
    mine.tick(0, reading(MIB, process(4711, MIB)))
    mine.tell(ack(info(4711, age_s=900.0)))
    assert mine.broken.kind is BreakKind.MINE
    foreign = proven()
    foreign.tick(0, reading(MIB, process(4711, MIB)))
    foreign.tell(ack(info(4711, uid=0, user="root", age_s=0.1)))
    assert foreign.broken.kind is BreakKind.FOREIGN
    assert foreign.broken.is_alarm


def test_a_pid_that_is_listed_a_moment_later_is_still_the_name() -> None:
    drive = proven()
    drive.tick(0, 512 * MIB)
    assert "by whom is asked" in break_sentence(drive.broken)
    drive.tick(0, reading(512 * MIB, process(4711, MIB)))
    drive.tell(ack(info(4711, age_s=0.1)))
    assert drive.broken.who is not None
    assert drive.broken.who.user == "ana"


def test_memory_that_nobody_is_listed_for_is_unexplained_after_a_while() -> None:
    drive = proven()
    drive.tick(0, 512 * MIB)
    drive.ticks(19, 0, 512 * MIB)
    assert not drive.broken.is_settled
    drive.tick(0, 512 * MIB)
    assert drive.broken.kind is BreakKind.UNEXPLAINED
    assert drive.broken.is_alarm
    assert break_sentence(drive.broken) == "was clear for 1.0 s; GPU 1: +512 MiB, nobody listed"


def test_a_scan_names_who_has_the_gpu_open() -> None:
    drive = proven()
    drive.scanned(None)
    drive.tick(0, 512 * MIB)
    assert drive.scans[-1] == "break"
    drive.scanned(scan_of((4711, "00000000:01:00.0"), (4712, "00000000:00:00.0")))
    told = break_sentence(drive.broken)
    assert "open by pid 4711 python worker.py (ana)" in told
    assert "4712" not in told


def test_who_keeps_the_memory_of_the_dead_is_named() -> None:
    drive = proven()
    drive.tick(0, reading(MIB, process(4711, MIB)))
    drive.tell(ack(gone=(4711,)))
    drive.tick(0, reading(MIB, process(4711, MIB)))
    assert not drive.broken.is_settled
    drive.tell(EventScanned(id=1, scan=scan_of((4712, "00000000:01:00.0"))))
    assert drive.broken.is_settled
    assert break_sentence(drive.broken) == (
        "was clear for 1.0 s; GPU 1: +1 MiB, pid 4711 is dead, "
        "its memory kept by pid 4712 python worker.py (ana)"
    )


def test_a_dead_pid_that_nobody_inherited_is_unexplained_in_the_end() -> None:
    drive = proven()
    drive.tick(0, reading(MIB, process(4711, MIB)))
    drive.tell(ack(gone=(4711,)))
    drive.ticks(21, 0, reading(MIB, process(4711, MIB)))
    assert drive.broken.kind is BreakKind.UNEXPLAINED
    assert break_sentence(drive.broken).endswith("+1 MiB, pid 4711 is dead")


def test_what_a_claim_grows_to_while_it_is_asked_for_counts() -> None:
    drive = proven()
    drive.tick(0, 1000)
    drive.tick(0, reading(512 * MIB, process(4711, MIB)))
    drive.tell(ack(info(4711, age_s=0.5)))
    assert "GPU 1: +512 MiB, pid 4711" in break_sentence(drive.broken)
    drive.tick(0, reading(900 * MIB, process(4711, MIB)))
    assert drive.broken.delta_bytes == 512 * MIB


def test_a_process_that_proc_hides_is_another_users() -> None:
    drive = proven()
    hidden = replace(scan_of(), listed=((4711, Existence.HIDDEN),))
    drive.tick(0, reading(MIB, process(4711, MIB)))
    drive.tell(EventScanned(id=1, scan=hidden))
    assert drive.broken.kind is BreakKind.FOREIGN
    assert "pid 4711, another user's, hidden by hidepid" in break_sentence(drive.broken)


def test_gpudash_itself_is_no_suspect_and_no_handle() -> None:
    drive = proven()
    ours = scan_of((4711, "00000000:01:00.0"), at_s=BOOT_S + 1.5)
    probe = replace(ours.processes[0], argv=("python3", "-ISBc", f"{PROBE_MARK}<(3,6)"))
    drive.scanned(replace(ours, processes=(probe,)))
    assert drive.host.evidence is not None
    assert drive.host.evidence.handles == ""
    drive.tick(0, 512 * MIB)
    drive.scanned(replace(ours, processes=(probe,)))
    assert drive.broken.suspects == ()


def test_a_pid_of_the_host_is_never_looked_up_from_inside() -> None:
    drive = Driver(hold_s=1.0, pid_namespace=77)
    drive.ticks(5, *ZERO)
    drive.tell(ack(info(4711)))
    drive.tick(0, reading(MIB, process(4711, MIB)))
    assert drive.broken.kind is BreakKind.UNEXPLAINED
    assert drive.broken.is_settled
    assert "host pid 4711" in break_sentence(drive.broken)
    assert "train.py" not in break_sentence(drive.broken)


# -- basis, scope, several hosts ---------------------------------------------------------------

ACCEPTED = Baselines(
    entries=(Baseline(uuid="GPU-1", driver="580.159.04", used_bytes=5 * MIB),),
)


def test_a_baseline_is_proven_as_one() -> None:
    drive = Driver(hold_s=1.0, baselines=ACCEPTED)
    drive.ticks(5, 0, 5 * MIB)
    assert drive.proof.is_proven
    assert drive.proof.basis is Basis.BASELINE
    evidence = drive.host.evidence
    assert evidence is not None
    assert evidence.gpus[1].baseline_bytes == 5 * MIB
    above = Driver(hold_s=1.0, baselines=ACCEPTED)
    above.ticks(4, 0, 5 * MIB)
    above.tick(0, 5 * MIB + 1)
    assert above.proof.state is State.BROKEN


def test_one_baseline_in_the_hold_makes_it_a_proof_of_a_baseline() -> None:
    drive = Driver(hold_s=1.0, baselines=ACCEPTED)
    drive.ticks(2, *ZERO)
    drive.tick(0, MIB)
    drive.ticks(2, *ZERO)
    assert drive.proof.basis is Basis.BASELINE


def test_enough_free_memory_is_a_basis_of_its_own() -> None:
    drive = Driver(hold_s=1.0, free_bytes=100 * GIB)
    drive.ticks(5, 40 * GIB, 0)
    assert drive.proof.is_proven
    assert drive.proof.basis is Basis.FREE
    drive.tick(40 * GIB + 1, 0)
    assert drive.proof.exit_code is ExitCode.HELD


def test_only_the_gpus_in_scope_count() -> None:
    drive = Driver(hold_s=1.0, scope=parse_scope("1"))
    drive.ticks(5, GIB, 0)
    assert drive.proof.is_proven
    assert drive.host.evidence is not None
    assert drive.host.evidence.uuids == ("GPU-1",)


def test_a_scope_that_names_no_gpu_is_an_error() -> None:
    drive = Driver(hold_s=1.0, scope=parse_scope("7"))
    before = drive.proof
    with pytest.raises(UsageError, match="no GPU 7"):
        drive.tick(*ZERO)
    assert drive.proof is before


def test_several_hosts_hold_each_on_its_own_and_are_proven_together() -> None:
    drive = Driver(hold_s=1.0, names=(HOST, "gpu-b"))
    drive.ticks(5, *ZERO)
    assert drive.proof.state is State.NONE
    assert drive.proof.host(HOST).is_proven
    drive.ticks(4, *ZERO, name="gpu-b")
    assert drive.proof.state is State.HOLDING
    drive.tick(*ZERO, name="gpu-b")
    assert drive.proof.is_proven
    drive.tick(0, 1, name="gpu-b")
    assert drive.proof.state is State.BROKEN
    assert drive.proof.host(HOST).is_proven


# -- names at the end --------------------------------------------------------------------------


def test_a_break_without_a_name_is_settled_when_nobody_asks_any_more() -> None:
    drive = proven()
    drive.tick(0, MIB)
    assert not drive.broken.is_settled
    drive.told(Settle())
    assert (drive.broken.is_settled, drive.broken.kind) == (True, BreakKind.UNEXPLAINED)
    assert drive.moments[-1] is Moment.NAMED
    assert break_sentence(drive.broken).endswith("GPU 1: +1 MiB, nobody listed")
    told = len(drive.effects)
    drive.told(Settle())
    assert len(drive.effects) == told


# -- scans -------------------------------------------------------------------------------------


def test_scans_tell_how_far_a_proof_sees() -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(3, *ZERO)
    drive.scanned(scan_of((4711, "00000000:01:00.0"), unreadable=131))
    drive.ticks(2, *ZERO)
    assert drive.scans == ["start", "end"]
    assert not drive.proof.is_explained
    assert drive.proof.reach.why == ("131 processes not readable",)
    drive.scanned(scan_of(at_s=BOOT_S + drive.at_s))
    assert drive.proof.is_explained
    assert drive.proof.reach.word == "full"
    assert drive.host.evidence is not None
    assert drive.host.evidence.first_scan is not None
    assert drive.host.evidence.handles == ""


def test_a_late_start_scan_is_followed_by_one_at_the_end() -> None:
    drive = proven()
    assert drive.scans == ["start"]
    drive.scanned(scan_of((4711, "00000000:01:00.0"), at_s=BOOT_S + 0.3))
    assert drive.scans == ["start", "end"]
    assert drive.host.evidence is not None
    assert drive.host.evidence.handles == "1 open handle, no memory: python 4711"
    drive.scanned(None)
    assert drive.proof.is_explained
    assert drive.proof.reach.word == "full"


def test_without_a_scan_the_reach_says_so() -> None:
    drive = proven()
    drive.scanned(None)
    assert drive.proof.reach.why == ("processes not scanned",)


def test_utilisation_that_stands_at_100_is_a_note() -> None:
    drive = Driver(hold_s=1.0)
    drive.ticks(5, 0, reading(0, utilisation_pct=100))
    assert drive.proof.is_proven
    assert drive.host.evidence is not None
    notes = ("GPU 1: utilisation reads 100 % with nothing held",)
    assert drive.host.evidence.notes == notes


# -- restart, stop, what can't be --------------------------------------------------------------


def test_a_restart_begins_anew_from_wherever_it_stands() -> None:
    drive = proven()
    drive.told(Restart())
    assert drive.proof.state is State.NONE
    drive.ticks(5, *ZERO)
    assert drive.proof.is_proven


def test_a_stop_gives_the_rate_back_and_ends_it() -> None:
    drive = Driver(hold_s=1.0)
    drive.tick(*ZERO)
    drive.told(Stop())
    assert drive.rates == [0.25, None]
    with pytest.raises(IllegalEvent, match="stopped"):
        drive.tick(*ZERO)


def test_what_cannot_be_raises_and_changes_nothing() -> None:
    drive = proven()
    before = drive.proof
    other = drive.fleet.hosts[0]
    with pytest.raises(IllegalEvent, match="runs back"):
        step(before, Observed(event=LinkStale(), host=other), drive.at_s - 0.1)
    with pytest.raises(IllegalEvent, match="no proof"):
        step(before, Scanned(host="elsewhere", scan=None), drive.at_s)
    with pytest.raises(IllegalEvent, match="no proof"):
        step(before, Restart(hosts=("elsewhere",)), drive.at_s)
    with pytest.raises(UsageError, match="hold"):
        begin(drive.fleet, Policy(hold_s=0.0), 0.0)
    assert drive.proof is before


def test_the_table_leaves_no_phase_without_a_way_on() -> None:
    always = {Sign.STALLED, Sign.LOST, Sign.SLEPT, Sign.RESTARTED, Sign.NOT_CLEAR}
    for phase in AnyPhase:
        assert always <= {sign for known, sign in TABLE if known is phase}
    assert {where for (phase, sign), where in TABLE.items() if where is Phase.PROVEN} == {
        Phase.PROVEN
    }
    into_proof = {pair for pair, where in TABLE.items() if where is Phase.PROVEN}
    assert into_proof == {
        (Phase.HOLDING, Sign.COMPLETES),
        (Phase.SUSPENDED, Sign.COMPLETES),
        (Phase.PROVEN, Sign.CONTINUES),
        (Phase.UNWATCHED, Sign.CONTINUES),
    }


def test_a_list_that_can_not_be_read_is_said_in_the_reach() -> None:
    driver = Driver(hold_s=1.0)
    blind = replace(reading(0), processes=None, processes_code=999)
    driver.scanned(scan_of(at_s=1000.25))
    driver.ticks(5, 0, blind)
    assert driver.host.is_proven
    (evidence,) = driver.proof.evidence
    assert evidence.unlisted == (1,)
    assert "who is listed on GPU 1 can't be read" in evidence.reach.why
