"""Keeps the details of one host fresh while somebody looks at them, and asks nothing otherwise.

The sampler is asked for the slow calls of one GPU, the hand for the processes of the families on
it. Who was there at one look and is gone at a later one stays known, as ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from gpudash.core.detailwords import Detailed
from gpudash.core.families import Key
from gpudash.core.holding import is_probe
from gpudash.core.kinship import Roll, looked, roots_of
from gpudash.core.members import Member, member_of
from gpudash.core.model import Gpu, Host, Link
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

EVERY_S = 3.0


class Detailing:
    """What is known of one host beyond its ticks."""

    def __init__(self, monitor: FleetMonitor, clock: Clock, name: str) -> None:
        """Ask nothing yet."""
        self._monitor = monitor
        self._clock = clock
        self._name = name
        self._gpu: int | None = None
        self._roll = Roll()
        self._scanned: tuple[object, dict[int, Member]] = (None, {})
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Ask from now on, until closed."""
        self._task = asyncio.create_task(self._keep(), name=f"details {self._name}")

    async def close(self) -> None:
        """Ask no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def turn_to(self, gpu: int | None) -> None:
        """Ask about the GPU of an index from now on, or about none."""
        if gpu != self._gpu:
            self._gpu = gpu
            self._wake.set()

    def detail(self, gpu: Gpu) -> Detailed:
        """Return what the slow calls of a GPU answered last."""
        host = self._monitor.fleet.host(self._name)
        source = host.facts.source if host.facts else ""
        if source == "nvidia-smi":
            return Detailed(error="Read through nvidia-smi: these questions are not asked there.")
        return self._monitor.detailed(self._name).of(gpu)

    def members(self, host: Host) -> Mapping[int, Member]:
        """Return the processes of the newest look, by pid."""
        if self._scanned[0] is not host.scan:
            found = host.scan.processes if host.scan else ()
            known = {one.pid: member_of(one, host.scanned_s) for one in found if not is_probe(one)}
            self._scanned = (host.scan, known)
        return self._roll.over(self._scanned[1], host.scanned_s)

    def ended(self) -> Mapping[Key, tuple[Member, ...]]:
        """Return, by family, who was seen alive and is no more."""
        return self._roll.ended

    async def _keep(self) -> None:
        while True:
            self._wake.clear()
            host = self._monitor.fleet.host(self._name)
            if host.link is Link.LIVE:
                await self._ask(host)
            try:
                async with asyncio.timeout(EVERY_S):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _ask(self, host: Host) -> None:
        if self._gpu is not None:
            self._monitor.detailed(self._name, self._gpu)
        roots = roots_of(host, self._monitor.fleet.letters)
        if not roots:
            return
        try:
            found = await self._monitor.looking(self._name).kindred(sorted(roots))
        except SourceError as error:
            log.info("[%s] no processes for the details: %s", self._name, error)
            return
        host = self._monitor.fleet.host(self._name)
        families = roots_of(host, self._monitor.fleet.letters)
        self._roll = looked(self._roll, found, families, self._clock.now())
