"""`gpudash [HOST …]`: the dashboard."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudash.cli import arguments
from gpudash.cli.ways import LOCAL
from gpudash.sources.handover import EarlySampler

if TYPE_CHECKING:
    from gpudash.config.load import Config
    from gpudash.core.model import Fleet
    from gpudash.core.ways import Way
    from gpudash.services.monitor import FleetMonitor
    from gpudash.ui.start import Acts, Looks

FIRST_LOOK_S = 1.0
"""So long the first frame waits for readings; a slow driver is shown as connecting."""
FIRST_INTERVAL = "1s"
"""The sampler starts before the configuration is read, and is told what it says."""
FIRST_LOGIN_S = 3.0
"""So long hosts may take before the screen comes; slower ones log in behind it."""
DENSITIES = ("card", "line", "cell")


def run(words: list[str], commands: Sequence[str] = ()) -> int:
    """Show this machine's GPUs until the user leaves; `commands` are what else could be meant."""
    plan = _parse(words)
    _require_terminal(plan.hosts, commands)
    if any(word != LOCAL for word in plan.hosts):
        return _show_others(plan)
    # The sampler needs 0.1 s to come up; all imports of the first frame run beside it.
    early = _start_early(plan)
    try:
        return _show(plan, early)
    finally:
        if early is not None:
            early.end()


def _require_terminal(hosts: Sequence[str], commands: Sequence[str]) -> None:
    """Raise UsageError where there is no terminal; for a word that is no known host, say more."""
    if arguments.has_terminal():
        return
    if hosts and commands:
        from gpudash.cli.first_word import is_plain_word

        if is_plain_word(hosts[0]):
            arguments.require_terminal(
                f"{hosts[0]} is taken for a host. Commands: {', '.join(commands)}"
            )
    arguments.require_terminal()


def _show(plan: argparse.Namespace, early: EarlySampler | None) -> int:
    from gpudash.cli.ways import ways_of
    from gpudash.ui import start
    from gpudash.ui.early import EarlyScreen

    config = finish_looks(plan)
    (way, *_) = ways_of((), config)
    if early is not None and way.has_sudo:
        early.end()
        early = None
    if early is not None:
        early.change_interval(plan.interval_s)
    looks = looks_of(plan, config)
    with EarlyScreen() as screen:
        fleet = _first_fleet(early, way)
        screen.draw(fleet, looks.theme, looks.glyphs, looks.depth, looks.density, looks.actions)
        _log_to_folder()
        monitor = _monitor(plan, early, way)
        acts = acts_of(plan, config, (way,))
        return start.show(monitor, looks, screen, demo=lambda: demo_monitor(plan), acts=acts)


def _show_others(plan: argparse.Namespace) -> int:
    """Show other hosts: whoever asks for something is answered before the screen is taken."""
    from gpudash.cli.ways import ways_of

    config = finish_looks(plan)
    ways = ways_of(plan.hosts, config)

    async def show() -> int:
        from gpudash.cli.entering import enter
        from gpudash.services.clock import SystemClock
        from gpudash.services.door import Door
        from gpudash.services.monitor import FleetMonitor
        from gpudash.sources.hosts import Hosts
        from gpudash.ui import start
        from gpudash.ui.early import EarlyScreen

        hosts = Hosts(ways)
        try:
            await enter(hosts, FIRST_LOGIN_S)
            looks = looks_of(plan, config)
            with EarlyScreen() as screen:
                clock = SystemClock()
                monitor = FleetMonitor(hosts.sources, clock, interval_s=plan.interval_s)
                screen.draw(
                    monitor.fleet,
                    looks.theme,
                    looks.glyphs,
                    looks.depth,
                    looks.density,
                    looks.actions,
                )
                _log_to_folder()
                acts = acts_of(plan, config, ways)
                return await start.show_in_loop(
                    monitor, looks, screen, door=Door(hosts.logins), acts=acts
                )
        finally:
            await hosts.close()

    return asyncio.run(show())


