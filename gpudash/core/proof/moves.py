"""What each sign does to the proof of one host, once the table has said where it leads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudash.core.model import Host
from gpudash.core.proof.breaks import Break, BreakKind, break_of_link, break_of_verdict
from gpudash.core.proof.evidence import Evidence, Tick, basis_of, begin_evidence, grown, speaks_for
from gpudash.core.proof.naming import named
from gpudash.core.proof.phases import RUNNING, Phase, Sign, State
from gpudash.core.proof.signs import Reading
from gpudash.core.proof.talk import Effects, Moment, RequestScan, SetRate, Tell
from gpudash.core.proof.values import RATE_TICKS, HostProof, Policy
from gpudash.core.verify import HostVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One sign with all that is known of it."""

    policy: Policy
    reading: Reading
    host: Host
    """After the event."""
    at_s: float
    after: Phase
    """Where the table leads."""


Moved = tuple[HostProof, Effects]


def begin_hold(proof: HostProof, case: Case) -> Moved:
    """Begin a hold with this sample, or begin it anew."""
    judged, tick = _sample(case.reading)
    is_free = case.policy.free_bytes is not None
    basis = basis_of(judged.gpus, is_free=is_free)
    evidence = begin_evidence(case.host, judged.gpus, tick, basis)
    scan = proof.evidence.scan if proof.evidence else None
    if scan is not None and speaks_for(scan, evidence):
        evidence = replace(evidence, first_scan=scan)
    why = case.reading.why
    moment = Moment.ANEW if case.reading.sign is Sign.INTERRUPTED else Moment.BEGAN
    proof = replace(proof, phase=case.after, evidence=evidence, delay=why, unwatched_since_s=None)
    effects: Effects = (Tell(host=proof.name, moment=moment, evidence=evidence),)
    if not proof.is_fast:
        proof = replace(proof, is_fast=True, patience=RATE_TICKS)
        effects += (SetRate(host=proof.name, interval_s=case.policy.interval_s),)
    if evidence.first_scan is None:
        proof, asked = ask_scan(proof, "start")
        effects += asked
    return proof, effects


def go_on(proof: HostProof, case: Case) -> Moved:
    """Add one sample to the hold or the proof."""
    evidence = _with_sample(proof, case)
    if case.reading.sign is Sign.COMPLETES:
        return _prove(replace(proof, phase=case.after, evidence=evidence))
    is_late = case.reading.sign is Sign.LAGS
    if case.after is proof.phase:
        return replace(proof, evidence=evidence), ()
    moved = replace(
        proof,
        phase=case.after,
        evidence=evidence,
        unwatched_since_s=evidence.last.at_s if is_late else None,
        delay=case.reading.why,
    )
    moment = Moment.SUSPENDED if is_late else Moment.RESUMED
    return moved, (Tell(host=proof.name, moment=moment, evidence=evidence),)


def _with_sample(proof: HostProof, case: Case) -> Evidence:
    judged, tick = _sample(case.reading)
    assert proof.evidence is not None, "a hold is under way"
    basis = basis_of(judged.gpus, is_free=case.policy.free_bytes is not None)
    evidence = grown(proof.evidence, judged.gpus, tick, basis)
    if case.reading.sign is not Sign.COMPLETES:
        return evidence
    return replace(
        evidence,
        proven=tick,
        hold_samples=evidence.samples,
        hold_gap_s=evidence.longest_gap_s,
    )


def _sample(reading: Reading) -> tuple[HostVerdict, Tick]:
    assert reading.judged is not None, "only a sample is clear"
    assert reading.tick is not None, "only a sample is clear"
    return reading.judged, reading.tick


def _prove(proof: HostProof) -> Moved:
    effects: Effects = (Tell(host=proof.name, moment=Moment.PROVEN, evidence=proof.evidence),)
    proof, slower = slow_down(replace(proof, delay="", unwatched_since_s=None))
    proof, asked = ask_scan(proof, "end")
    return proof, (*effects, *slower, *asked)


