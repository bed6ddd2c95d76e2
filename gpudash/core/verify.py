"""The verdict of one reading (design §7).

What votes is memory: 0 bytes used, no process listed with memory, a readable state, no reset
pending. Unknown is never zero: every way that a reading can fail ends in UNKNOWN, and only a
live link carries a verdict at all. BASELINE is memory without holders, not above what the user
accepted: somebody listed, or a list that can't be read, makes it HELD.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.errors import ExitCode, worst
from gpudash.core.model import Fleet, Gpu, GpuReading, GpuState, Host, Link
from gpudash.core.readings import held_bytes, listed_bytes
from gpudash.core.reasons import (
    is_anybody_listed,
    why_no_baseline,
    why_unproven,
    why_zero_is_open,
)
from gpudash.core.scope import Scope
from gpudash.core.units import format_known


class Verdict(Enum):
    """Of one complete reading."""

    ZERO = "ZERO"
    BASELINE = "BASELINE"
    HELD = "HELD"
    UNKNOWN = "UNKNOWN"


class Clear(Enum):
    """The strict claim `device memory used reads 0`, over a scope."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuVerdict:
    """What one reading says about one GPU."""

    gpu: Gpu
    verdict: Verdict
    exit_code: ExitCode
    is_certainly_held: bool
    """Something is above 0 bytes for certain, even where the rest is unknown."""
    reason: str
    """Plain words; empty for ZERO."""
    note: str = ""
    """Something odd that does not vote."""
    baseline_bytes: int | None = None
    """What the user accepted for this GPU and driver; None where nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostVerdict:
    """What one reading says about the GPUs in scope on one host."""

    host: Host
    gpus: tuple[GpuVerdict, ...]
    """In scope only, in roster order."""
    verdict: Verdict
    exit_code: ExitCode
    clear: Clear
    reason: str
    """Why the host as a whole can't be judged; empty when its GPUs speak for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetVerdict:
    """What one reading says about all hosts."""

    hosts: tuple[HostVerdict, ...]
    verdict: Verdict
    exit_code: ExitCode
    clear: Clear


_LINK_REASON = {
    Link.CONNECTING: "not read yet",
    Link.STALE: "the last reading is old",
    Link.HUNG: "the driver does not answer",
    Link.DOWN: "no reading",
    Link.PAUSED: "paused: the driver is released",
}


def judge_gpu(
    gpu: Gpu, accepted_bytes: int | None = None, *, is_strict: bool = False
) -> GpuVerdict:
    """Judge one GPU by its newest reading, which must belong to a live link.

    `accepted_bytes` is the baseline of this GPU; `is_strict` counts it as held.
    """
    reading = gpu.reading
    used = reading.used_bytes if reading else None
    listed = listed_bytes(reading) if reading else 0
    held = bool(used) or listed > 0 or (used is None and is_anybody_listed(reading))
    if gpu.state is not GpuState.READ or reading is None:
        is_reset = gpu.state is GpuState.NEEDS_RESET
        return GpuVerdict(
            gpu=gpu,
            verdict=Verdict.HELD if used and is_reset else Verdict.UNKNOWN,
            exit_code=ExitCode.STUCK if is_reset else ExitCode.UNKNOWN,
            is_certainly_held=held,
            reason=why_unproven(gpu),
        )
    if held:
        return _held(gpu, reading, accepted_bytes, is_strict=is_strict)
    if why := why_zero_is_open(reading):
        return _open(gpu, why)
    return GpuVerdict(
        gpu=gpu,
        verdict=Verdict.ZERO,
        exit_code=ExitCode.OK,
        is_certainly_held=False,
        reason="",
        note=_note(reading),
    )


def _held(
    gpu: Gpu, reading: GpuReading, accepted_bytes: int | None, *, is_strict: bool
) -> GpuVerdict:
    held, is_all = held_bytes(reading)
    amount = format_known(held, is_all)
    # Where slices hold more than their GPU says, its figure is not the whole.
    is_whole = reading.used_bytes == held
    is_within = accepted_bytes is not None and is_whole and held <= accepted_bytes
    why = why_no_baseline(reading, is_strict=is_strict) if is_within else ""
    is_baseline = is_within and not why
    return GpuVerdict(
        gpu=gpu,
        verdict=Verdict.BASELINE if is_baseline else Verdict.HELD,
        exit_code=ExitCode.OK if is_baseline else ExitCode.HELD,
        is_certainly_held=True,
        reason=f"{amount}, the accepted baseline" if is_baseline else f"{amount} held{why}",
        note=_note(reading) if is_baseline else "",
        baseline_bytes=accepted_bytes,
    )