def _log_to_folder() -> None:
    from gpudash.cli.logs import log_to_folder

    log_to_folder()


def _parse(words: list[str]) -> argparse.Namespace:
    parser = arguments.Parser(prog="gpudash", description="The dashboard.")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=arguments.HOST_HELP)
    add_looks(parser)
    plan = parser.parse_words([word for word in words if word != "--"])
    plan.interval_s = arguments.interval(plan.interval or FIRST_INTERVAL)
    return plan


def add_looks(parser: argparse.ArgumentParser) -> None:
    """Add the flags that the dashboard and the demo share."""
    parser.add_argument("--interval", metavar="D", help="100ms to 1h (default 1s)")
    parser.add_argument("--theme", metavar="NAME", help="default gpudash-dark; t changes it")
    parser.add_argument("--density", metavar="WHAT", help="card, line or cell; default: what fits")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    parser.add_argument("--readonly", action="store_true", help="look, and act on no host")


def finish_looks(plan: argparse.Namespace) -> Config:
    """Check and convert these flags; the configuration says the rest. Raises UsageError."""
    from gpudash.cli.settings import actions_of, configured
    from gpudash.ui.paint.view import Density

    plan.pinned = frozenset(one for one in ("theme", "density") if getattr(plan, one) is not None)
    config = configured(plan)
    plan.actions = actions_of(config)
    if plan.density is not None:
        plan.density = Density(arguments.choose(plan.density, DENSITIES, "density"))
    return config


def looks_of(plan: argparse.Namespace, config: Config) -> Looks:
    """Return how to draw on this terminal. Raises UsageError."""
    from gpudash.ui import start

    return start.Looks(
        plan.theme,
        plan.density,
        is_ascii=plan.ascii,
        actions=plan.actions,
        settings=start.Settings(config, plan.pinned),
    )


def acts_of(plan: argparse.Namespace, config: Config, ways: tuple[Way, ...]) -> Acts | None:
    """Return what may be done from the screen; None where it is read-only."""
    from gpudash.ui.start import Acts

    if plan.readonly or config.top("readonly").value:
        return None
    return Acts(
        readonly=frozenset(way.name for way in ways if way.is_readonly),
        confirms_always=config.cleanup("confirm").value == "always",
        rules=config.protect,
    )


def _start_early(plan: argparse.Namespace) -> EarlySampler | None:
    try:
        return EarlySampler(plan.interval_s)
    except OSError:
        # The stream that the monitor opens will fail in the same way, and say why.
        return None


def _first_fleet(early: EarlySampler | None, way: Way) -> Fleet:
    from gpudash.core.fleet import apply, new_fleet
    from gpudash.services.clock import SystemClock

    now = SystemClock().now()
    expected = {} if way.gpus is None else {LOCAL: way.gpus}
    fleet = new_fleet((LOCAL,), now, expected=expected)
    for event in early.read_for(FIRST_LOOK_S) if early is not None else ():
        fleet = apply(fleet, LOCAL, event, now)
    return fleet


def _monitor(plan: argparse.Namespace, early: EarlySampler | None, way: Way) -> FleetMonitor:
    from gpudash.services.clock import SystemClock
    from gpudash.services.monitor import FleetMonitor
    from gpudash.sources.expecting import expecting
    from gpudash.sources.here import local_source

    source = expecting(local_source(LOCAL, early, has_sudo=way.has_sudo), way.gpus)
    return FleetMonitor((source,), SystemClock(), interval_s=plan.interval_s)


def demo_monitor(plan: argparse.Namespace) -> FleetMonitor:
    """Return the simulated fleet that the first screen opens."""
    from gpudash.cli.commands.demo import make_monitor
    from gpudash.sources.demo import parse_scenario

    return make_monitor(parse_scenario(""), 1, plan.interval_s)
