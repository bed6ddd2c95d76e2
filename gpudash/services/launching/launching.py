"""One launch on its way: feeds the machine of `core.launch.machine` and does what it wants.

Nothing is decided here. The command leaves only by the machine's word, after its line in the record
is durable or the user was told that it can't be. What the machine's table does not know now is
dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass

from gpudash.core.errors import ExitCode, GpudashError
from gpudash.core.events import Launched
from gpudash.core.launch import happened as ev
from gpudash.core.launch import records
from gpudash.core.launch.checks import Check, Kind, Result, first_checks
from gpudash.core.launch.machine import Aim, State, begin, step
from gpudash.core.launch.phases import TRANSITIONS
from gpudash.core.launch.spec import Spec
from gpudash.core.startup.following import Followed, LogSource
from gpudash.services.launching.gates import Gates
from gpudash.services.launching.launcher import Launcher, Refused
from gpudash.services.launching.pursuit import Pursuit, PursuitGround
from gpudash.services.record_files import RecordError
from gpudash.services.recorder import Run
from gpudash.sources.base import HostSource, SourceError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for."""

    spec: Spec
    aim: Aim
    checks: tuple[Check, ...] = ()
    by_uuid: bool = False
    source: LogSource | None = None
    """Another log than its own: of a container or unit that it starts."""
    url: str | None = None
    timeout_s: float | None = None
    """From the start to READY; None: as long as it takes."""


