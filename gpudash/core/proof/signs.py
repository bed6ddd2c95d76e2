"""Reads an event as a sign for the proof of one host; the one place that says what counts.

A sample counts when it is complete, newer than all before and judged clear for every GPU in
scope. It goes on with a hold when it is the very next one (seq) of the same probe and boot, over
the same GPUs, and the host's own clock shows no gap. The viewer's clock decides nothing but
whether a sample is late: what was read long ago can't complete a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudash.core.errors import ExitCode, worst
from gpudash.core.events import (
    Ack,
    Bye,
    Fault,
    Foreseen,
    Garbled,
    HandTold,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkMeasured,
    LinkPaused,
    LinkSlept,
    LinkStale,
    LinkUp,
    OrderTold,
    Sample,
    Scanned,
)
from gpudash.core.model import GpuInfo, GpuState, Host, Link
from gpudash.core.proof.breaks import BreakKind
from gpudash.core.proof.evidence import Evidence, Tick
from gpudash.core.proof.phases import IDLE, RUNNING, Phase, Sign
from gpudash.core.proof.talk import Observed
from gpudash.core.proof.values import GAP_INTERVALS, HostProof, Policy
from gpudash.core.readings import held_bytes
from gpudash.core.units import format_memory, plural
from gpudash.core.verify import GpuVerdict, HostVerdict, judge_host

LATE_S = 1.5
"""A sample so much later than the quickest is one of a link that catches up."""
DRIFT = 0.01
"""So much a second the quickest delivery is forgotten: clocks run apart, and a machine that stood
still for some seconds is late from then on. 30 s of silence are 0.3 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An event, read."""

    sign: Sign
    judged: HostVerdict | None = None
    """None where the event judges nothing."""
    tick: Tick | None = None
    """Of a sample that counts."""
    kind: BreakKind = BreakKind.UNKNOWN
    """Of LOST: which loss."""
    why: str = ""
    """A clause for LOST, INTERRUPTED and STALLED."""
    greeted: Tick | None = None
    """When another probe or boot began: its clock is another one too."""
    decides: bool = False
    """A proof that is tried once is refused by it where no hold began yet."""


def sign_of(proof: HostProof, policy: Policy, observed: Observed, at_s: float) -> Reading | None:
    """Return what an event means; None for one that says nothing about memory.

    Raises UsageError when the scope names a GPU that this host does not have.
    """
    event, host = observed.event, observed.host
    match event:
        case Sample():
            return _sample_sign(proof, policy, event, host, at_s)
        case Hello():
            return _hello_sign(proof, policy, event, host, at_s)
        case LinkStale():
            return Reading(sign=Sign.STALLED, why="no line comes")
        case LinkSlept():
            return Reading(sign=Sign.SLEPT, why="this machine slept")
        case Fault():
            return _fault_sign(policy, event, host)
        case Garbled():
            why = f"a line was garbled: {event.reason}"
            return _lost(BreakKind.UNKNOWN, why, host, policy, decides=False)
        case LinkConnecting():
            return _lost(BreakKind.LINK, "connecting anew", host, policy, decides=False)
        case LinkDown():
            return _lost(BreakKind.LINK, event.problem.sentence, host, policy)
        case LinkPaused():
            return _lost(BreakKind.LINK, "paused", host, policy)
        case Ack() | Bye() | LinkUp() | LinkMeasured() | Scanned():
            return None
        case OrderTold() | HandTold() | Foreseen():
            return None
        case _:
            from typing import assert_never

            return assert_never(event)


def _lost(
    kind: BreakKind, why: str, host: Host, policy: Policy, *, decides: bool = True
) -> Reading:
    judged = judge_host(host, policy.scope, policy.baselines)
    clause = why.rstrip(".")
    return Reading(sign=Sign.LOST, kind=kind, why=clause, judged=judged, decides=decides)


def _fault_sign(policy: Policy, fault: Fault, host: Host) -> Reading | None:
    if fault.code is not None and not fault.is_fatal:
        return None
    why = host.problem.sentence if host.problem else "the driver does not answer"
    return _lost(BreakKind.LINK if fault.is_fatal else BreakKind.UNKNOWN, why, host, policy)


def _hello_sign(
    proof: HostProof, policy: Policy, hello: Hello, host: Host, at_s: float
) -> Reading | None:
    if not hello.roster:
        return _lost(BreakKind.ROSTER, "no GPUs found", host, policy)
    change = _change(proof, hello, host, policy)
    if change is None:
        return None
    lost = _lost(*change, host, policy, decides=False)
    if change[0] not in (BreakKind.RESTARTED, BreakKind.REBOOTED):
        return lost
    return replace(lost, greeted=Tick(seq=0, host_s=hello.host_monotonic_s, at_s=at_s))


def _change(
    proof: HostProof, hello: Hello, host: Host, policy: Policy
) -> tuple[BreakKind, str] | None:
    evidence = None if proof.phase in IDLE else proof.evidence
    if evidence is not None and hello.facts.boot_id != evidence.boot_id:
        return BreakKind.REBOOTED, "the host was started anew"
    if hello.seq == 0:
        return BreakKind.RESTARTED, "the probe began anew"
    if evidence is None:
        return None
    if hello.facts.driver != evidence.driver:
        return BreakKind.RESTARTED, "the driver is another one"
    chosen = policy.scope.select(host.name, host.gpus) if policy.scope else host.gpus
    is_one_gone = any(gpu.state is GpuState.MISSING for gpu in chosen)
    if is_one_gone or not _is_same_roster(evidence, tuple(gpu.info for gpu in chosen)):
        return BreakKind.ROSTER, "the GPUs are not those of before"
    return None


def _is_same_roster(evidence: Evidence, infos: tuple[GpuInfo, ...]) -> bool:
    pinned = evidence.gpus
    return len(pinned) == len(infos) and all(
        old.info is new or (old.info.key, old.info.is_mig) == (new.key, new.is_mig)
        for old, new in zip(pinned, infos, strict=True)
    )


# -- samples -----------------------------------------------------------------------------------


def _sample_sign(
    proof: HostProof, policy: Policy, sample: Sample, host: Host, at_s: float
) -> Reading | None:
    seen = proof.seen
    is_old = host.seq != sample.seq or (seen is not None and sample.seq <= seen.seq)
    if is_old and host.link is Link.LIVE:
        return None
    judged = judge(host, policy)
    tick = Tick(seq=sample.seq, host_s=sample.host_monotonic_s, at_s=at_s)
    if not is_clear(judged):
        is_live = host.link is Link.LIVE
        return Reading(
            sign=Sign.NOT_CLEAR, judged=judged, tick=tick if is_live else None, decides=True
        )
    if proof.phase in IDLE or proof.evidence is None:
        return Reading(sign=Sign.CLEAR, judged=judged, tick=tick)
    if why := _interruption(proof.phase, proof.evidence, policy, tick, judged):
        return Reading(sign=Sign.INTERRUPTED, judged=judged, tick=tick, why=why)
    if is_late(proof, tick):
        return Reading(sign=Sign.LAGS, judged=judged, tick=tick, why="catching up")
    is_complete = proof.phase in RUNNING and _is_complete(proof.evidence, policy, tick)
    sign = Sign.COMPLETES if is_complete else Sign.CONTINUES
    return Reading(sign=sign, judged=judged, tick=tick)


def is_clear(judged: HostVerdict) -> bool:
    """Tell whether every GPU in scope is what the policy asks for, by a complete live sample."""
    return bool(judged.gpus) and not judged.reason and judged.exit_code is ExitCode.OK


def judge(host: Host, policy: Policy) -> HostVerdict:
    """Judge a host by a policy: where memory must be free, what is held may be enough free."""
    judged = judge_host(host, policy.scope, policy.baselines)
    if policy.free_bytes is None or judged.reason:
        return judged
    gpus = tuple(_judge_free(gpu, policy.free_bytes) for gpu in judged.gpus)
    return replace(judged, gpus=gpus, exit_code=worst(gpu.exit_code for gpu in gpus))


def _judge_free(gpu: GpuVerdict, wanted_bytes: int) -> GpuVerdict:
    """Judge by free memory: only a readable GPU whose size and use are known has any."""
    info = gpu.gpu.info
    held, is_all = held_bytes(gpu.gpu.reading)
    if gpu.gpu.state is not GpuState.READ or not is_all or not info.total_bytes:
        return gpu if gpu.exit_code is not ExitCode.OK else replace(gpu, exit_code=ExitCode.UNKNOWN)
    free = max(0, info.total_bytes - (info.reserved_bytes or 0) - held)
    if free >= wanted_bytes:
        return replace(gpu, exit_code=ExitCode.OK)
    reason = f"{format_memory(free)} free of {format_memory(wanted_bytes)} wanted"
    return replace(gpu, exit_code=ExitCode.HELD, reason=reason)


def _interruption(
    phase: Phase, evidence: Evidence, policy: Policy, tick: Tick, judged: HostVerdict
) -> str:
    """Return why a clear sample does not go on with the evidence; empty when it does."""
    last = evidence.last
    if missing := tick.seq - last.seq - 1:
        return f"{plural(missing, 'reading')} missing"
    gap_s = tick.host_s - last.host_s
    if gap_s < 0:
        return "the host's clock went back"
    most_s = policy.most_gap_s
    if phase not in RUNNING:
        most_s = max(most_s, GAP_INTERVALS * judged.host.interval_s)
    if gap_s > most_s:
        return f"readings {gap_s:.1f} s apart"
    facts = judged.host.facts
    if facts is None or facts.boot_id != evidence.boot_id:
        return "the host was started anew"
    if not _is_same_roster(evidence, tuple(gpu.gpu.info for gpu in judged.gpus)):
        return "the GPUs are not those of before"
    return ""


def _is_complete(evidence: Evidence, policy: Policy, tick: Tick) -> bool:
    held_s = tick.host_s - evidence.first.host_s
    return held_s >= policy.hold_s and evidence.samples + 1 >= policy.least_samples


def quickest_after(proof: HostProof, tick: Tick) -> Tick:
    """Return the sample that came soonest after it was read, this one considered."""
    known = proof.quickest
    return tick if known is None or _lag_s(known, tick) <= 0 else known


def is_late(proof: HostProof, tick: Tick) -> bool:
    """Tell whether a sample was read some time before it came."""
    return proof.quickest is not None and _lag_s(proof.quickest, tick) > LATE_S


def _lag_s(quickest: Tick, tick: Tick) -> float:
    """Return how much longer a sample was under way than the quickest one."""
    drift_s = DRIFT * max(0.0, tick.at_s - quickest.at_s)
    return (tick.at_s - tick.host_s) - (quickest.at_s - quickest.host_s) - drift_s
