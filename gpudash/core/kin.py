"""Which family of the newest plan a process belongs to, where it is still the same process."""

from __future__ import annotations

from gpudash.core.model import Host, Kin, ProcessInfo
from gpudash.core.names import Label

STEADY_SAMPLES = 6
"""A first plan within so many ticks may give letters anew: nobody has learned them yet."""


def kin_entry(host: Host, pid: int, info: ProcessInfo | None) -> Kin | None:
    """Return the family of a listed pid; `info` is who it is, or who keeps its memory."""
    for one in host.kin:
        if pid in one.dead or (info is not None and (info.pid, info.start_ticks) in one.members):
            return one
    return None


def label_of_kin(kin: Kin, label: Label, pids: tuple[int, ...]) -> Label:
    """Name a family of leftovers by what it is left over from, not by its first rank."""
    if not kin.is_leftover or len(pids) < 2:
        return label
    return Label(name=label.name, detail=kin.evidence.removeprefix(label.name).strip())


def is_first_look(before: Host, after: Host) -> bool:
    """Tell whether families became known for the first time, right at the beginning."""
    return bool(after.kin) and not before.kin and after.samples <= STEADY_SAMPLES
