"""The proof, case by case: what holds, what suspends, what breaks, and what is said of it."""

from __future__ import annotations

from gpudash.core.proof import Moment, Phase, State
from tests.proof.driving import Driver


def test_a_hold_becomes_a_proof_and_asks_for_rate_and_scans() -> None:
    drive = Driver(hold_s=1.0)
    drive.tick(0, 0)
    assert drive.proof.state is State.HOLDING
    assert drive.rates == [0.25]
    assert drive.scans == ["start"]
    drive.ticks(3, 0, 0)
    assert drive.proof.state is State.HOLDING
    drive.tick(0, 0)
    assert drive.proof.is_proven
    assert drive.rates == [0.25, None]
    assert drive.moments == [Moment.BEGAN, Moment.PROVEN]
    evidence = drive.host.evidence
    assert evidence is not None
    assert (evidence.samples, evidence.held_s, evidence.longest_gap_s) == (5, 1.0, 0.25)
    assert evidence.uuids == ("GPU-0", "GPU-1")


def test_memory_in_the_hold_begins_it_anew() -> None:
    drive = Driver(hold_s=1.0, restarts=True)
    drive.ticks(4, 0, 0)
    drive.tick(0, 1)
    assert drive.host.phase is Phase.BROKEN
    drive.ticks(4, 0, 0)
    assert drive.proof.state is State.HOLDING
    drive.tick(0, 0)
    assert drive.proof.is_proven
