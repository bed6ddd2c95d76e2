"""What carries a proof: the readings of one host over one hold, and how far they see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from gpudash.core.families import pids_are_local
from gpudash.core.holders import OUTSIDE
from gpudash.core.holding import Device, Process, Reach, Scan, is_probe, reach_of
from gpudash.core.model import GpuInfo, Host
from gpudash.core.names import clean_text
from gpudash.core.units import index_list, plural
from gpudash.core.verify import GpuVerdict, Verdict

SCAN_FRESH_S = 10.0
"""A scan so old, on the host's clock, still speaks for the start of a hold."""


class Basis(Enum):
    """What was held: `baseline` says "ALL AT BASELINE", never "ALL CLEAR"."""

    ZERO = "zero"
    BASELINE = "baseline"
    FREE = "free"
    """At least so much memory was free: nothing is said of zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """When one sample was read and when it came."""

    seq: int
    host_s: float
    """The host's monotonic clock."""
    at_s: float
    """The viewer's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuEvidence:
    """One GPU over the hold."""

    info: GpuInfo
    """As pinned when the hold began; `info.uuid` is who it is."""
    first_bytes: int
    """Used, in the first reading of the hold."""
    last_bytes: int
    baseline_bytes: int | None = None
    """What the user accepted; None where nothing was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One host over one hold; it grows with each sample for as long as the proof goes on."""

    host: str
    basis: Basis
    gpus: tuple[GpuEvidence, ...]
    """In scope, in roster order."""
    first: Tick
    last: Tick
    proven: Tick | None = None
    """The sample that completed the hold; None while holding."""
    samples: int = 1
    longest_gap_s: float = 0.0
    """Between two samples of the hold, on the host's clock."""
    hold_samples: int = 0
    """Of those, up to the one that completed the hold; 0 while holding."""
    hold_gap_s: float = 0.0
    """The longest gap up to then."""
    driver: str | None
    nvml: str | None
    source: str
    """`nvml`, `nvidia-smi` or `demo`."""
    boot_id: str | None
    sees_host_pids: bool
    """Whether processes outside a container are seen by this host's own look."""
    is_simulated: bool
    first_scan: Scan | None = None
    last_scan: Scan | None = None
    """When the hold was complete; None until it came."""
    unlisted: tuple[int, ...] = ()
    """Indices of GPUs whose process list could not be read at some time of the hold."""
    notes: tuple[str, ...] = ()
    """What is odd and does not vote, each once, as clauses: `GPU 2: utilisation reads 100 % …`."""

    @property
    def held_s(self) -> float:
        """Seconds from the first to the last sample, on the host's clock."""
        return self.last.host_s - self.first.host_s

    @property
    def uuids(self) -> tuple[str | None, ...]:
        """UUIDs of the GPUs in scope."""
        return tuple(gpu.info.uuid for gpu in self.gpus)

    @property
    def scan(self) -> Scan | None:
        """Return the newest scan."""
        return self.last_scan or self.first_scan

    @property
    def reach(self) -> Reach:
        """How far it sees, by the newest scan."""
        why = reach_of(self.scan).why
        if self.unlisted:
            many = len(self.unlisted) > 1
            gpus = index_list(list(self.unlisted))
            why = (*why, f"who is listed on GPU{'s' if many else ''} {gpus} can't be read")
        if self.scan is None and not self.sees_host_pids:
            why = (*why, OUTSIDE)
        return Reach(why=why)

    @property
    def handles(self) -> str:
        """Name who had a GPU open at the newest scan: `2 open handles, no memory: nvtop 4711`.

        Empty where nobody had; they don't break a proof and block only a reset.
        """
        scan = self.scan
        if scan is None:
            return ""
        found = [one for one in scan.processes if _gpu_handles(one) and not is_probe(one)]
        if not found:
            return ""
        handles = sum(_gpu_handles(one) for one in found)
        names = ", ".join(f"{clean_text(one.comm, 32)} {one.pid}" for one in found)
        return f"{plural(handles, 'open handle')}, no memory: {names}"


