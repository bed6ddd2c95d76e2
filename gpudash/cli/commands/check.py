"""`gpudash check`: one reading, one verdict, one exit code.

The sampler starts before this module imports anything else of ours; see cli/main.py.
"""

from __future__ import annotations

from gpudash.sources import oneshot

TYPE_CHECKING = False  # typing takes 5 ms to import, and the sampler waits for it
if TYPE_CHECKING:
    import argparse

    from gpudash.core.events import Event
    from gpudash.core.model import Fleet
    from gpudash.core.ways import Way


def run(words: list[str]) -> int:
    """Read the hosts once, print the verdict, return its exit code."""
    if not _is_about_here(words) or _is_held(words):
        from gpudash.cli.commands import checked

        plan = checked.parse(words)
        if plan.hold_s is None:
            from gpudash.cli.commands import reading

            return checked.report(reading.read(plan.ways), plan)
        from gpudash.cli.commands import held

        fleet, proof, run = held.prove(plan, words)
        return checked.report(fleet, plan, proof, run)
    probe = _start_early(words)
    try:
        from gpudash.cli.commands import checked

        plan = checked.parse(words)
        if plan.ways[0].has_sudo:
            from gpudash.cli.commands import reading

            return checked.report(reading.read(plan.ways), plan)
        if probe is None:
            probe = _start()
        # The driver's session closes while the verdict is printed.
        return checked.report(_read(probe, plan), plan)
    finally:
        if probe is not None:
            probe.end()


def _is_about_here(words: list[str]) -> bool:
    """Tell whether no word names another machine, as far as can be told without parsing."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-") and word != "local":
            return False
        is_value = word in ("--gpu", "--expect", "--format")
    return True


def _is_held(words: list[str]) -> bool:
    """Tell whether a proof may be asked for: one reading needs no event loop."""
    return any(word.startswith("--hold") for word in words)


def _start_early(words: list[str]) -> oneshot.Probe | None:
    """Start the sampler at once unless the words want something else than a reading.

    Where that fails the words come first: a wrong flag is exit 2, driver or not.
    """
    if {"-h", "--help"} & set(words):
        return None
    try:
        return oneshot.begin()
    except OSError:
        return None


def _start() -> oneshot.Probe:
    try:
        return oneshot.begin()
    except OSError as error:
        from gpudash.core.errors import ReadingError

        raise ReadingError(
            f"the probe could not be started: {error}",
            hint="Is nvidia-ml-py installed beside gpudash? See: gpudash doctor",
        ) from error


def _read(probe: oneshot.Probe, plan: argparse.Namespace) -> Fleet:
    way = plan.ways[0]
    fleet = _reduced(way, oneshot.finish(probe))
    if fleet.hosts[0].problem is not None and not fleet.hosts[0].gpus:
        from gpudash.sources.smi_once import smi_events

        events = smi_events()
        if events is not None:
            fleet = _named(_reduced(way, events))
    return _scanned(fleet)


def _scanned(fleet: Fleet) -> Fleet:
    """Scan where a listed pid is odd or memory unexplained; the second time with maps."""
    from gpudash.core.listed import is_odd

    host = fleet.hosts[0]
    if not is_odd(host):
        return fleet
    from gpudash.core.events import Scanned
    from gpudash.core.fleet import apply
    from gpudash.core.holders import scan_need

    need = scan_need(host)
    if need is None:
        return fleet
    scanner = oneshot.Scanner()
    try:
        for _ in range(2):
            for event in scanner.scan(need) if need else ():
                if isinstance(event, Scanned):
                    fleet = apply(fleet, host.name, event, 0.0)
            need = scan_need(fleet.hosts[0])
    finally:
        scanner.end()
    return fleet


def _named(fleet: Fleet) -> Fleet:
    """Ask who is listed: nvidia-smi names no owner. Nobody's answer takes nothing away."""
    from gpudash.core.events import Ack
    from gpudash.core.families import listed_pids, pids_are_local
    from gpudash.core.fleet import apply

    host = fleet.hosts[0]
    pids = listed_pids(host)
    for event in oneshot.ask_processes(pids) if pids and pids_are_local(host) else ():
        if isinstance(event, Ack):
            fleet = apply(fleet, host.name, event, 0.0)
    return fleet


def _reduced(way: Way, events: list[Event]) -> Fleet:
    """Apply events; who a pid is counts only where the driver's pids are this host's."""
    from gpudash.core.events import Ack
    from gpudash.core.families import pids_are_local
    from gpudash.core.fleet import apply, new_fleet
    from gpudash.sources.standins import has_standins

    name = way.name
    simulated = frozenset((name,)) if has_standins() else frozenset()
    expected = {} if way.gpus is None else {name: way.gpus}
    fleet = new_fleet((name,), 0.0, simulated=simulated, expected=expected)
    for event in events:
        if not isinstance(event, Ack) or pids_are_local(fleet.hosts[0]):
            fleet = apply(fleet, name, event, 0.0)
    return fleet
