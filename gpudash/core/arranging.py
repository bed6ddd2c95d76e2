"""Which hosts and GPUs are shown, and in which order; neither moves under the user's hands.

The order is made anew when the user asks, when hosts come or go, and by trouble when a host's
trouble changes and no key was pressed for 5 s. What a filter shows follows the readings with the
same patience.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from gpudash.core.families import Holder, unexplained_bytes
from gpudash.core.gates import standing
from gpudash.core.model import Fleet, GpuState, Host, Link, Owner
from gpudash.core.query.language import EVERYTHING, Query
from gpudash.core.query.matching import Subject, matches, subjects
from gpudash.core.verify import HostVerdict, Verdict

PATIENCE_S = 5.0
"""So long no key was pressed before anything moves by itself."""


class Sort(Enum):
    """By what hosts are sorted; the value is how the screen says it."""

    GIVEN = "as given"
    TROUBLE = "by trouble"
    NAME = "by name"
    MEMORY = "by memory"
    UTILISATION = "by utilisation"

    @property
    def following(self) -> Sort:
        """Return the next one, round and round."""
        every = list(Sort)
        return every[(every.index(self) + 1) % len(every)]


class Shown(NamedTuple):
    """A host that is shown, and which of its GPUs."""

    host: str
    gpus: tuple[int, ...] | None = None
    """Positions in the roster; None is all."""


class Facts(NamedTuple):
    """What is known of a fleet."""

    fleet: Fleet
    judge: Callable[[Host], HostVerdict]
    holders: Callable[[Host], tuple[Holder, ...]]
    now_s: float = 0.0


class Arrangement(NamedTuple):
    """What is shown, until something moves it."""

    query: Query = EVERYTHING
    sort: Sort = Sort.GIVEN
    order: tuple[str, ...] = ()
    """All hosts that could be shown."""
    shown: tuple[Shown, ...] = ()
    """Those that are, in this order."""
    rosters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Hosts as given and their GPUs, as when it was made."""
    troubles: tuple[int, ...] = ()
    """Of the hosts as given; only while sorted by trouble."""

    @property
    def is_filtered(self) -> bool:
        """Tell whether a filter is set."""
        return self.query != EVERYTHING

    def gpus_of(self, host: str) -> tuple[int, ...] | None:
        """Return the positions shown of a host; None for all of them, () for a hidden host."""
        return next((one.gpus for one in self.shown if one.host == host), ())


NOT_ARRANGED = Arrangement()
"""Before anything was looked at."""


def arranged(
    before: Arrangement, facts: Facts, query: Query, sort: Sort, *, is_quiet: bool
) -> Arrangement:
    """Return what to show now. `is_quiet`: no key was pressed for `PATIENCE_S`."""
    hosts = standing(facts.fleet)
    rosters = tuple((host.name, tuple(gpu.info.key for gpu in host.gpus)) for host in hosts)
    is_asked = query != before.query or sort != before.sort or rosters != before.rosters
    order, troubles = before.order, before.troubles
    if sort is Sort.TROUBLE and (is_asked or is_quiet):
        troubles = tuple(trouble(facts.judge(host), facts.holders(host)) for host in hosts)
    if is_asked or (sort is Sort.TROUBLE and troubles != before.troubles):
        order = _order(hosts, sort, troubles)
    elif query == EVERYTHING or not is_quiet:
        return before
    shown = _shown(hosts, order, facts, query)
    return Arrangement(query, sort, order, shown, rosters, troubles)


def _shown(
    hosts: tuple[Host, ...], order: tuple[str, ...], facts: Facts, query: Query
) -> tuple[Shown, ...]:
    if query == EVERYTHING:
        return tuple(Shown(name) for name in order)
    by_name = {host.name: host for host in hosts}
    found = (filtered(by_name[name], facts, query) for name in order)
    return tuple(one for one in found if one is not None)


def filtered(host: Host, facts: Facts, query: Query) -> Shown | None:
    """Return what a filter shows of a host; None where that is nothing."""
    asked = subjects(facts.judge(host), facts.holders(host), facts.now_s)
    kept = tuple(at for at, one in enumerate(asked) if matches(query, one) is True)
    if not kept:
        return None
    return Shown(host.name, None if len(kept) == len(asked) else kept)


def _order(hosts: tuple[Host, ...], sort: Sort, troubles: tuple[int, ...]) -> tuple[str, ...]:
    names = [host.name for host in hosts]
    match sort:
        case Sort.GIVEN:
            return tuple(names)
        case Sort.NAME:
            return tuple(sorted(names, key=natural))
        case Sort.TROUBLE:
            ranks: list[float] = list(troubles)
        case Sort.MEMORY:
            ranks = [-_memory(host) for host in hosts]
        case Sort.UTILISATION:
            ranks = [-_utilisation(host) for host in hosts]
    # Equal ones stay as given: sorted is stable.
    return tuple(name for _, name in sorted(zip(ranks, names, strict=True), key=lambda one: one[0]))


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts node2 before node10; the login does not count."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name.rpartition("@")[2].lower())
    return tuple(
        (part[0].isdecimal(), int(part) if part[0].isdecimal() else 0, part) for part in parts
    )


def trouble(judged: HostVerdict, holders: tuple[Holder, ...]) -> int:
    """Return how bad a host stands, the worst first (mockups spec §2): 0 leftover to 6 clear."""
    host = judged.host
    states = {gpu.state for gpu in host.gpus}
    if any(one.owner is Owner.LEFTOVER or one.is_dead for one in holders):
        return 0
    if host.link is not Link.LIVE:
        return 1
    if states & {GpuState.LOST, GpuState.MISSING, GpuState.NEEDS_RESET, GpuState.NEEDS_ATTENTION}:
        return 2
    if any(unexplained_bytes(gpu) for gpu in host.gpus):
        return 3
    if judged.verdict is Verdict.UNKNOWN:
        return 4
    return 5 if judged.verdict is Verdict.HELD else 6


def problems(facts: Facts, shown: tuple[Shown, ...]) -> tuple[tuple[str, int], ...]:
    """Return host and position of every GPU shown that something is wrong with, in order.

    A host that is not read, or has no GPU, counts once, at its first row.
    """
    hosts = {host.name: host for host in facts.fleet.hosts}
    found: list[tuple[str, int]] = []
    for one in shown:
        host = hosts.get(one.host)
        if host is None:
            continue
        kept = range(len(host.gpus)) if one.gpus is None else one.gpus
        if host.link is not Link.LIVE or not host.gpus:
            found.append((host.name, next(iter(kept), 0)))
            continue
        asked = subjects(facts.judge(host), facts.holders(host), facts.now_s)
        found += [(host.name, at) for at in kept if at < len(asked) and _is_wrong(asked[at])]
    return tuple(found)


def _is_wrong(subject: Subject) -> bool:
    gpu, judged = subject.gpu, subject.judged
    if gpu is None or judged is None or gpu.state is not GpuState.READ:
        return True
    # What an idle GPU held when it was accepted is explained by that.
    is_unexplained = judged.verdict is not Verdict.BASELINE and bool(unexplained_bytes(gpu))
    if judged.verdict is Verdict.UNKNOWN or is_unexplained:
        return True
    return any(one.owner is Owner.LEFTOVER or one.is_dead for one in subject.holders)


def _memory(host: Host) -> float:
    used = [gpu.reading.used_bytes for gpu in host.gpus if gpu.reading]
    return float(sum(one for one in used if one is not None)) if used else -1.0


def _utilisation(host: Host) -> float:
    found = [gpu.reading.utilisation_pct for gpu in host.gpus if gpu.reading]
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known else -1.0
