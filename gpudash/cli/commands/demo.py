"""`gpudash demo [SCENARIO]`: a simulated fleet in the dashboard, no GPU needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from gpudash.services.monitor import FleetMonitor
    from gpudash.sources.demo import Scenario

PAST_HOSTS = 8
"""For more hosts no past is made up: it would take seconds, and a heat map shows none."""


def run(words: list[str]) -> int:
    """Show a scenario; it is marked SIMULATED everywhere."""
    import tempfile
    from pathlib import Path

    from gpudash.cli import arguments
    from gpudash.cli.commands.dashboard import acts_of, add_looks, finish_looks, looks_of
    from gpudash.cli.logs import log_to_folder
    from gpudash.sources.demo import DEFAULT, NAMES, parse_scenario
    from gpudash.ui import start
    from gpudash.ui.early import EarlyScreen

    parser = arguments.Parser(prog="gpudash demo", description="A simulated fleet.")
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT,
        metavar="SCENARIO",
        help=f"{', '.join(NAMES)} (default {DEFAULT}); fleet:HxG is H hosts of G GPUs",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another past")
    add_looks(parser)
    plan = parser.parse_words(words)
    config = finish_looks(plan)
    scenario = parse_scenario(plan.scenario)
    arguments.require_terminal()
    looks = looks_of(plan, config)
    log_to_folder()
    monitor = make_monitor(scenario, plan.seed, plan.interval_s)
    acts = acts_of(plan, config, ())
    # What is made up stays out of the records of what was.
    with EarlyScreen() as screen, tempfile.TemporaryDirectory(prefix="gpudash-demo-") as folder:
        if acts is not None:
            acts = acts._replace(folder=Path(folder))
            put_earlier(Path(folder))
        return start.show(monitor, looks, screen, acts=acts, is_tour=scenario.is_tour)


def put_earlier(folder: Path) -> None:
    """Store what the demo's jobs took before, so that there is something to compare with."""
    from gpudash.services.startup.past import Past
    from gpudash.sources.demo.earlier import earlier_runs
    from gpudash.ui.start import PAST

    past = Past(folder / PAST)
    for run in earlier_runs():
        past.add(run)


def make_monitor(scenario: Scenario, seed: int, interval_s: float) -> FleetMonitor:
    """Return a monitor of a simulated fleet, with a past to draw."""
    from gpudash.core.ownership import Note
    from gpudash.services.clock import SystemClock
    from gpudash.services.monitor import FleetMonitor
    from gpudash.services.past import seed as put_past
    from gpudash.sources.demo import demo_sources, prehistory

    clock = SystemClock()
    sources = demo_sources(scenario, seed)
    monitor = FleetMonitor(sources, clock, interval_s=interval_s)
    if len(sources) <= PAST_HOSTS:
        for past in prehistory(scenario, seed):
            now_s = int(clock.now())
            put_past(monitor.history, past.host, past.gpu, now_s, past.values)
            notes = (Note(now_s + at_s, shares) for at_s, shares in past.owners)
            monitor.history.ownership.seed(past.host, past.gpu, notes)
    return monitor
