"""Says who broke a proof, as soon as the driver, the hand and the scan say so."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core import holders as seen
from gpudash.core.families import owner_of
from gpudash.core.holding import Scan
from gpudash.core.listed import gpu_processes, pids_are_local
from gpudash.core.model import Gpu, Host, Owner, ProcessInfo
from gpudash.core.names import clean_text
from gpudash.core.proof.breaks import CLAIMS, Break, BreakKind, Claimant
from gpudash.core.readings import held_bytes

NAMING_S = 5.0
"""So long after it a break waits for a name, on the viewer's clock; then it is unexplained."""


def named(broken: Break, host: Host, at_s: float) -> Break:
    """Return the break with what the host knows by now of who did it; settled at last."""
    if broken.is_settled:
        return broken
    gpu = _gpu(broken, host)
    if gpu is None:
        return replace(broken, kind=BreakKind.UNEXPLAINED, is_settled=True)
    now = _grown(broken, gpu)
    who = _claimant(broken, host, gpu) or broken.who
    kept_by = _keepers(host, gpu, who)
    if who is not None and (who.is_known or kept_by):
        kind = _claim_kind(broken, host, kept_by[0] if kept_by else who)
        return replace(now, who=who, kind=kind, suspects=kept_by, is_settled=True)
    if at_s - broken.at_s >= NAMING_S:
        return replace(now, who=who, kind=BreakKind.UNEXPLAINED, is_settled=True)
    return now if who == broken.who else replace(now, who=who)


def explained(broken: Break, scan: Scan, host: Host) -> Break:
    """Return the break with those who have its GPU open, where nobody is listed for it."""
    gpu = _gpu(broken, host)
    if broken.kind not in CLAIMS or broken.who is not None or gpu is None:
        return broken
    host = replace(host, scan=scan)
    found = [one for one in seen.open_on(host, gpu) if seen.can_compute(one)] or seen.open_on(
        host, gpu
    )
    suspects = tuple(_claimant_of(seen.info_of(one, host), host) for one in found)
    return broken if suspects == broken.suspects else replace(broken, suspects=suspects)


def _gpu(broken: Break, host: Host) -> Gpu | None:
    return next((gpu for gpu in host.gpus if gpu.info.uuid == broken.gpu_uuid), None)


def _grown(broken: Break, gpu: Gpu) -> Break:
    """Count what came since: a context begins with less than a MiB."""
    held, _ = held_bytes(gpu.reading)
    more = held - broken.before_bytes
    if broken.delta_bytes is None or more <= broken.delta_bytes:
        return broken
    return replace(broken, delta_bytes=more)


def _claimant(broken: Break, host: Host, gpu: Gpu) -> Claimant | None:
    rows = gpu_processes(gpu)
    if broken.who is not None:
        # Who was seen first stays: another one may be listed by now.
        rows = ((broken.who.pid, broken.who.used_bytes),)
    if not rows:
        return None
    pid, used = rows[0]
    if not pids_are_local(host):
        return Claimant(pid=pid, used_bytes=used, is_host_pid=True)
    info = seen.living(host, pid)
    if info is not None:
        return replace(_claimant_of(info, host), used_bytes=used)
    is_hidden = seen.is_hidden(host, pid)
    return Claimant(
        pid=pid,
        used_bytes=used,
        owner=Owner.FOREIGN if is_hidden else Owner.UNKNOWN,
        is_hidden=is_hidden,
        is_gone=seen.is_dead(host, pid),
    )


def _claimant_of(info: ProcessInfo, host: Host) -> Claimant:
    return Claimant(
        pid=info.pid,
        command=clean_text(" ".join(info.argv)) or clean_text(info.comm) or "?",
        user=clean_text(info.user),
        owner=owner_of(host, info),
    )


def _keepers(host: Host, gpu: Gpu, who: Claimant | None) -> tuple[Claimant, ...]:
    """Return who keeps the memory of a claimant that is dead."""
    if who is None or not who.is_gone:
        return ()
    found = seen.keepers(host, gpu, who.pid)
    return tuple(_claimant_of(seen.info_of(one, host), host) for one in found)


def _claim_kind(broken: Break, host: Host, who: Claimant) -> BreakKind:
    if who.owner is Owner.UNKNOWN:
        return BreakKind.UNEXPLAINED
    if who.owner is Owner.FOREIGN:
        return BreakKind.FOREIGN
    info = seen.living(host, who.pid)
    return BreakKind.LAUNCH if info and _started_since(broken, info) else BreakKind.MINE


def _started_since(broken: Break, info: ProcessInfo) -> bool:
    """Tell whether a process started after the hold began."""
    if broken.clear_s is None:
        return False
    age_at_break_s = info.age_s - (info.known_at_s - broken.at_s)
    return age_at_break_s <= broken.clear_s
