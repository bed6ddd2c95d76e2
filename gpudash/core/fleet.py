"""The reducer: what is known of all hosts after one more event.

`apply(fleet, host, event, at)` is the only way that a fleet changes. A stream that stops leaves
the last values in place and takes away the link's LIVE, which is what a verdict needs.
"""

from __future__ import annotations

from dataclasses import replace

from gpudash.core import problems
from gpudash.core.events import (
    Ack,
    Bye,
    Event,
    Fault,
    Foreseen,
    Garbled,
    HandTold,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkMeasured,
    LinkPaused,
    LinkSlept,
    LinkStale,
    LinkUp,
    OrderTold,
    Sample,
    Scanned,
)
from gpudash.core.families import listed_pids
from gpudash.core.happenings import noticed, retold
from gpudash.core.kin import is_first_look
from gpudash.core.letters import relettered
from gpudash.core.model import (
    Fleet,
    GpuState,
    Happening,
    Host,
    HostFacts,
    Link,
    ProcessInfo,
)
from gpudash.core.readings import read_gpu, with_twins_named
from gpudash.core.rosters import NOTHING_EXPECTED, rostered

TYPE_CHECKING = False  # typing takes 5 ms to import
if TYPE_CHECKING:
    from collections.abc import Mapping

HAPPENINGS = 1000
"""Lines of what happened that are kept; one more copies as many references: 12 µs."""


def new_fleet(
    names: tuple[str, ...],
    at_s: float,
    *,
    simulated: frozenset[str] = frozenset(),
    expected: Mapping[str, int] = NOTHING_EXPECTED,
) -> Fleet:
    """Return a fleet of hosts that are being connected; those that are made up are marked.

    `expected`: how many GPUs a host must have; what it lacks is MISSING.
    """
    return Fleet(
        hosts=tuple(
            Host(
                name=name,
                link_since_s=at_s,
                is_invented=name in simulated,
                expected_gpus=expected.get(name),
            )
            for name in names
        )
    )


def apply(fleet: Fleet, name: str, event: Event, at_s: float) -> Fleet:
    """Return the fleet after one event of one host, received at `at_s` of the viewer's clock.

    Raises KeyError for a host that is not in the fleet.
    """
    before = fleet.host(name)
    after = step(before, event, at_s)
    if after is before:
        return fleet
    letters = fleet.letters
    past = fleet.happenings
    has_new_families = families_changed(before, after)
    if has_new_families:
        letters = relettered(fleet, after, is_anew=is_first_look(before, after))
    if is_first_look(before, after):
        past = retold(past, after, before_letters=fleet.letters, letters=letters)
    news = noticed(before, after, letters, at_s, has_new_families=has_new_families)
    hosts = tuple(after if host.name == name else host for host in fleet.hosts)
    happenings = (*news, *past)[:HAPPENINGS] if news else past
    return replace(fleet, hosts=hosts, letters=letters, happenings=happenings)


def with_happening(fleet: Fleet, happening: Happening) -> Fleet:
    """Return a fleet with one more line of what happened."""
    return replace(fleet, happenings=(happening, *fleet.happenings)[:HAPPENINGS])


def families_changed(before: Host, after: Host) -> bool:
    """Tell whether who holds memory may be somebody else now."""
    return (
        before.processes is not after.processes
        or before.gone_pids != after.gone_pids
        or before.listed != after.listed
        or before.scan is not after.scan
        or before.kin is not after.kin
    )


def step(host: Host, event: Event, at_s: float) -> Host:
    """Return one host after one event."""
    match event:
        case Hello():
            return _greeted(host, event, at_s)
        case Sample():
            return _sampled(host, event, at_s)
        case Ack():
            return _answered(host, event, at_s)
        case Scanned():
            return _scanned(host, event, at_s)
        case Fault():
            return _faulted(host, event, at_s)
        case Garbled():
            return _garbled(host, event, at_s)
        case Bye() | OrderTold() | HandTold():
            return host
        case Foreseen():
            return host if event.kin == host.kin else replace(host, kin=event.kin)
        case LinkConnecting():
            return _linked(host, Link.CONNECTING, at_s)
        case LinkUp():
            return replace(host, transport=event.transport, link_notes=event.notes)
        case LinkMeasured(round_trip_s=trip_s, clock_offset_s=offset_s):
            return replace(host, round_trip_s=trip_s, clock_offset_s=offset_s)
        case LinkStale() | LinkSlept():
            return _linked(host, Link.STALE, at_s) if host.link is Link.LIVE else host
        case LinkDown():
            down = replace(host, problem=event.problem, retry=host.retry + 1, seq=-1)
            return _linked(down, Link.DOWN, at_s)
        case LinkPaused():
            return _paused(host, event, at_s)
        case _:
            from typing import assert_never

            return assert_never(event)


