"""What all hosts add up to, counted once for the banner, the header and the holders panel."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.families import Holder, gpu_processes, holders, unexplained_bytes
from gpudash.core.model import Fleet, Gpu, GpuState, Host, Link

_BROKEN = {
    GpuState.LOST: "lost",
    GpuState.MISSING: "gone",
    GpuState.NEEDS_RESET: "needs a reset",
    GpuState.NEEDS_ATTENTION: "needs attention",
}
_UNREADABLE = {
    GpuState.UNREADABLE: "not readable",
    GpuState.NO_PERMISSION: "not allowed to be read",
    GpuState.UNIFIED: "shares the system's memory",
    GpuState.UNREAD: "not read yet",
}


class GpuMark(NamedTuple):
    """A GPU that stands out: where, and in which words."""

    host: str
    number: int
    words: str
    used_bytes: int = 0


class Tally(NamedTuple):
    """Sums over all hosts; what is not read on a live link counts as not known."""

    hosts: tuple[Host, ...]
    gpus: int
    gpus_read: int
    gpus_held: int
    gpus_zero: int
    used_bytes: int
    total_bytes: int
    holders: tuple[Holder, ...]
    """On live hosts, in the order of their letters."""
    silent: tuple[Host, ...]
    """Hosts without a live reading."""
    broken: tuple[GpuMark, ...]
    """Lost, gone, or the driver wants something done."""
    unreadable: tuple[GpuMark, ...]
    unexplained: tuple[GpuMark, ...]
    """Memory that no listed process accounts for."""
    dead: tuple[Holder, ...]

    @property
    def unnamed(self) -> tuple[Holder, ...]:
        """Return holders that can't be named from here, whatever is asked."""
        return tuple(one for one in self.holders if _is_unnamed(one))

    @property
    def unasked(self) -> tuple[Holder, ...]:
        """Return holders that the host was not asked about yet."""
        return tuple(one for one in self.holders if not one.letter)


def _is_unnamed(holder: Holder) -> bool:
    return holder.user is None and not holder.is_dead and bool(holder.letter)


def is_read(host: Host) -> bool:
    """Tell whether a host's GPUs are what they are now."""
    return host.link is Link.LIVE and host.samples > 0 and bool(host.gpus)


def all_holders(fleet: Fleet) -> tuple[Holder, ...]:
    """Return the holders on all hosts, host by host."""
    return tuple(one for host in fleet.hosts for one in holders(host, fleet.letters))


def tally(fleet: Fleet, found: tuple[Holder, ...]) -> Tally:
    """Add up a fleet; `found` are its holders (see `all_holders`)."""
    live = {host.name for host in fleet.hosts if is_read(host)}
    readable = [
        (host, gpu)
        for host in fleet.hosts
        if host.name in live
        for gpu in host.gpus
        if gpu.reading is not None and gpu.reading.used_bytes is not None
    ]
    current = tuple(one for one in found if one.key[0] in live)
    return Tally(
        hosts=fleet.hosts,
        gpus=sum(len(host.gpus) for host in fleet.hosts),
        gpus_read=len(readable),
        gpus_held=sum(1 for _, gpu in readable if _used(gpu) or gpu_processes(gpu)),
        gpus_zero=sum(1 for _, gpu in readable if not _used(gpu) and not gpu_processes(gpu)),
        used_bytes=sum(_used(gpu) for _, gpu in readable),
        total_bytes=sum(gpu.info.total_bytes or 0 for _, gpu in readable),
        holders=tuple(sorted(current, key=lambda one: (len(one.letter), one.letter, one.key))),
        silent=tuple(host for host in fleet.hosts if host.name not in live),
        broken=_marks(fleet, live, _BROKEN),
        unreadable=_marks(fleet, live, _UNREADABLE),
        unexplained=tuple(
            GpuMark(host.name, gpu.info.index, "unexplained", gap)
            for host, gpu in readable
            if (gap := unexplained_bytes(gpu))
        ),
        dead=tuple(one for one in current if one.is_dead),
    )


def _used(gpu: Gpu) -> int:
    return (gpu.reading.used_bytes or 0) if gpu.reading else 0


def _marks(fleet: Fleet, live: set[str], words: dict[GpuState, str]) -> tuple[GpuMark, ...]:
    return tuple(
        GpuMark(host.name, gpu.info.index, words[gpu.state])
        for host in fleet.hosts
        if host.name in live
        for gpu in host.gpus
        if gpu.state in words
    )
