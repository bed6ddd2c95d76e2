"""What stands before a launch on one host: GPUs that are there, their cleanup, their proof.

A proof is the very one that `wait` waits for; N GPUs are claimed as there. Cleaning asks somebody,
so whoever shows plans brings it along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from gpudash.core.baselines import Baselines
from gpudash.core.choosing import visible_devices
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.launch.checks import Check, Result, count_result
from gpudash.core.launch.happened import Cleaned, Held
from gpudash.core.model import Gpu, Host, Link, Problem
from gpudash.core.scope import Scope
from gpudash.core.verify import judge_host
from gpudash.core.waiting import Ending, in_the_way
from gpudash.services.some import WaitForSome
from gpudash.services.waiting import Goal, Stage, Wait, WaitForAll, shortened
from gpudash.sources.base import SourceError
from gpudash.sources.claims import Claims

READ_S = 30.0
"""So long the GPUs of a host are waited for."""
LOOK_S = 0.02


class Gates:
    """The gates of one launch."""

    def __init__(
        self,
        name: str,
        stage: Stage,
        goal: Goal,
        claims: Claims,
        *,
        clean: Callable[[], Awaitable[Cleaned]],
        call_off: Callable[[], None],
        show: Callable[[str], None],
    ) -> None:
        """`clean` plans, asks and cleans; `call_off` lets it go no further; `show` progress."""
        self.clean = clean
        self.call_off = call_off
        self._name = name
        self._stage = stage
        self._goal = goal
        self._claims = claims
        self._show = show
        self.chosen: tuple[Gpu, ...] = ()
        """Claimed for the command; empty where all in scope are its own."""

    @property
    def host(self) -> Host:
        """Return the host as it is now."""
        return self._stage.monitor.fleet.host(self._name)

    @property
    def scope(self) -> Scope | None:
        """Return which GPUs it is about; None is all."""
        return self._goal.policy.scope

    @property
    def baselines(self) -> Baselines:
        """Return the idle readings that pass."""
        return self._goal.policy.baselines

    async def readable(self) -> Host:
        """Return the host once its GPUs were read. Raises SourceError."""
        try:
            async with asyncio.timeout(READ_S):
                while True:
                    host = self.host
                    if host.link is Link.LIVE and host.samples:
                        return host
                    if host.link is Link.DOWN and host.problem is not None:
                        raise SourceError(host.problem)
                    await asyncio.sleep(LOOK_S)
        except TimeoutError as error:
            sentence = f"The GPUs of {self._name} were not read within {READ_S:.0f} s."
            raise SourceError(Problem(title="not read", sentence=sentence)) from error

    async def in_scope(self) -> tuple[Gpu, ...]:
        """Return the GPUs that the command may have. Raises SourceError, UsageError."""
        host = await self.readable()
        return self.scope.select(host.name, host.gpus) if self.scope else host.gpus

    async def count(self, check: Check, *, is_last: bool) -> Result:
        """Return whether there are enough GPUs: at last enough that can be used.

        Raises SourceError, UsageError.
        """
        gpus = await self.in_scope()
        if self.chosen:
            return count_result(check, len(self.chosen), "claimed")
        if not is_last:
            return count_result(check, len(gpus), "in scope" if self.scope else "there")
        judged = judge_host(self.host, self.scope, self.baselines)
        clear = sum(one.exit_code is ExitCode.OK for one in judged.gpus)
        found = count_result(check, clear, f"at zero of {len(gpus)}")
        if found.is_ok:
            return found
        way = in_the_way(judged)
        return replace(found, said=f"{found.said}: {shortened([*way])}" if way else found.said)

    async def devices(self, *, by_uuid: bool) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return what shows the command its GPUs, and the UUIDs. Raises SourceError, UsageError."""
        if not self.chosen and self.scope is None:
            return {}, ()
        gpus = self.chosen or await self.in_scope()
        uuids = tuple(gpu.info.uuid for gpu in gpus if gpu.info.uuid)
        return visible_devices(gpus, by_uuid=by_uuid), uuids

    async def prove(self) -> Held:
        """Wait until it is proven, or until waiting makes no sense."""
        wait: Wait
        if self._goal.wish is None:
            wait = WaitForAll(self._goal, self._stage)
        else:
            wait = WaitForSome(self._goal, self._stage, self._claims)
        try:
            ending = await wait.watched(self._show)
            self.chosen = wait.chosen
        except UsageError as error:
            ending = Ending(exit_code=error.exit_code, says=error.message)
        finally:
            await wait.close()
        return Held(exit_code=ending.exit_code, says=ending.says)
