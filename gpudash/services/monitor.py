"""Watches hosts: one task per host keeps its sampler alive and reduces what it says.

A host that fails costs its own pane: its task shows why, waits longer each time, tries again.
Nobody is repainted from here: a change is only marked, readers look when they like.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import random
from collections.abc import Callable

from gpudash.core.events import (
    Event,
    Fault,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkSlept,
    LinkStale,
    LinkUp,
    Sample,
)
from gpudash.core.fleet import apply, has_rebooted, with_happening
from gpudash.core.history import History
from gpudash.core.holding import Scan
from gpudash.core.model import Fleet, Happening, Host, Link
from gpudash.services.attempts import (
    SILENT,
    bug_problem,
    open_unless_woken,
    patience_s,
    rest,
    waits_for_person,
    was_good,
)
from gpudash.services.clock import Clock
from gpudash.services.gpudetails import Details
from gpudash.services.leap import Leap, keep_looking
from gpudash.services.looking import Looking
from gpudash.services.trace import remember
from gpudash.services.unread import unread_fleet
from gpudash.services.watch import Watch, watch_of
from gpudash.sources.base import HostSource, SourceError, Stream

log = logging.getLogger(__name__)

HUNG_PATIENCE_S = 30.0  # a sampler whose call has not returned for so long is replaced
RELEASE_S = 10.0  # of pause; an open handle blocks resets and upgrades


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
        """Watch nothing yet; `listener` is the first of the listeners."""
        self._clock = clock
        self._interval_s = interval_s
        self._jitter = jitter
        self._watches = {
            source.name: watch_of(source, clock, functools.partial(self._apply, source.name))
            for source in sources
        }
        self._leap: Leap | None = None
        self._leap_task: asyncio.Task[None] | None = None
        self.fleet: Fleet = unread_fleet(sources, clock.now())
        self.history = History()
        self.version = 0
        self.listeners = [] if listener is None else [listener]
        """Are told (event, host before, host after) of each change."""
        self.dirty: set[str] = set()
        """Hosts that changed since a reader last cleared it."""

    @property
    def interval_s(self) -> float:
        """Seconds between two ticks."""
        return self._interval_s

    def start(self) -> None:
        """Begin to watch every host."""
        self._leap = Leap(self._clock, asyncio.get_running_loop().time)
        self._leap_task = asyncio.create_task(keep_looking(self._heed_sleep), name="leap")
        for name, watch in self._watches.items():
            watch.task = asyncio.create_task(self._watch(name, watch), name=f"watch {name}")

    async def stop(self) -> None:
        """End every probe and every task."""
        tasks = [watch.task for watch in self._watches.values() if watch.task]
        if self._leap_task is not None:
            tasks.append(self._leap_task)
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
            self._apply(name, LinkPaused(is_released=False))
            wait_s = RELEASE_S if watch.sampler else 0.0  # One being opened is called off.
            asyncio.get_running_loop().call_later(wait_s, watch.release, watch.paused_s)

    def resume(self, name: str) -> None:
        """Go on with a paused host: at once while its sampler still runs, else with a new one."""
        self._watches[name].resume()

    def rate(self, name: str, interval_s: float | None, by: object = None) -> None:
        """Let a host tick so often for somebody; the fastest wish counts, None takes one back."""
        self._watches[name].wish(by, interval_s, self._interval_s)

    def note(self, happening: Happening) -> None:
        """Add a line to what happened."""
        self.fleet = with_happening(self.fleet, happening)
        self.version += 1

    def learn(self, name: str, event: Event) -> None:
        """Take what was found out about a host beside its streams."""
        self._apply(name, event)

    def paused_for(self, name: str) -> float | None:
        """Return how long a host has been paused, or None."""
        paused_s = self._watches[name].paused_s
        return None if paused_s is None else self._clock.now() - paused_s

    def second(self, name: str) -> int:
        """Return the current second on a host's grid in the history."""
        return self._watches[name].pacer.second(self._clock.now())

    def looking(self, name: str) -> Looking:
        """Return what asks one host's hand."""
        return self._watches[name].looking

    def detailed(self, name: str, ask: int | None = None) -> Details:
        """Return what one host's sampler said of single GPUs; `ask` it about that index again."""
        self._watches[name].ask_detail(ask)
        return self._watches[name].details

    async def scan(self, name: str, *, is_whole: bool = False, has_maps: bool = False) -> Scan:
        """Return a fresh scan of a host's processes. Raises SourceError."""
        host = self.fleet.host(name)
        return await self.looking(name).scan(host, is_whole=is_whole, has_maps=has_maps)

    def _apply(self, name: str, event: Event) -> None:
        now = self._clock.now()
        before = self.fleet.host(name)
        self.fleet = apply(self.fleet, name, event, now)
        after = self.fleet.host(name)
        if after is before and not isinstance(event, LinkSlept):
            return
        if isinstance(event, Hello) and has_rebooted(before.facts, after.facts):
            self.history.forget(name)
        if isinstance(event, Sample) and after.samples != before.samples:
            remember(self.history, after, self._watches[name].pacer.tick(now))
        if isinstance(event, LinkUp) and before.problem and before.problem.gate:
            self._wake_behind(before.problem.gate)
        self.version += 1
        self.dirty.add(name)
        for listener in tuple(self.listeners):
            listener(event, before, after)

    def _wake_behind(self, gate: str) -> None:
        """Try those again who wait behind a jump host that lets somebody through now."""
        for name, watch in self._watches.items():
            problem = waits_for_person(self.fleet.host(name))
            if problem is not None and problem.gate == gate:
                watch.wake.set()

    # -- sleep of this machine ---------------------------------------------------------------

    def _heed_sleep(self) -> None:
        """After a sleep every reading is old and every link in doubt: begin them anew at once."""
        if self._leap is None or not self._leap.has_happened():
            return
        for name, watch in self._watches.items():
            self._apply(name, LinkSlept())
            if watch.paused_s is None and not waits_for_person(self.fleet.host(name)):
                watch.wake.set()

    # -- one host over time ----------------------------------------------------------------

    async def _watch(self, name: str, watch: Watch) -> None:
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
                if was_good(self.fleet.host(name), began_s):
                    failures = 0
                if watch.wake.is_set() or watch.paused_s is not None:
                    failures = 0
                    continue
                if waits_for_person(self.fleet.host(name)):
                    # Trying again by itself could lock an account, or ring somebody's telephone.
                    await watch.wake.wait()
                    failures = 0
                    continue
                await rest(watch.wake, failures, self._jitter())
                failures += 1
        finally:
            await self._close(watch)

    async def _attempt(self, name: str, watch: Watch) -> None:
        """Run one sampler until it ends, hangs for good, or the user wants otherwise."""
        self._apply(name, LinkConnecting())
        watch.missed_hello = False
        watch.pulse.forget()
        try:
            interval_s = watch.interval_s or self._interval_s
            watch.sampler = await open_unless_woken(watch.source, interval_s, watch.wake)
            if watch.sampler is not None:
                if (watch.interval_s or self._interval_s) != interval_s:
                    watch.pace(self._interval_s)
                await self._follow(name, watch, watch.sampler)
        except SourceError as error:
            # A fatal fault was more precise than the end of the stream after it.
            if self.fleet.host(name).link is not Link.DOWN:
                self._apply(name, LinkDown(problem=error.problem))
        except Exception as error:
            # A host that is not watched any more must not look as if it were.
            log.exception("[%s] the watch failed", name)
            self._apply(name, LinkDown(problem=bug_problem(error)))
        finally:
            await self._close(watch)

    async def _follow(self, name: str, watch: Watch, stream: Stream) -> None:
        reader: asyncio.Future[list[Event]] | None = None
        waker = asyncio.ensure_future(watch.wake.wait())
        hung_since: float | None = None
        try:
            while not watch.wake.is_set():
                reader = reader or asyncio.ensure_future(stream.read())
                await asyncio.wait(
                    (reader, waker),
                    timeout=patience_s(self.fleet.host(name)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                self._heed_sleep()
                if watch.wake.is_set():
                    # What waited in a pipe while the machine slept is not news.
                    break
                if reader.done():
                    events, reader = reader.result(), None
                    for event in events:
                        self._take(name, watch, event)
                elif watch.paused_s is None:
                    if self.fleet.host(name).link is Link.CONNECTING:
                        raise SourceError(SILENT)
                    self._apply(name, LinkStale())
                is_read = self.fleet.host(name).link not in (Link.STALE, Link.HUNG)
                hung_since = None if is_read else hung_since or self._clock.now()
                if hung_since is not None and self._clock.now() - hung_since > HUNG_PATIENCE_S:
                    return
        finally:
            waker.cancel()
            if reader is not None:
                reader.cancel()
                await asyncio.gather(reader, return_exceptions=True)

    def _take(self, name: str, watch: Watch, event: Event) -> None:
        if watch.paused_s is not None and not isinstance(event, Fault):
            watch.missed_hello |= isinstance(event, Hello)
            return
        if isinstance(event, Fault) and not event.is_fatal:
            log.warning("[%s] %s: code %s, hung %s", name, event.call, event.code, event.hung_s)
        self._apply(name, watch.heard(event))
        if isinstance(event, Sample):
            watch.consider(self.fleet.host(name))

    async def _close(self, watch: Watch) -> None:
        sampler, watch.sampler = watch.sampler, None
        await watch.looking.close()
        if sampler is not None:
            await sampler.close()
