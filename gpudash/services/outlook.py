"""Looks now and then who the holders are together, and what a cleanup would do to them.

A whole scan costs a host 0.3 s of sleeping, so it is taken when other pids are listed than at the
last one, and once a minute: what was alive a minute ago may be left over now.
"""

from __future__ import annotations

import asyncio
import logging

from gpudash.core.cleanup.outlook import kin_of
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.events import Foreseen
from gpudash.core.holders import scan_need
from gpudash.core.model import Link
from gpudash.services.clock import Clock
from gpudash.services.managers import ask_managers
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

LOOK_S = 0.5
AGAIN_S = 60.0
ANYTHING = Request()
AT_ONCE = 4
"""So many hosts are looked at side by side."""


class Outlook:
    """Keeps what is known of families up to date on every host of a monitor."""

    def __init__(self, monitor: FleetMonitor, clock: Clock, request: Request = ANYTHING) -> None:
        """Look at nothing yet; `request` is what a cleanup from the screen would ask for."""
        self._monitor = monitor
        self._request = request
        self._clock = clock
        self._seen: dict[str, tuple[frozenset[int], float]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look from now on."""
        self._task = asyncio.create_task(self._keep(), name="outlook")

    async def close(self) -> None:
        """Look no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _keep(self) -> None:
        while True:
            due = [host.name for host in self._monitor.fleet.hosts if self._is_due(host.name)]
            await asyncio.gather(*(self._look(name) for name in due[:AT_ONCE]))
            await asyncio.sleep(LOOK_S)

    def _is_due(self, name: str) -> bool:
        host = self._monitor.fleet.host(name)
        if host.link is not Link.LIVE or not host.listed:
            return False
        listed, at_s = self._seen.get(name, (frozenset(), float("-inf")))
        return listed != host.listed or self._clock.now() - at_s > AGAIN_S

    async def _look(self, name: str) -> None:
        host = self._monitor.fleet.host(name)
        self._seen[name] = (host.listed, self._clock.now())
        need = scan_need(host)
        has_maps = need is not None and need.has_maps
        try:
            scan = await self._monitor.scan(name, is_whole=True, has_maps=has_maps)
        except SourceError as error:
            log.info("[%s] families are not known: %s", name, error)
            return
        host = self._monitor.fleet.host(name)
        # Whether a manager still knows what it ran decides what `c` would do.
        answers = await ask_managers(self._monitor.looking(name), host, scan)
        plan = plan_host(host, scan, self._request, at_s=self._clock.now(), answers=answers)
        self._monitor.learn(name, Foreseen(kin=kin_of(plan)))
