"""How the screen begins cleanups: a record of its own for each, and the cleaner over it."""

from __future__ import annotations

import getpass
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from gpudash import __version__
from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.cleanup.planner import Request
from gpudash.core.cleanup.protection import Rule
from gpudash.core.record import begun
from gpudash.core.scope import Scope
from gpudash.services.cleaner import Cleaner
from gpudash.services.clock import Clock
from gpudash.services.ground import Wish
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Recorder, Run
from gpudash.services.scanning import scanner
from gpudash.ui.cleanups import MakeCleaner

log = logging.getLogger(__name__)


class Teller:
    """Tells that a record can't be written: to the log, and to whoever looks."""

    def __init__(self) -> None:
        """Tell nobody but the log yet."""
        self.to: Callable[[str], None] = lambda _problem: None

    def __call__(self, problem: str) -> None:
        """Tell it; called in whatever thread."""
        log.warning("%s", problem)
        self.to(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanWays:
    """What cleanups from the screen need; a read-only screen has none."""

    recorder: Recorder
    teller: Teller = field(default_factory=Teller)
    baselines: Baselines = NO_BASELINES
    readonly: frozenset[str] = frozenset()
    """Hosts that are only looked at, by name."""
    confirms_always: bool = False
    """`cleanup.confirm = "always"`: the plan is shown even where one key would do."""

    rules: tuple[Rule, ...] = ()
    """Who is protected besides."""

    @property
    def request(self) -> Request:
        """Return what every cleanup from the screen asks for."""
        return Request(rules=self.rules, baselines=self.baselines)

    def maker(self, monitor: FleetMonitor, clock: Clock) -> MakeCleaner:
        """Return what begins cleanups over a monitor."""

        def make(
            scope: Scope | None, hosts: tuple[str, ...], changed: Callable[[], None]
        ) -> tuple[Cleaner, Run]:
            run = self.recorder.begin("clean")
            run.write(
                begun(
                    ("gpudash", "(dashboard)", "clean", *hosts),
                    version=__version__,
                    user=_user(),
                    machine=socket.gethostname(),
                    hosts=hosts,
                    is_simulated=monitor.fleet.is_simulated,
                    pid=os.getpid(),
                )
            )
            cleaner = Cleaner(
                Wish(scope=scope, request=self.request),
                monitor,
                clock,
                scanner(monitor),
                run,
                hosts=hosts,
                baselines=self.baselines,
                listener=lambda _name: changed(),
            )
            return cleaner, run

        return make


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid()) if hasattr(os, "geteuid") else "?"
