"""Follows by itself every family of one's own that begins on a watched host.

Most screens never see a start-up, so what follows one is imported when the first begins, in pieces:
no key press waits for it.

Looks twice a second at what the monitor knows. Each start-up has a task of its own, and the newest
few are kept for the screen. A log that can't be followed is only logged: nobody asked for it.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudash.core.families import Key
from gpudash.core.model import Happening
from gpudash.core.startup.begun import Begun, newly_begun
from gpudash.core.units import format_duration
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.base import SourceError

if TYPE_CHECKING:
    from gpudash.core.startup.following import Followed
    from gpudash.core.startup.logbook import Logbook
    from gpudash.core.startup.model import Outcome
    from gpudash.services.startup.following import Following
    from gpudash.services.startup.past import Past

log = logging.getLogger(__name__)

LOOK_S = 0.5
MOST = 8
"""Start-ups that are kept; the oldest that is over goes first."""
MOST_AT_ONCE = 16
"""Each has a hand of its own."""
MOST_KNOWN = 4_096
_PIECES = (
    "gpudash.core.startup.model",
    "gpudash.core.startup.history",
    "gpudash.core.startup.prefixes",
    "gpudash.core.startup.catalog",
    "gpudash.core.startup.sentences",
    "gpudash.core.startup.tracker",
    "gpudash.core.startup.logbook",
    "gpudash.services.startup.case",
    "gpudash.services.startup.following",
    "gpudash.config.markers",
)
"""What following takes; together they are a fifth of a second."""


@dataclass(eq=False, slots=True)
class Noticed:
    """One start-up that is followed, or was."""

    key: Key
    following: Following
    task: asyncio.Task[None] | None = None
    outcome: Outcome | None = None
    """As it was told last."""

    @property
    def is_running(self) -> bool:
        """Tell whether it is followed still."""
        return self.task is not None and not self.task.done()

    @property
    def followed(self) -> Followed:
        """Return what is known now."""
        return self.following.followed

    @property
    def book(self) -> Logbook:
        """Return its log."""
        return self.following.book


class Noticing:
    """Follows what begins on the hosts of a monitor."""

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        changed: Callable[[], None],
        past: Callable[[], Past] | None = None,
    ) -> None:
        """Follow nothing yet; `changed` is called whenever there is something new to show.

        `past` gives the earlier start-ups, at the first need.
        """
        self._monitor = monitor
        self._clock = clock
        self._changed = changed
        self._make_past = past
        self._past: Past | None = None
        self._is_ready = False
        self._known: dict[Key, None] = {}
        self._looked: dict[str, tuple[object, ...]] = {}
        self._version = -1
        self._task: asyncio.Task[None] | None = None
        self.all: tuple[Noticed, ...] = ()
        """Newest first."""

    def start(self) -> None:
        """Look from now on."""
        self._task = asyncio.create_task(self._keep(), name="noticing")

    async def close(self) -> None:
        """Follow nothing any more; what runs on the hosts goes on."""
        tasks = [self._task, *(one.task for one in self.all)]
        self._task = None
        for one in self.all:
            await one.following.close()
        running = [task for task in tasks if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _keep(self) -> None:
        while True:
            if self._monitor.version != self._version:
                self._version = self._monitor.version
                await self._look()
            self._tell()
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> None:
        now_s = self._clock.now()
        known = frozenset(self._known)
        for host in self._monitor.fleet.hosts:
            # Holders are joined from many values: only where who holds can have changed.
            seen = (host.link, host.listed, host.processes, host.scan, host.kin)
            before = self._looked.get(host.name, ())
            if before and all(old is new for old, new in zip(before, seen, strict=True)):
                continue
            self._looked[host.name] = seen
            for begun in newly_begun(host, now_s, known):
                if sum(one.is_running for one in self.all) < MOST_AT_ONCE:
                    await self._get_ready()
                    self._follow(host.name, begun)

    async def _get_ready(self) -> None:
        if not self._is_ready:
            for name in _PIECES:
                importlib.import_module(name)
                await asyncio.sleep(0)
            self._past = self._make_past() if self._make_past is not None else None
            self._is_ready = True

    def _follow(self, host: str, begun: Begun) -> None:
        from gpudash.config.markers import load_catalog
        from gpudash.core.startup.following import FollowSpec, LogSource
        from gpudash.services.startup.following import Following

        self._known[begun.key] = None
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        spec = FollowSpec(
            host=host,
            source=LogSource(kind="pid", value=str(begun.pid)),
            name=begun.name,
            pid=begun.pid,
            stays=True,
        )
        following = Following(
            self._monitor.looking(host).source,
            spec,
            clock=self._clock,
            catalog=load_catalog(),
            changed=self._changed,
            history=self._past,
            monitor=self._monitor,
        )
        noticed = Noticed(begun.key, following)
        noticed.task = asyncio.create_task(self._run(noticed), name=f"follow {begun.pid}")
        self.all = self._kept((noticed, *self.all))
        self._changed()

    def _kept(self, every: tuple[Noticed, ...]) -> tuple[Noticed, ...]:
        over = [one for one in every if not one.is_running]
        while len(every) > MOST and over:
            gone = over.pop()
            every = tuple(one for one in every if one is not gone)
        return every

    async def _run(self, noticed: Noticed) -> None:
        try:
            await noticed.following.run()
        except SourceError as error:
            log.info("[%s] not followed: %s", noticed.key[0], error)
            self.all = tuple(one for one in self.all if one is not noticed)
        self._changed()

    def _tell(self) -> None:
        """Note what became ready or failed."""
        for one in self.all:
            followed = one.followed
            before, one.outcome = one.outcome, followed.startup.outcome
            is_over = followed.startup.failure is not None or bool(followed.startup.ready_basis)
            if before is not one.outcome and is_over:
                self._monitor.note(_happening(followed, self._clock.now()))


def _happening(one: Followed, now_s: float) -> Happening:
    after = format_duration(max(0.0, now_s - one.started_s))
    if one.startup.failure is not None:
        words = f"{one.name} failed after {after}: {one.startup.failure.message}"
        return Happening(at_s=now_s, host=one.host, words=words, tone="bad")
    words = f"{one.name} is ready, after {after}"
    return Happening(at_s=now_s, host=one.host, words=words, tone="good")
