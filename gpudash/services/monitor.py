"""Watches hosts: one task per host keeps its sampler alive and reduces what it says.

A host that fails costs its own pane: its task shows why, waits longer each time, and tries
again. Nobody is repainted from here: a change is only marked, readers look when they like.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from gpudash.core.events import (
    Ack,
    Event,
    Fault,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkStale,
    Sample,
)
from gpudash.core.families import listed_pids, pids_are_local
from gpudash.core.fleet import apply, has_rebooted, new_fleet
from gpudash.core.history import History
from gpudash.core.model import Fleet, Host, Link
from gpudash.services.clock import Clock
from gpudash.services.trace import Pacer, remember
from gpudash.sources.base import HostSource, SourceError, Stream

log = logging.getLogger(__name__)

STALE_INTERVALS = 3
LEAST_STALE_S = 1.5
HELLO_PATIENCE_S = 30.0
HUNG_PATIENCE_S = 30.0
"""A sampler whose call has not returned for so long is abandoned and replaced."""
RETRY_S = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
GOOD_STREAM_S = 30.0
RELEASE_S = 10.0
"""A pause of so long releases the driver: an open handle blocks resets and upgrades."""
PROCESS_REFRESH_S = 20.0
"""Listed processes are asked about again: the same pid may be another process by then."""
PROCESS_RETRY_S = 2.0


@dataclass(slots=True)
class _Watch:
    """What the monitor keeps of one host beside its value."""

    source: HostSource
    task: asyncio.Task[None] | None = None
    sampler: Stream | None = None
    hand: Stream | None = None
    hand_task: asyncio.Task[None] | None = None
    asked: frozenset[int] = frozenset()
    asked_s: float = 0.0
    next_id: int = 1
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    paused_s: float | None = None
    pacer: Pacer = field(default_factory=Pacer)


class FleetMonitor:
    """The live fleet. `fleet` and `history` are read at any time; `version` tells of change."""

    def __init__(
        self,
        sources: tuple[HostSource, ...],
        clock: Clock,
        *,
        interval_s: float = 1.0,
        jitter: Callable[[], float] = random.random,
        listener: Callable[[Event, Host, Host], None] | None = None,
    ) -> None:
        """Watch nothing yet. `listener` is told (event, host before, host after) of each change."""
        self._clock = clock
        self._interval_s = interval_s
        self._jitter = jitter
        self._listener = listener
        self._watches = {source.name: _Watch(source) for source in sources}
        self.fleet: Fleet = new_fleet(tuple(self._watches), clock.now())
        self.history = History()
        self.version = 0
        self.dirty: set[str] = set()
        """Hosts that changed since a reader last cleared it."""

    @property
    def interval_s(self) -> float:
        """Seconds between two ticks."""
        return self._interval_s

    def start(self) -> None:
        """Begin to watch every host."""
        for name, watch in self._watches.items():
            watch.task = asyncio.create_task(self._watch(name, watch), name=f"watch {name}")

    async def stop(self) -> None:
        """End every probe and every task."""
        tasks = [watch.task for watch in self._watches.values() if watch.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reconnect(self, name: str) -> None:
        """Try a host again now; a paused one goes on, a live one starts anew."""
        watch = self._watches[name]
        watch.paused_s = None
        watch.wake.set()

    def pause(self, name: str) -> None:
        """Let a host's values stand still; after 10 s its sampler ends: the driver is released."""
        watch = self._watches[name]
        if watch.paused_s is None:
            watch.paused_s = self._clock.now()
            self._apply(name, LinkPaused(is_released=watch.sampler is None))

    def resume(self, name: str) -> None:
        """Go on with a paused host: at once while its sampler still runs, else with a new one."""
        watch = self._watches[name]
        if watch.paused_s is not None:
            watch.paused_s = None
            if watch.sampler is None:
                watch.wake.set()

    def paused_for(self, name: str) -> float | None:
        """Return how long a host has been paused, or None."""
        paused_s = self._watches[name].paused_s
        return None if paused_s is None else self._clock.now() - paused_s

    def second(self, name: str) -> int:
        """Return the current second on a host's grid in the history."""
        return self._watches[name].pacer.second(self._clock.now())

    def _apply(self, name: str, event: Event) -> None:
        now = self._clock.now()
        before = self.fleet.host(name)
        self.fleet = apply(self.fleet, name, event, now)
        after = self.fleet.host(name)
        if after is before:
            return
        if isinstance(event, Hello) and _rebooted(before, after):
            self.history.forget(name)
        if isinstance(event, Sample) and after.samples != before.samples:
            remember(self.history, after, self._watches[name].pacer.tick(now))
        self.version += 1
        self.dirty.add(name)
        if self._listener is not None:
            self._listener(event, before, after)

    # -- one host over time ----------------------------------------------------------------

    async def _watch(self, name: str, watch: _Watch) -> None:
        failures = 0
        try:
            while True:
                watch.wake.clear()
                if watch.paused_s is not None:
                    self._apply(name, LinkPaused(is_released=True))
                    await watch.wake.wait()
                    continue
                began_s = self._clock.now()
                await self._attempt(name, watch)
                if self._clock.now() - began_s > GOOD_STREAM_S:
                    failures = 0
                if watch.wake.is_set() or watch.paused_s is not None:
                    failures = 0
                    continue
                await self._rest(watch, failures)
                failures += 1
        finally:
            await self._close(watch)

    async def _rest(self, watch: _Watch, failures: int) -> None:
        step = RETRY_S[min(failures, len(RETRY_S) - 1)]
        try:
            async with asyncio.timeout(step * (0.75 + 0.5 * self._jitter())):
                await watch.wake.wait()
        except TimeoutError:
            return

    async def _attempt(self, name: str, watch: _Watch) -> None:
        """Run one sampler until it ends, hangs for good, or the user wants otherwise."""
        self._apply(name, LinkConnecting())
        try:
            watch.sampler = await watch.source.open_sampler(self._interval_s)
            await self._follow(name, watch, watch.sampler)
        except SourceError as error:
            # A fatal fault was more precise than the end of the stream after it.
            if self.fleet.host(name).link is not Link.DOWN:
                self._apply(name, LinkDown(problem=error.problem))
        finally:
            await self._close(watch)

    async def _follow(self, name: str, watch: _Watch, stream: Stream) -> None:
        reader: asyncio.Future[list[Event]] | None = None
        waker = asyncio.ensure_future(watch.wake.wait())
        hung_since: float | None = None
        try:
            while not watch.wake.is_set() and not self._shall_release(watch):
                reader = reader or asyncio.ensure_future(stream.read())
                await asyncio.wait(
                    (reader, waker),
                    timeout=self._patience(name),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if reader.done():
                    events, reader = reader.result(), None
                    for event in events:
                        self._take(name, watch, event)
                    hung_since = None
                elif watch.paused_s is None and not watch.wake.is_set():
                    self._apply(name, LinkStale())
                    hung_since = hung_since or self._clock.now()
                    if self._clock.now() - hung_since > HUNG_PATIENCE_S:
                        return
        finally:
            waker.cancel()
            if reader is not None:
                reader.cancel()
                await asyncio.gather(reader, return_exceptions=True)

    def _shall_release(self, watch: _Watch) -> bool:
        return watch.paused_s is not None and self._clock.now() - watch.paused_s >= RELEASE_S

    def _patience(self, name: str) -> float:
        host = self.fleet.host(name)
        if host.link is Link.CONNECTING:
            return HELLO_PATIENCE_S
        # While paused the stream goes on: its ticks are what wakes us to release the driver.
        return max(LEAST_STALE_S, STALE_INTERVALS * host.interval_s)

    def _take(self, name: str, watch: _Watch, event: Event) -> None:
        if watch.paused_s is not None and not isinstance(event, Fault):
            return
        if isinstance(event, Fault) and not event.is_fatal:
            log.warning("[%s] %s: code %s, hung %s", name, event.call, event.code, event.hung_s)
        self._apply(name, event)
        if isinstance(event, Sample):
            self._ask_who(name, watch)

    async def _close(self, watch: _Watch) -> None:
        sampler, watch.sampler = watch.sampler, None
        hand_task, watch.hand_task = watch.hand_task, None
        if hand_task is not None:
            hand_task.cancel()
            await asyncio.gather(hand_task, return_exceptions=True)
        watch.asked = frozenset()
        if sampler is not None:
            await sampler.close()

    # -- who holds the memory --------------------------------------------------------------

    def _ask_who(self, name: str, watch: _Watch) -> None:
        """Ask the hand about listed pids that are new, or were asked about long ago."""
        host = self.fleet.host(name)
        pids = listed_pids(host)
        if not pids or not pids_are_local(host):
            return
        now = self._clock.now()
        waited_s = now - watch.asked_s
        is_new = not pids <= watch.asked
        is_open = self._unknown(host, pids) and waited_s > PROCESS_RETRY_S
        if not (is_new or is_open or waited_s > PROCESS_REFRESH_S):
            return
        watch.asked, watch.asked_s = pids, now
        if watch.hand_task is None or watch.hand_task.done():
            watch.hand_task = asyncio.create_task(self._hand(name, watch), name=f"hand {name}")
        elif watch.hand is not None:
            self._send_question(watch)

    @staticmethod
    def _unknown(host: Host, pids: frozenset[int]) -> frozenset[int]:
        return pids - {info.pid for info in host.processes} - host.gone_pids

    def _send_question(self, watch: _Watch) -> None:
        if watch.hand is not None:
            watch.next_id += 1
            watch.hand.send(watch.next_id, "process", {"pids": sorted(watch.asked)})

    async def _hand(self, name: str, watch: _Watch) -> None:
        """Keep one hand and pass on its answers; it is started again at the next need."""
        hand: Stream | None = None
        try:
            hand = watch.hand = await watch.source.open_hand()
            self._send_question(watch)
            while True:
                for event in await hand.read():
                    if isinstance(event, Ack):
                        self._apply(name, event)
        except SourceError as error:
            log.warning("[%s] the hand ended: %s %s", name, error, error.problem.detail)
        finally:
            watch.hand = None
            if hand is not None:
                await hand.close()


def _rebooted(before: Host, after: Host) -> bool:
    if before.facts is None or after.facts is None:
        return False
    return has_rebooted(before.facts, after.facts)
