"""Which family of the newest plan a process belongs to, where it is still the same process."""

from __future__ import annotations

from collections.abc import Iterable

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


def in_plan_order(host: Host, keys: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Return the families as the plan has them: to stop, to ask for, to leave, then all others."""
    order = {(one.root_pid, one.root_start_ticks): place for place, one in enumerate(host.kin)}
    return sorted(keys, key=lambda key: order.get(key[1:], len(order)))


def is_first_look(before: Host, after: Host) -> bool:
    """Tell whether families became known for the first time, right at the beginning."""
    return bool(after.kin) and not before.kin and after.samples <= STEADY_SAMPLES
