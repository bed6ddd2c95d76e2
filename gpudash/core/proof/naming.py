"""Says who broke a proof, as soon as the driver and the hand say so."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.families import gpu_processes, owner_of, pids_are_local
from gpudash.core.holding import Scan
from gpudash.core.model import Host, Owner, ProcessInfo
from gpudash.core.names import clean_text
from gpudash.core.proof.breaks import CLAIMS, Break, BreakKind, Claimant
from gpudash.core.scope import normal_bus_id

NAMING_S = 5.0
"""So long after it a break waits for a name, on the viewer's clock; then it is unexplained."""


def named(broken: Break, host: Host, at_s: float) -> Break:
    """Return the break with what the host knows by now of who did it; settled at last."""
    if broken.is_settled:
        return broken
    who = _claimant(broken, host) or broken.who
    if who is not None and (who.command or who.is_host_pid or who.is_gone):
        kind = _claim_kind(broken, host, who)
        return replace(broken, who=who, kind=kind, is_settled=True)
    if at_s - broken.at_s >= NAMING_S:
        return replace(broken, who=who, kind=BreakKind.UNEXPLAINED, is_settled=True)
    return broken if who == broken.who else replace(broken, who=who)


def explained(broken: Break, scan: Scan, host: Host) -> Break:
    """Return the break with those who have its GPU open, where nobody is listed for it."""
    if broken.kind not in CLAIMS or broken.who is not None:
        return broken
    gpu = next((gpu for gpu in host.gpus if gpu.info.uuid == broken.gpu_uuid), None)
    if gpu is None:
        return broken
    place = normal_bus_id(gpu.info.bus_id or "")
    places = {place, f"index-{gpu.info.index}"}
    suspects = tuple(
        Claimant(
            pid=process.pid,
            command=clean_text(" ".join(process.argv)) or clean_text(process.comm),
            user=clean_text(process.user),
        )
        for process in scan.processes
        if process.pid not in scan.own
        and any(normal_bus_id(handle.gpu or "") in places for handle in process.handles)
    )
    return replace(broken, suspects=suspects)


def _claimant(broken: Break, host: Host) -> Claimant | None:
    gpu = next((gpu for gpu in host.gpus if gpu.info.uuid == broken.gpu_uuid), None)
    rows = gpu_processes(gpu) if gpu is not None else ()
    if broken.who is not None:
        # Who was seen first stays: another one may be listed by now.
        rows = ((broken.who.pid, broken.who.used_bytes),)
    if not rows:
        return None
    pid, used = rows[0]
    if not pids_are_local(host):
        return Claimant(pid=pid, used_bytes=used, is_host_pid=True)
    info = next((info for info in host.processes if info.pid == pid), None)
    if info is None:
        return Claimant(pid=pid, used_bytes=used, is_gone=pid in host.gone_pids)
    return Claimant(
        pid=pid,
        command=clean_text(" ".join(info.argv)) or clean_text(info.comm),
        user=clean_text(info.user),
        owner=owner_of(host, info),
        used_bytes=used,
    )


def _claim_kind(broken: Break, host: Host, who: Claimant) -> BreakKind:
    if who.owner is Owner.UNKNOWN:
        return BreakKind.UNEXPLAINED
    if who.owner is Owner.FOREIGN:
        return BreakKind.FOREIGN
    info = next((info for info in host.processes if info.pid == who.pid), None)
    return BreakKind.LAUNCH if info and _started_since(broken, info) else BreakKind.MINE


def _started_since(broken: Break, info: ProcessInfo) -> bool:
    """Tell whether a process started after the hold began."""
    if broken.clear_s is None:
        return False
    age_at_break_s = info.age_s - (info.known_at_s - broken.at_s)
    return age_at_break_s <= broken.clear_s
