"""What all hosts add up to, counted once for the banner, the header and the holders panel.

What counts as zero is the verdict's to say; what was not read makes a sum a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.families import Holder, holders, unexplained_bytes
from gpudash.core.model import Fleet, GpuState, Host, Link, Owner
from gpudash.core.readings import held_sum
from gpudash.core.verify import (
    FleetVerdict,
    HostVerdict,
    Verdict,
    join_hosts,
    judge_fleet,
    judge_host,
)

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
    """Held for certain."""
    gpus_zero: int
    """Judged zero."""
    gpus_open: int
    """On hosts that are read, and neither: what they hold is not known."""
    used_bytes: int
    is_whole: bool
    """That is all: no GPU may hold more than was read."""
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
    ended: tuple[Holder, ...] = ()
    """With memory, and processes whose main thread ended."""

    @property
    def leftovers(self) -> tuple[Holder, ...]:
        """Return families of the user's own whose purpose is gone."""
        return tuple(one for one in self.holders if one.owner is Owner.LEFTOVER)

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


class HostSums(NamedTuple):
    """What one host adds to the tally."""

    read: int
    held: int
    zero: int
    open: int
    used_bytes: int
    is_whole: bool
    total_bytes: int
    broken: tuple[GpuMark, ...]
    unreadable: tuple[GpuMark, ...]
    unexplained: tuple[GpuMark, ...]


def host_sums(judged: HostVerdict) -> HostSums:
    """Add up one host that is read."""
    host = judged.host
    readable = [gpu for gpu in host.gpus if gpu.reading and gpu.reading.used_bytes is not None]
    accepted = {one.gpu.info.key for one in judged.gpus if one.verdict is Verdict.BASELINE}
    held = sum(1 for one in judged.gpus if one.is_certainly_held)
    zero = sum(1 for one in judged.gpus if one.verdict is Verdict.ZERO)
    used_bytes, is_whole = held_sum(gpu.reading for gpu in host.gpus)
    return HostSums(
        read=len(readable),
        held=held,
        zero=zero,
        open=len(host.gpus) - held - zero,
        used_bytes=used_bytes,
        is_whole=is_whole,
        total_bytes=sum(gpu.info.total_bytes or 0 for gpu in readable),
        broken=_marks(host, _BROKEN),
        unreadable=_marks(host, _UNREADABLE),
        unexplained=tuple(
            GpuMark(host.name, gpu.info.index, "unexplained", gap)
            for gpu in readable
            if gpu.info.key not in accepted and (gap := unexplained_bytes(gpu))
        ),
    )


def tally(fleet: Fleet, found: tuple[Holder, ...], baselines: Baselines = NO_BASELINES) -> Tally:
    """Add up a fleet; `found` are its holders (see `all_holders`)."""
    judged = judge_fleet(fleet, baselines=baselines).hosts
    return joined_sums(fleet, found, tuple(host_sums(one) for one in judged if is_read(one.host)))


def joined_sums(fleet: Fleet, found: tuple[Holder, ...], sums: tuple[HostSums, ...]) -> Tally:
    """Join what the hosts that are read add up to."""
    live = {host.name for host in fleet.hosts if is_read(host)}
    current = tuple(one for one in found if one.key[0] in live)
    silent = tuple(host for host in fleet.hosts if host.name not in live)
    return Tally(
        hosts=fleet.hosts,
        gpus=sum(len(host.gpus) for host in fleet.hosts),
        gpus_read=sum(one.read for one in sums),
        gpus_held=sum(one.held for one in sums),
        gpus_zero=sum(one.zero for one in sums),
        gpus_open=sum(one.open for one in sums),
        used_bytes=sum(one.used_bytes for one in sums),
        is_whole=not silent and all(one.is_whole for one in sums),
        total_bytes=sum(one.total_bytes for one in sums),
        holders=tuple(sorted(current, key=lambda one: (len(one.letter), one.letter, one.key))),
        silent=silent,
        broken=tuple(mark for one in sums for mark in one.broken),
        unreadable=tuple(mark for one in sums for mark in one.unreadable),
        unexplained=tuple(mark for one in sums for mark in one.unexplained),
        dead=tuple(one for one in current if one.is_dead),
        ended=tuple(one for one in current if one.ended and one.has_memory),
    )


class Ledger:
    """Holders and sums from one tick to the next: only hosts that changed are counted again."""

    def __init__(self, baselines: Baselines = NO_BASELINES) -> None:
        self._baselines = baselines
        self._holders: dict[str, tuple[Host, object, tuple[Holder, ...]]] = {}
        self._judged: dict[str, HostVerdict] = {}
        self._sums: dict[str, tuple[Host, HostSums]] = {}

    def holders_of(self, fleet: Fleet, host: Host) -> tuple[Holder, ...]:
        """Return the holders of one host of the fleet."""
        known = self._holders.get(host.name)
        if known is None or known[0] is not host or known[1] is not fleet.letters:
            known = (host, fleet.letters, holders(host, fleet.letters))
            self._holders[host.name] = known
        return known[2]

    def all_holders(self, fleet: Fleet) -> tuple[Holder, ...]:
        """Return the holders on all hosts, host by host."""
        return tuple(one for host in fleet.hosts for one in self.holders_of(fleet, host))

    def judge(self, fleet: Fleet) -> FleetVerdict:
        """Judge a fleet."""
        return join_hosts(tuple(self.judged(host) for host in fleet.hosts))

    def judged(self, host: Host) -> HostVerdict:
        """Judge one host."""
        known = self._judged.get(host.name)
        if known is None or known.host is not host:
            known = judge_host(host, baselines=self._baselines)
            self._judged[host.name] = known
        return known

    def tally(self, fleet: Fleet) -> Tally:
        """Add up a fleet."""
        sums = tuple(self._sums_of(host) for host in fleet.hosts if is_read(host))
        return joined_sums(fleet, self.all_holders(fleet), sums)

    def _sums_of(self, host: Host) -> HostSums:
        known = self._sums.get(host.name)
        if known is None or known[0] is not host:
            known = (host, host_sums(self.judged(host)))
            self._sums[host.name] = known
        return known[1]


def _marks(host: Host, words: dict[GpuState, str]) -> tuple[GpuMark, ...]:
    return tuple(
        GpuMark(host.name, gpu.info.index, words[gpu.state])
        for gpu in host.gpus
        if gpu.state in words
    )
