"""`gpudash check`: one reading, one verdict, one exit code.

The sampler starts before this module imports anything else of ours; see cli/main.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudash.sources import oneshot

if TYPE_CHECKING:
    import argparse

    from gpudash.core.model import Fleet

_WITH_VALUE = frozenset({"--gpu", "--expect", "--format"})


def run(words: list[str]) -> int:
    """Read this machine once, print the verdict, return its exit code."""
    probe = _start_early(words)
    try:
        from gpudash.cli.commands import checked

        plan = checked.parse(words)
        if probe is None:
            probe = _start()
        fleet = _read(probe, plan)
    finally:
        if probe is not None:
            probe.end()
    return checked.report(fleet, plan)


def _start_early(words: list[str]) -> oneshot.Probe | None:
    """Start the sampler at once unless the words want something else than a reading."""
    if {"-h", "--help"} & set(words):
        return None
    return _start()


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
    from gpudash.core.families import listed_pids, pids_are_local
    from gpudash.core.fleet import apply, new_fleet

    name = plan.hosts[0]
    fleet = new_fleet((name,), 0.0)
    for event in oneshot.finish(probe):
        fleet = apply(fleet, name, event, 0.0)
    host = fleet.hosts[0]
    pids = listed_pids(host)
    if pids and pids_are_local(host):
        # One short-lived process more, only where somebody holds something.
        for event in oneshot.ask_processes(pids):
            if not type(event).__name__.startswith("Link"):
                fleet = apply(fleet, name, event, 0.0)
    return fleet