def _gpu_handles(process: Process) -> int:
    return sum(max(1, one.count) for one in process.handles if one.device is Device.GPU)


def begin_evidence(host: Host, gpus: tuple[GpuVerdict, ...], tick: Tick, basis: Basis) -> Evidence:
    """Return the evidence of a hold that begins with this sample."""
    facts = host.facts
    assert facts is not None, "a sample is taken after a hello"
    return Evidence(
        host=host.name,
        basis=basis,
        gpus=tuple(_gpu_evidence(gpu) for gpu in gpus),
        first=tick,
        last=tick,
        driver=facts.driver,
        nvml=facts.nvml,
        source=facts.source,
        boot_id=facts.boot_id,
        sees_host_pids=pids_are_local(host),
        unlisted=_unlisted(gpus),
        is_simulated=host.is_simulated,
        notes=_notes(gpus),
    )


def grown(evidence: Evidence, gpus: tuple[GpuVerdict, ...], tick: Tick, basis: Basis) -> Evidence:
    """Return the evidence with one more sample that goes on with it."""
    pairs = zip(evidence.gpus, gpus, strict=True)
    fresh = tuple(_with_last(old, _used(new)) for old, new in pairs)
    gap_s = max(evidence.longest_gap_s, tick.host_s - evidence.last.host_s)
    notes = evidence.notes
    for note in _notes(gpus):
        if note not in notes:
            notes = (*notes, note)
    return replace(
        evidence,
        basis=basis if evidence.basis is Basis.ZERO else evidence.basis,
        gpus=fresh,
        last=tick,
        samples=evidence.samples + 1,
        longest_gap_s=gap_s if evidence.proven is None else evidence.longest_gap_s,
        notes=notes,
        unlisted=evidence.unlisted
        if len(evidence.unlisted) == len(gpus)
        else tuple(sorted({*evidence.unlisted, *_unlisted(gpus)})),
    )


def _unlisted(gpus: tuple[GpuVerdict, ...]) -> tuple[int, ...]:
    """Return the GPUs of which the driver does not say who is on them."""
    return tuple(
        gpu.gpu.info.index
        for gpu in gpus
        if gpu.gpu.reading is not None
        and gpu.gpu.reading.processes is None
        and not gpu.gpu.reading.mig
    )


def basis_of(gpus: tuple[GpuVerdict, ...], *, is_free: bool) -> Basis:
    """Return what one sample with these verdicts shows."""
    if is_free:
        return Basis.FREE
    if any(gpu.verdict is Verdict.BASELINE for gpu in gpus):
        return Basis.BASELINE
    return Basis.ZERO


def _gpu_evidence(gpu: GpuVerdict) -> GpuEvidence:
    used = _used(gpu)
    return GpuEvidence(
        info=gpu.gpu.info,
        first_bytes=used,
        last_bytes=used,
        baseline_bytes=gpu.baseline_bytes,
    )


def _with_last(gpu: GpuEvidence, used_bytes: int) -> GpuEvidence:
    return gpu if gpu.last_bytes == used_bytes else replace(gpu, last_bytes=used_bytes)


def _used(gpu: GpuVerdict) -> int:
    reading = gpu.gpu.reading
    used = reading.used_bytes if reading is not None else None
    assert used is not None, "only what is read is clear"
    return used


def _notes(gpus: tuple[GpuVerdict, ...]) -> tuple[str, ...]:
    return tuple(f"GPU {gpu.gpu.info.index}: {gpu.note}" for gpu in gpus if gpu.note)


def speaks_for(scan: Scan, evidence: Evidence) -> bool:
    """Tell whether a scan is of the same boot and not much older than the hold."""
    is_same_boot = None in (scan.boot_id, evidence.boot_id) or scan.boot_id == evidence.boot_id
    return is_same_boot and scan.host_monotonic_s >= evidence.first.host_s - SCAN_FRESH_S