def interrupt(proof: HostProof, case: Case) -> Moved:
    """Take a clear sample that does not go on with the ones before."""
    if case.after in RUNNING:
        if _is_rate_change(proof, case):
            quiet = replace(case, reading=replace(case.reading, sign=Sign.CLEAR, why=""))
            return begin_hold(replace(proof, patience=proof.patience - 1), quiet)
        return begin_hold(proof, case)
    broken = break_of_link(
        BreakKind.STALE,
        case.reading.why,
        case.host,
        case.at_s,
        proof.evidence,
        was_proven=True,
    )
    return _break(proof, case, broken)


def _is_rate_change(proof: HostProof, case: Case) -> bool:
    """Tell whether nothing but the slower rate of before lies between the first two samples."""
    _, tick = _sample(case.reading)
    first = proof.evidence
    if first is None or first.samples > 1 or not proof.patience:
        return False
    return tick.seq == first.last.seq + 1 and tick.host_s > first.last.host_s


def fail(proof: HostProof, case: Case) -> Moved:
    """Take a sample that is not clear, or the loss of what the readings came from."""
    if case.after is proof.phase:
        return proof, ()
    evidence = None if proof.phase is Phase.NONE else proof.evidence
    was_proven = proof.state is State.PROVEN
    reading = case.reading
    if reading.sign is Sign.LOST or reading.judged is None:
        broken = break_of_link(
            reading.kind, reading.why, case.host, case.at_s, evidence, was_proven=was_proven
        )
    else:
        broken = break_of_verdict(
            reading.judged,
            case.at_s,
            evidence,
            is_partial=reading.tick is None,
            was_proven=was_proven,
        )
    return _break(proof, case, named(broken, case.host, case.at_s))


def _break(proof: HostProof, case: Case, broken: Break) -> Moved:
    evidence = proof.evidence if broken.clear_s is not None else None
    effects: Effects = (
        Tell(host=proof.name, moment=Moment.BROKE, broken=broken, evidence=evidence),
    )
    moved = replace(proof, phase=case.after, broken=broken, delay="", unwatched_since_s=None)
    moved, slower = slow_down(moved)
    effects += slower
    if broken.delta_bytes is not None:
        moved, asked = ask_scan(moved, "break")
        effects += asked
    return moved, effects


def stall(proof: HostProof, case: Case) -> Moved:
    """Stand still: nothing comes, or this machine slept."""
    if case.after is proof.phase:
        return proof, ()
    evidence, reading = proof.evidence, case.reading
    has_slept = reading.sign is Sign.SLEPT
    moment = Moment.LAPSED if has_slept else Moment.SUSPENDED
    since_s = evidence.last.at_s if evidence is not None else case.at_s
    moved = replace(proof, phase=case.after, delay=reading.why, unwatched_since_s=since_s)
    effects: Effects = (Tell(host=proof.name, moment=moment, evidence=evidence),)
    moved, slower = slow_down(moved) if has_slept else (moved, ())
    return moved, (*effects, *slower)


def slow_down(proof: HostProof) -> Moved:
    """Give the faster rate back, where it was asked for."""
    if not proof.is_fast:
        return proof, ()
    return replace(proof, is_fast=False), (SetRate(host=proof.name, interval_s=None),)


def ask_scan(proof: HostProof, moment: str) -> Moved:
    """Ask for a scan, unless one is under way: its answer is taken for this moment too."""
    asked = () if proof.scans_for else (RequestScan(host=proof.name, moment=moment),)
    return replace(proof, scans_for=moment), asked


MOVES = {
    Sign.CLEAR: begin_hold,
    Sign.CONTINUES: go_on,
    Sign.LAGS: go_on,
    Sign.COMPLETES: go_on,
    Sign.INTERRUPTED: interrupt,
    Sign.NOT_CLEAR: fail,
    Sign.REFUSED: fail,
    Sign.LOST: fail,
    Sign.STALLED: stall,
    Sign.SLEPT: stall,
}