def _note(reading: GpuReading) -> str:
    if reading.utilisation_pct == 100:
        return "utilisation reads 100 % with nothing held"
    return "a process is listed, with no memory" if is_anybody_listed(reading) else ""


def _open(gpu: Gpu, why: str) -> GpuVerdict:
    return GpuVerdict(
        gpu=gpu,
        verdict=Verdict.UNKNOWN,
        exit_code=ExitCode.UNKNOWN,
        is_certainly_held=False,
        reason=why,
    )


def judge_host(
    host: Host, scope: Scope | None = None, baselines: Baselines = NO_BASELINES
) -> HostVerdict:
    """Judge the GPUs of one host that are in scope; zero rows is a fault, not zero.

    Raises UsageError when the scope names a GPU that this host's roster does not have.
    """
    if host.link is not Link.LIVE or not host.samples or not host.gpus:
        return _unjudged(host)
    chosen = scope.select(host.name, host.gpus) if scope else host.gpus
    driver = host.facts.driver if host.facts else None
    gpus = tuple(
        judge_gpu(
            gpu,
            baselines.accepted_bytes(gpu.info.uuid, driver),
            is_strict=baselines.is_strict,
        )
        for gpu in chosen
    )
    return HostVerdict(
        host=host,
        gpus=gpus,
        verdict=_joint_verdict(tuple(gpu.verdict for gpu in gpus)),
        exit_code=worst(gpu.exit_code for gpu in gpus),
        clear=_joint_clear(gpus),
        reason="",
    )


def _unjudged(host: Host) -> HostVerdict:
    problem = host.problem
    reason = _LINK_REASON.get(host.link, "the driver answers and lists 0 GPUs")
    if host.link is Link.LIVE and not host.samples:
        reason = "not read yet"
    gpus = tuple(_open(gpu, reason) for gpu in host.gpus)
    return HostVerdict(
        host=host,
        gpus=gpus,
        verdict=Verdict.UNKNOWN,
        exit_code=problem.exit_code if problem else ExitCode.UNKNOWN,
        clear=Clear.UNKNOWN,
        reason=problem.sentence if problem else reason,
    )


def judge_fleet(
    fleet: Fleet, scope: Scope | None = None, baselines: Baselines = NO_BASELINES
) -> FleetVerdict:
    """Judge the hosts in scope; no host at all is UNKNOWN.

    Raises UsageError for a scope that names an unknown host, or as `judge_host` does.
    """
    if scope is not None:
        scope.check_hosts(tuple(host.name for host in fleet.hosts))
    chosen = (host for host in fleet.hosts if scope is None or scope.concerns(host.name))
    return join_hosts(tuple(judge_host(host, scope, baselines) for host in chosen))


def join_hosts(hosts: tuple[HostVerdict, ...]) -> FleetVerdict:
    """Join the verdicts of all hosts; no host at all is UNKNOWN."""
    return FleetVerdict(
        hosts=hosts,
        verdict=_joint_verdict(tuple(host.verdict for host in hosts)),
        exit_code=worst(host.exit_code for host in hosts),
        clear=joint_clear(tuple(host.clear for host in hosts)),
    )


def _joint_verdict(verdicts: tuple[Verdict, ...]) -> Verdict:
    if not verdicts or Verdict.UNKNOWN in verdicts:
        return Verdict.UNKNOWN
    if Verdict.HELD in verdicts:
        return Verdict.HELD
    return Verdict.BASELINE if Verdict.BASELINE in verdicts else Verdict.ZERO


def _joint_clear(gpus: tuple[GpuVerdict, ...]) -> Clear:
    if any(gpu.is_certainly_held for gpu in gpus):
        return Clear.NO
    if gpus and all(gpu.verdict is Verdict.ZERO for gpu in gpus):
        return Clear.YES
    return Clear.UNKNOWN


def joint_clear(clears: tuple[Clear, ...]) -> Clear:
    """Join the claims of several hosts: one certain `no` decides, else one unknown does."""
    if Clear.NO in clears:
        return Clear.NO
    if not clears or Clear.UNKNOWN in clears:
        return Clear.UNKNOWN
    return Clear.YES
