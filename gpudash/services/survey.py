"""Reads hosts once, all at the same time: what `check` and `doctor` need, and no more.

Each host has its own limit and its own failure; one that can't be reached costs nobody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from gpudash.core.events import Ack, Event, Fault, LinkDown, Scanned
from gpudash.core.fleet import apply
from gpudash.core.holders import scan_need
from gpudash.core.listed import is_odd, listed_pids, pids_are_local
from gpudash.core.model import Fleet, Problem
from gpudash.services.lookout import scan_arguments
from gpudash.services.pulse import Pulse
from gpudash.services.unread import unread_fleet
from gpudash.sources.base import HostSource, SourceError, Stream

PATIENCE_S = 90.0
"""Login, first answer of a slow driver, and a queue of other logins before."""
HAND_PATIENCE_S = 10.0
PING_PATIENCE_S = 2.0
"""The answer comes beside the first tick; one that does not takes nothing from a reading."""


async def survey(sources: tuple[HostSource, ...], patience_s: float = PATIENCE_S) -> Fleet:
    """Return the fleet after one reading of each host, with who holds what where that is known."""
    reading = _Reading(sources)
    async with asyncio.TaskGroup() as group:
        for source in sources:
            group.create_task(reading.read(source, patience_s), name=f"read {source.name}")
    return reading.fleet


class _Reading:
    def __init__(self, sources: tuple[HostSource, ...]) -> None:
        self.fleet = unread_fleet(sources, 0.0)

    def _apply(self, name: str, event: Event) -> None:
        self.fleet = apply(self.fleet, name, event, 0.0)

    async def read(self, source: HostSource, patience_s: float) -> None:
        try:
            async with asyncio.timeout(patience_s):
                await self._sample(source)
        except SourceError as error:
            if not self.fleet.host(source.name).samples:
                self._apply(source.name, LinkDown(problem=error.problem))
        except TimeoutError:
            self._apply(source.name, LinkDown(problem=_too_slow(patience_s)))

    async def _sample(self, source: HostSource) -> None:
        stream = await source.open_sampler(1.0)
        pulse = Pulse(time.monotonic, time.time)
        try:
            while not self._is_read(source.name):
                events = await stream.read()
                self._take(source.name, events, pulse)
                if any(isinstance(event, Fault) and _is_final(event) for event in events):
                    return
                pulse.beat(self.fleet.host(source.name), stream)
            with contextlib.suppress(SourceError, TimeoutError):
                async with asyncio.timeout(PING_PATIENCE_S):
                    while pulse.beat(self.fleet.host(source.name), stream):
                        self._take(source.name, await stream.read(), pulse)
            with contextlib.suppress(SourceError, TimeoutError):
                async with asyncio.timeout(HAND_PATIENCE_S):
                    await self._ask(source)
        finally:
            await stream.close()

    def _take(self, name: str, events: list[Event], pulse: Pulse) -> None:
        for event in events:
            measured = pulse.hear(event) if isinstance(event, Ack) else None
            self._apply(name, measured or event)

    def _is_read(self, name: str) -> bool:
        return self.fleet.host(name).samples > 0

    async def _ask(self, source: HostSource) -> None:
        """Ask the hand; an answer that fails takes nothing from a reading."""
        if not is_odd(self.fleet.host(source.name)):
            return
        hand = await source.open_hand()
        try:
            await self._ask_who(source.name, hand)
            await self._scan(source.name, hand)
        finally:
            await hand.close()

    async def _ask_who(self, name: str, hand: Stream) -> None:
        host = self.fleet.host(name)
        pids = listed_pids(host)
        if pids and pids_are_local(host):
            hand.send(1, "process", {"pids": sorted(pids)})
            await self._hear(name, hand)

    async def _scan(self, name: str, hand: Stream) -> None:
        """Scan where a listed pid is odd or memory unexplained; the second time with maps."""
        for number in (2, 3):
            host = self.fleet.host(name)
            need = scan_need(host)
            if need is not None:
                hand.send(number, "scan", scan_arguments(host, has_maps=need.has_maps))
                await self._hear(name, hand)

    async def _hear(self, name: str, hand: Stream) -> None:
        is_answered = False
        while not is_answered:
            for event in await hand.read():
                if isinstance(event, Ack | Scanned):
                    self._apply(name, event)
                    is_answered = isinstance(event, Ack) and event.is_last


def _is_final(fault: Fault) -> bool:
    """Tell whether no reading will follow: a fatal one, or a call that hangs."""
    return fault.is_fatal or fault.code is None


def _too_slow(patience_s: float) -> Problem:
    return Problem(
        title="no answer",
        sentence=f"There was no reading within {patience_s:.0f} s.",
        advice="Does the driver hang there? Try: ssh HOST nvidia-smi",
    )