class Launching:
    """One launch."""

    def __init__(
        self,
        wanted: Wanted,
        host: HostSource,
        gates: Gates,
        run: Run,
        ground: PursuitGround,
        *,
        ask: Callable[[State], Awaitable[ev.Event | None]],
        stop: Callable[[int, int, bool], Awaitable[str]],
        say: Callable[[str], None],
    ) -> None:
        """Do nothing yet.

        `ask` asks what to do with a command that runs (None: go on), `stop` orders it to end
        (pid, its start, whether by force) and says what came of it, `say` narrates.
        """
        self.state, self._first = begin(wanted.aim)
        self.results: tuple[Result, ...] = ()
        """Of the newest stage of checks."""
        self._wanted = wanted
        self._gates = gates
        self._run = run
        self._name = host.name
        self._ask_somebody = ask
        self._order_stop = stop
        self._say = say
        self._launcher = Launcher(host, self._exited)
        self._pursuit = Pursuit(host, wanted.spec, ground, self.offer)
        self._events: asyncio.Queue[ev.Event] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_asking = False
        self._told: Launched | None = None

    @property
    def followed(self) -> Followed | None:
        """Return the start-up as it is known; None before there is one."""
        return self._pursuit.followed

    # -- for whoever drives it -----------------------------------------------------------------

    def offer(self, event: ev.Event) -> None:
        """Pass an event on; one that can't happen any more when its turn comes is dropped."""
        self._events.put_nowait(event)

    def interrupt(self) -> None:
        """Somebody wants an end: of what has not begun at once, of what runs they are asked."""
        if self.state.pid is None or self._is_asking:
            # A second time while somebody is asked: they want to leave.
            self.offer(ev.Interrupted())
        else:
            self._ask()

    async def run(self) -> State:
        """Go on until it is over."""
        self._carry_out(self._first)
        while not self.state.is_over:
            event = await self._events.get()
            if (self.state.phase, type(event)) in TRANSITIONS:
                self.state, effects = step(self.state, event)
                self._carry_out(effects)
        return self.state

    async def close(self) -> None:
        """Let go of the host; a command that runs goes on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._pursuit.close()
        await self._launcher.close()

    # -- what the machine wants ----------------------------------------------------------------

    def _carry_out(self, effects: tuple[ev.Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case ev.Check(is_last=is_last):
                    self._do(self._check(is_last=is_last))
                case ev.Clean():
                    self._do(self._clean())
                case ev.CallOff():
                    self._gates.call_off()
                case ev.Prove():
                    self._do(self._prove())
                case ev.Launch():
                    self._do(self._launch())
                case ev.Follow():
                    self._do(self._pursuit.run(stays=self.state.aim.stays))
                case ev.Ask():
                    self._ask()
                case ev.Stop(is_forced=is_forced):
                    self._do(self._stop(is_forced=is_forced))
                case ev.Finish():
                    return

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(self._guarded(work), name="launch")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        """Let a stage that breaks end the launch: a gate that was not looked at is not passed."""
        try:
            await work
        except GpudashError as error:
            self._broke(error.exit_code, error.message.rstrip("."))
        except Exception as error:
            log.exception("[%s] a stage of the launch failed", self._name)
            self._broke(ExitCode.UNKNOWN, f"this is a bug in gpudash: {type(error).__name__}")

    def _broke(self, code: ExitCode, says: str) -> None:
        cleaned = ev.Cleaned(exit_code=code, says=says, was_sent=False, is_proven=False)
        for event in (
            ev.NotChecked(exit_code=code, says=says),
            cleaned,
            ev.Held(exit_code=code, says=says),
            ev.NotStarted(exit_code=code, says=says),
            ev.StopEnded(says=says),
            ev.FollowEnded(end=ev.End.LOST, says=says),
        ):
            self.offer(event)

    async def _check(self, *, is_last: bool) -> None:
        wanted = self._wanted
        checks = wanted.checks
        if not is_last:
            checks = first_checks(checks, will_clean=wanted.aim.cleans)
        there = await self._launcher.check(
            tuple(one for one in checks if one.kind is not Kind.GPUS)
        )
        counted = [
            await self._gates.count(one, is_last=is_last) for one in checks if one.kind is Kind.GPUS
        ]
        if self._gates.scope is not None:
            # One that is not there ends it here, before anything is touched.
            await self._gates.in_scope()
        self.results = (*there, *counted)
        self._run.write(records.checks_line(self.results, self._name, is_last=is_last))
        self.offer(ev.Checked(results=self.results))

    async def _clean(self) -> None:
        self.offer(await self._gates.clean())

    async def _prove(self) -> None:
        self.offer(await self._gates.prove())

    async def _launch(self) -> None:
        spec = self._wanted.spec
        env, uuids = await self._gates.devices(by_uuid=self._wanted.by_uuid)
        try:
            await self._run.write_durably(records.launch_line(spec, self._name, env))
        except RecordError as error:
            log.warning("[%s] %s", self._name, error)
        try:
            told = await self._launcher.launch(spec.arguments(env))
        except Refused as error:
            self.offer(ev.NotStarted(exit_code=ExitCode.USAGE, says=f"not started: {error}"))
            return
        except SourceError as error:
            says = f"whether it was started is not known: {error.message}"
            self.offer(ev.NotStarted(exit_code=ExitCode.UNKNOWN, says=says))
            return
        self._told = told
        self._run.write(records.launched_line(told, self._name))
        self._say(f"started {spec.name}, pid {told.pid}; log: {told.log}")
        self._pursuit.began(told, self._wanted.source, uuids, self._wanted)
        self.offer(ev.Started(pid=told.pid, log=told.log))

    # -- while it runs -------------------------------------------------------------------------

    def _exited(self, code: int | None) -> None:
        self._run.write(records.exited_line(code, self._name))
        self.offer(ev.Exited(code=code))
        self._pursuit.exited(code)

    def _ask(self) -> None:
        if not self._is_asking:
            self._is_asking = True
            self._do(self._asked())

    async def _asked(self) -> None:
        try:
            event = await self._ask_somebody(self.state)
        finally:
            self._is_asking = False
        if event is not None:
            self.offer(event)

    async def _stop(self, *, is_forced: bool) -> None:
        assert self._told is not None
        says = await self._order_stop(self._told.pid, self._told.start_ticks, is_forced)
        self.offer(ev.StopEnded(says=says))
