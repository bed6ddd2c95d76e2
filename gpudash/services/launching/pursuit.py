"""Follows what was launched: its own log, or the one of what it starts elsewhere.

A command that returns 0 while its unit or container comes up is no end; then that one's log counts
and the command's own exit does not. Where nothing else was named, its exit ends the start-up.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudash.core.errors import ExitCode
from gpudash.core.events import Launched
from gpudash.core.launch import happened as ev
from gpudash.core.launch.detaching import returned_words, starter_of
from gpudash.core.launch.records import ended_words
from gpudash.core.launch.spec import Spec
from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.following import Followed, FollowSpec, LogSource
from gpudash.core.startup.model import Outcome
from gpudash.core.startup.narration import told as narrated
from gpudash.core.units import format_duration
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.startup.following import Following
from gpudash.services.startup.past import Past
from gpudash.sources.base import HostSource, SourceError

if TYPE_CHECKING:
    from gpudash.services.launching.launching import Wanted

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks for a container or unit that is not there yet."""
IDLE_S = 60.0
"""A log that is silent for so long after its command returned is nobody's."""
COMES_S = 60.0
"""So long it may take to come after its starter returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PursuitGround:
    """What a pursuit stands on."""

    clock: Clock
    catalog: Catalog
    monitor: FleetMonitor
    run: Run
    past: Past | None
    say: Callable[[str], None]
    changed: Callable[[Followed], None]
    """Is told of every new value."""
    echo: Callable[[bytes], None] | None = None
    """Gets the log as it is; None: nobody wants it."""


class Pursuit:
    """One start-up after its launch."""

    def __init__(
        self,
        host: HostSource,
        spec: Spec,
        ground: PursuitGround,
        offer: Callable[[ev.Event], None],
    ) -> None:
        self._host = host
        self._spec = spec
        self._ground = ground
        self._offer = offer
        self._following: Following | None = None
        self._seen: Followed | None = None
        self._told: Launched | None = None
        self._other: LogSource | None = None
        self._wanted: Wanted | None = None
        self._uuids: tuple[str, ...] = ()
        self._code: int | None = None
        self._has_exited = asyncio.Event()
        self._is_ready = False
        self._is_over = False

    @property
    def followed(self) -> Followed | None:
        """Return what is known; None before anything is."""
        return self._following.followed if self._following else self._seen

    def began(
        self, told: Launched, other: LogSource | None, uuids: tuple[str, ...], wanted: Wanted
    ) -> None:
        """Take what was started; `other` is the source of what it starts in turn."""
        self._told, self._other, self._uuids, self._wanted = told, other, uuids, wanted

    def exited(self, code: int | None) -> None:
        """Take the command's end."""
        self._code = code
        self._has_exited.set()
        if self._following is not None and self._counts(code):
            self._following.exited(code)

    def _counts(self, code: int | None) -> bool:
        """Tell whether the command's end is the start-up's."""
        return not (code == 0 and self._has_source and not self._is_ready)

    @property
    def _has_source(self) -> bool:
        return self._wanted is not None and self._wanted.aim.has_source

    async def run(self, *, stays: bool) -> None:
        """Follow until it is over, and say how; within the time that was given for it."""
        assert self._wanted is not None
        timeout_s = self._wanted.timeout_s
        timer: asyncio.TimerHandle | None = None
        if timeout_s is not None:
            timer = asyncio.get_running_loop().call_later(timeout_s, self._late, timeout_s)
        try:
            self._end(await self._follow(stays=stays))
        except SourceError as error:
            is_lost = error.problem.exit_code is ExitCode.UNREACHABLE
            self._finish(ev.End.LOST if is_lost else ev.End.OVER, error.message)
        finally:
            if timer is not None:
                timer.cancel()

    def _late(self, timeout_s: float) -> None:
        if self._is_ready:
            return
        stall = self.followed.stall if self.followed else ""
        why = f"; {stall}" if stall else ""
        within = format_duration(timeout_s, tenths=True)
        self._finish(ev.End.TIMED_OUT, f"not ready within {within}{why}; it runs on")

    async def _follow(self, *, stays: bool) -> Followed | None:
        """Return the start-up at its end; None where its starter failed. Raises SourceError."""
        assert self._told is not None
        if self._other is None:
            source = LogSource(kind="path", value=self._told.log)
            # Of what a starter leaves behind nobody knows the pid; who writes the log is found.
            pid = None if self._has_source else self._told.pid
            return await self._pursue(source, pid=pid, stays=stays)
        until_s: float | None = None
        while True:
            if not self._has_exited.is_set():
                await self._wait_for_exit(LOOK_S)
            if self._has_exited.is_set() and self._code != 0:
                return None
            try:
                return await self._pursue(self._other, pid=None, stays=stays)
            except SourceError:
                now_s = self._ground.clock.now()
                if self._has_exited.is_set():
                    until_s = until_s or now_s + COMES_S
                    if now_s >= until_s:
                        raise
                    await asyncio.sleep(LOOK_S)

    async def _wait_for_exit(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._has_exited.wait()
        except TimeoutError:
            return

    async def _pursue(self, source: LogSource, *, pid: int | None, stays: bool) -> Followed:
        assert self._wanted is not None
        ground = self._ground
        told = self._told if source.kind == "path" else None
        spec = FollowSpec(
            host=self._host.name,
            source=source,
            name=self._spec.name,
            command=self._spec.masked,
            url=self._wanted.url,
            pid=pid,
            gpus=self._uuids or None,
            place=None if told is None else (told.inode, told.offset),
            stays=stays,
            outlives_writer=told is not None and self._has_source,
        )
        following = self._following = Following(
            self._host,
            spec,
            clock=ground.clock,
            catalog=ground.catalog,
            changed=self._changed,
            history=ground.past,
            record=ground.run,
            monitor=ground.monitor,
            echo=ground.echo,
        )
        if self._has_exited.is_set() and self._counts(self._code):
            following.exited(self._code)
        try:
            return await following.run()
        finally:
            self._seen = following.followed
            await following.close()

    # -- what comes of it ----------------------------------------------------------------------

    def _changed(self) -> None:
        followed = self.followed
        if followed is None:
            return
        before, self._seen = self._seen, followed
        for said in narrated(before, followed):
            self._ground.say(said.words)
            if said.kind == "ready":
                self._become_ready(said.words)
        self._ground.changed(followed)
        if self._is_idle(followed):
            self._finish(ev.End.OVER, returned_words(self._spec.argv))

    def _is_idle(self, followed: Followed) -> bool:
        """Tell whether a command that is no known starter returned, and nothing writes its log."""
        return (
            self._has_exited.is_set()
            and self._code == 0
            and not self._is_ready
            and self._other is None
            and starter_of(self._spec.argv) is None
            and followed.life.silent_s >= IDLE_S
        )

    def _become_ready(self, words: str) -> None:
        if not self._is_ready:
            self._is_ready = True
            self._offer(ev.BecameReady(says=words))

    def _end(self, followed: Followed | None) -> None:
        if followed is None:
            self._finish(ev.End.FAILED, ended_words(self._code))
            return
        self._changed()
        if self._other is None and followed.has_exited and not self._has_exited.is_set():
            # The link was cut meanwhile: nobody was told the exit code.
            self._offer(ev.Exited(code=followed.exit_code))
        startup = followed.startup
        if startup.outcome is Outcome.READY:
            self._become_ready("READY")
        failure = startup.failure
        if startup.outcome is Outcome.FAILED and failure is not None:
            self._finish(ev.End.FAILED, failure.message)
        elif self._other is not None and not self._is_ready:
            self._finish(ev.End.FAILED, followed.ending or "it ended before it was ready")
        elif self._has_exited.is_set() and self._code == 0 and not self._is_ready:
            self._finish(ev.End.OVER, returned_words(self._spec.argv))
        elif self._has_exited.is_set():
            self._finish(ev.End.OVER, ended_words(self._code))
        else:
            self._finish(ev.End.OVER, followed.ending or "there is nothing more to follow")

    def _finish(self, end: ev.End, says: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._offer(ev.FollowEnded(end=end, says=says))

    async def close(self) -> None:
        """Follow no longer."""
        if self._following is not None:
            await self._following.close()
