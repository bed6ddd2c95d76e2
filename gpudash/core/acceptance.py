"""Which readings may be accepted as idle, and which may not: decided before anything is written.

Accepted is memory that nobody is listed for, on a GPU that could be read whole. What is unknown is
refused, and so is whatever a process holds: that is HELD, however small it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.baselines import Baseline
from gpudash.core.errors import ExitCode
from gpudash.core.listed import pids_are_local
from gpudash.core.model import GpuInfo, GpuState
from gpudash.core.reasons import why_no_baseline
from gpudash.core.units import format_memory
from gpudash.core.verify import FleetVerdict, GpuVerdict, HostVerdict, Verdict

MOST_BYTES = 1 << 30
"""Idle drivers, displays and daemons hold some hundred MiB; more is somebody's work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One GPU, or a host as a whole, that has no idle reading to accept."""

    host: str
    gpu: GpuInfo | None
    why: str
    exit_code: ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One reading that may be accepted."""

    host: str
    gpu: GpuInfo
    baseline: Baseline
    before_bytes: int | None
    """What was accepted until now; None where nothing was."""

    @property
    def words(self) -> str:
        """Return `512 MiB` and what it replaces."""
        before = self.before_bytes
        instead = f" (before: {format_memory(before)})" if before is not None else ""
        return f"{format_memory(self.baseline.used_bytes)}{instead}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What can be accepted of one reading of all hosts."""

    offers: tuple[Offer, ...]
    refusals: tuple[Refusal, ...]
    zeros: int
    """GPUs at 0 bytes: they need no baseline."""


def weigh(fleet: FleetVerdict, at: str) -> Acceptance:
    """Return what of a fleet's verdict may be accepted; `at` is its time, UTC."""
    offers: list[Offer] = []
    refusals: list[Refusal] = []
    zeros = 0
    for host in fleet.hosts:
        if host.reason or not host.gpus:
            why = host.reason or "no GPU was read"
            refusals.append(
                Refusal(host=host.host.name, gpu=None, why=why, exit_code=host.exit_code)
            )
            continue
        for gpu in host.gpus:
            why = _why_not(host, gpu)
            if gpu.verdict is Verdict.ZERO:
                zeros += 1
            elif why:
                code = gpu.exit_code if gpu.exit_code is not ExitCode.OK else ExitCode.HELD
                refusals.append(
                    Refusal(host=host.host.name, gpu=gpu.gpu.info, why=why, exit_code=code)
                )
            else:
                offers.append(_offer(host, gpu, at))
    return Acceptance(offers=tuple(offers), refusals=tuple(refusals), zeros=zeros)


def _why_not(host: HostVerdict, gpu: GpuVerdict) -> str:
    """Return why a GPU's reading can't be accepted; empty where it can."""
    reading = gpu.gpu.reading
    if gpu.verdict is Verdict.UNKNOWN or gpu.gpu.state is not GpuState.READ or reading is None:
        return gpu.reason
    if host.host.is_simulated:
        return "simulated: no reading of a real GPU"
    if not pids_are_local(host.host):
        return "whoever holds it may be outside of this container, where nobody is seen"
    if (reading.used_bytes or 0) > MOST_BYTES:
        return f"{format_memory(reading.used_bytes or 0)} is no idle reading: somebody holds it"
    if gpu.gpu.info.uuid is None:
        return "it has no UUID to remember it by"
    if host.host.facts is None or host.host.facts.driver is None:
        return "the driver's version is not known"
    if why := why_no_baseline(reading, is_strict=False):
        return f"{gpu.reason.partition(':')[0]}{why.replace('within its baseline, and ', '')}"
    return "" if reading.used_bytes else gpu.reason


def _offer(host: HostVerdict, gpu: GpuVerdict, at: str) -> Offer:
    info, reading, facts = gpu.gpu.info, gpu.gpu.reading, host.host.facts
    used = reading.used_bytes if reading else None
    driver = facts.driver if facts else None
    assert info.uuid, "weighed before"
    assert driver, "weighed before"
    assert used, "weighed before"
    return Offer(
        host=host.host.name,
        gpu=info,
        baseline=Baseline(
            uuid=info.uuid,
            driver=driver,
            used_bytes=used,
            accepted_at=at,
            host=host.host.name,
        ),
        before_bytes=gpu.baseline_bytes,
    )


def joined(known: tuple[Baseline, ...], new: tuple[Baseline, ...]) -> tuple[Baseline, ...]:
    """Return all entries, a new one in place of an old one of the same GPU and driver."""
    replaced = {(entry.uuid, entry.driver) for entry in new}
    return (*(one for one in known if (one.uuid, one.driver) not in replaced), *new)


def is_meant(entry: Baseline, word: str) -> bool:
    """Tell whether a word names an entry: its host, or its GPU's UUID or the beginning of it."""
    word = word.lower()
    uuid = entry.uuid.lower()
    return word == entry.host.lower() or (len(word) >= 8 and uuid.startswith(word))
