"""`gpudash [HOST …]`: the dashboard."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gpudash.sources.handover import EarlySampler

if TYPE_CHECKING:
    from gpudash.core.model import Fleet
    from gpudash.services.monitor import FleetMonitor

FIRST_LOOK_S = 1.0
"""So long the first frame waits for readings; a slow driver is shown as connecting."""
DENSITIES = ("card", "line", "cell")


def run(words: list[str]) -> int:
    """Show this machine's GPUs until the user leaves."""
    plan = _parse(words)
    from gpudash.ui import start

    start.require_terminal()
    theme = start.chosen_theme(plan.theme)
    glyphs = start.chosen_glyphs(is_ascii=plan.ascii)
    early = _start_early(plan)
    is_shown = False
    try:
        start.first_frame(_first_fleet(early), theme, glyphs, plan.density)
        is_shown = True
        monitor = _monitor(plan, early)
        return start.show(
            monitor, theme, glyphs, density=plan.density, demo=lambda: demo_monitor(plan)
        )
    finally:
        if early is not None:
            early.end()
        if is_shown:
            start.leave_first_frame()


def _parse(words: list[str]) -> argparse.Namespace:
    from gpudash.cli import arguments

    parser = arguments.Parser(prog="gpudash", description="The dashboard.")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="local; default: this machine")
    add_looks(parser)
    plan = parser.parse_words([word for word in words if word != "--"])
    plan.hosts = arguments.local_hosts(plan.hosts)
    finish_looks(plan)
    return plan


def add_looks(parser: argparse.ArgumentParser) -> None:
    """Add the flags that the dashboard and the demo share."""
    parser.add_argument("--interval", metavar="D", help="100ms to 1h (default 1s)")
    parser.add_argument("--theme", metavar="NAME", help="default gpudash-dark; t changes it")
    parser.add_argument("--density", metavar="WHAT", help="card, line or cell; default: what fits")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")


def finish_looks(plan: argparse.Namespace) -> None:
    """Check and convert these flags; the configuration says the rest. Raises UsageError."""
    from gpudash.cli import arguments
    from gpudash.cli.settings import configured
    from gpudash.ui.paint.view import Density

    configured(plan)
    plan.interval_s = arguments.interval(plan.interval)
    if plan.density is not None:
        plan.density = Density(arguments.choose(plan.density, DENSITIES, "density"))


def _start_early(plan: argparse.Namespace) -> EarlySampler | None:
    try:
        return EarlySampler(plan.interval_s)
    except OSError:
        # The stream that the monitor opens will fail in the same way, and say why.
        return None


def _first_fleet(early: EarlySampler | None) -> Fleet:
    from gpudash.core.fleet import apply, new_fleet
    from gpudash.services.clock import SystemClock

    now = SystemClock().now()
    fleet = new_fleet(("local",), now)
    for event in early.read_for(FIRST_LOOK_S) if early is not None else ():
        fleet = apply(fleet, "local", event, now)
    return fleet


def _monitor(plan: argparse.Namespace, early: EarlySampler | None) -> FleetMonitor:
    from gpudash.services.clock import SystemClock
    from gpudash.services.monitor import FleetMonitor
    from gpudash.sources.here import local_source

    sources = tuple(local_source(name, early) for name in plan.hosts)
    return FleetMonitor(sources, SystemClock(), interval_s=plan.interval_s)


def demo_monitor(plan: argparse.Namespace) -> FleetMonitor:
    """Return the simulated fleet that the first screen opens."""
    from gpudash.cli.commands.demo import make_monitor
    from gpudash.sources.demo import parse_scenario

    return make_monitor(parse_scenario(""), 1, plan.interval_s)