def _linked(host: Host, link: Link, at_s: float) -> Host:
    if host.link is link:
        return host
    return replace(host, link=link, link_since_s=at_s)


def _paused(host: Host, event: LinkPaused, at_s: float) -> Host:
    problem = problems.paused(is_released=event.is_released)
    return _linked(replace(host, problem=problem, seq=-1), Link.PAUSED, at_s)


def _greeted(host: Host, hello: Hello, at_s: float) -> Host:
    old = host.facts
    rebooted = has_rebooted(old, hello.facts)
    host = replace(
        host,
        facts=hello.facts,
        gpus=rostered(host.gpus, with_twins_named(hello.roster), host.expected_gpus),
        interval_s=hello.interval_s,
        seq=-1 if hello.seq == 0 else host.seq,
        processes=() if rebooted else host.processes,
        gone_pids=frozenset() if rebooted else host.gone_pids,
        scan=None if rebooted else host.scan,
        kin=() if rebooted else host.kin,
        problem=None,
        retry=0,
        round_trip_s=host.round_trip_s if hello.seq else None,
        clock_offset_s=None if rebooted else host.clock_offset_s,
    )
    if not hello.roster:
        return _linked(replace(host, problem=problems.no_gpus()), Link.LIVE, at_s)
    # A new session has read nothing yet; a later hello only corrects the roster of this one.
    if hello.seq == 0 or rebooted:
        return _linked(host, Link.CONNECTING, at_s)
    return host


def has_rebooted(before: HostFacts | None, after: HostFacts | None) -> bool:
    """Tell whether two greetings are of two boots; a source that can't tell says no."""
    if before is None or after is None:
        return False
    return None not in (before.boot_id, after.boot_id) and before.boot_id != after.boot_id


def _sampled(host: Host, sample: Sample, at_s: float) -> Host:
    present = [gpu for gpu in host.gpus if gpu.state is not GpuState.MISSING]
    if host.facts is None or len(sample.readings) != len(present):
        return _garbled(host, Garbled(reason="a tick is incomplete", excerpt=""), at_s)
    if sample.seq <= host.seq:
        return host
    # The scrambled lists of some drivers are a matter of the binding: nvidia-smi brings its own.
    driver = host.facts.driver if host.facts.source == "nvml" else None
    read = iter(sample.readings)
    gpus = tuple(
        gpu if gpu.state is GpuState.MISSING else read_gpu(gpu.info, next(read), driver)
        for gpu in host.gpus
    )
    host = replace(
        host,
        gpus=gpus,
        seq=sample.seq,
        host_monotonic_s=sample.host_monotonic_s,
        received_s=at_s,
        samples=host.samples + 1,
        problem=None if present else host.problem,
    )
    listed = listed_pids(host)
    if listed != host.listed:
        host = replace(host, listed=listed, gone_pids=host.gone_pids & listed)
    return _linked(host, Link.LIVE, at_s)


def _answered(host: Host, ack: Ack, at_s: float) -> Host:
    if not ack.processes and not ack.gone:
        return host
    listed = host.listed
    known = {info.pid: info for info in host.processes if info.pid in listed}
    told = {info.pid: _named(info, known.get(info.pid), at_s) for info in ack.processes}
    known.update({pid: info for pid, info in told.items() if pid in listed})
    for pid in ack.gone:
        known.pop(pid, None)
    processes = tuple(info for _, info in sorted(known.items()))
    gone = ((host.gone_pids - told.keys()) | ack.gone) & listed
    return replace(host, processes=processes, gone_pids=gone)


def _scanned(host: Host, event: Scanned, at_s: float) -> Host:
    """Keep the newest scan; one of another boot tells of processes that are no more."""
    boot = host.facts.boot_id if host.facts else None
    if boot is not None and event.scan.boot_id not in (None, boot):
        return host
    return replace(host, scan=event.scan, scanned_s=at_s)


def _named(info: ProcessInfo, before: ProcessInfo | None, at_s: float) -> ProcessInfo:
    """Keep the words of a process that ended: the kernel has them no more."""
    words = info.argv
    if info.has_ended and before is not None and before.start_ticks == info.start_ticks:
        words = words or before.argv
    return replace(info, known_at_s=at_s, argv=words)


def _faulted(host: Host, fault: Fault, at_s: float) -> Host:
    if fault.code is None:
        problem = problems.hangs(fault)
        if host.link is Link.HUNG and host.problem == problem:
            return host
        return _linked(replace(host, problem=problem), Link.HUNG, at_s)
    if not fault.is_fatal:
        return host
    failed = replace(host, problem=problems.problem_of(fault), retry=host.retry + 1, seq=-1)
    return _linked(failed, Link.DOWN, at_s)


def _garbled(host: Host, garbled: Garbled, at_s: float) -> Host:
    return _linked(replace(host, problem=problems.nonsense(garbled)), Link.STALE, at_s)
