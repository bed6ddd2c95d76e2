"""From the hosts that were named to sources that read them; asyncssh is loaded for the first one
that is not this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpudash.core.model import Problem
from gpudash.sources.base import HostSource, SourceError
from gpudash.sources.here import FallbackSource, local_source
from gpudash.sources.logins import Logins

if TYPE_CHECKING:
    from gpudash.sources.handover import EarlySampler
    from gpudash.sources.ssh.reach import RemoteSource
    from gpudash.sources.ssh.space import SshSpace

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one host is reached, as the user said it."""

    name: str
    """As typed; unique."""
    address: str = ""
    """What ssh is given; empty for this machine and for a command."""
    options: tuple[str, ...] = ()
    """ssh's options before it, such as `-p 2222`."""
    configuration: tuple[str, ...] = ()
    """`-F FILE`; empty for the user's own configuration."""
    transport: str = ""
    """`openssh`, `asyncssh`, or empty for whichever fits."""
    command: tuple[str, ...] = ()
    """Words that run a program there instead of ssh: `kubectl exec -i POD -- sh`."""
    python: str = ""
    """Tried before the usual ones."""


class Hosts:
    """All hosts of one run: their sources, and what their logins share."""

    def __init__(self, ways: Iterable[Way], early: EarlySampler | None = None) -> None:
        """`early` is the sampler of this machine where one runs already."""
        self.logins = Logins()
        self._space: SshSpace | None = None
        self._remote: dict[str, RemoteSource] = {}
        self.sources: tuple[HostSource, ...] = tuple(self._source(way, early) for way in ways)

    def _source(self, way: Way, early: EarlySampler | None) -> HostSource:
        if way.command:
            from gpudash.sources.argv import ArgvSource, SmiOverArgv

            source = ArgvSource(way.name, way.command, python=way.python)
            return FallbackSource(source, SmiOverArgv(source))
        if not way.address:
            return local_source(way.name, early)
        from gpudash.sources.ssh.reach import RemoteSource
        from gpudash.sources.ssh.resolve import Destination
        from gpudash.sources.ssh.space import SshSpace

        self._space = self._space or SshSpace(self.logins)
        to = Destination(address=way.address, options=way.options, configuration=way.configuration)
        remote = RemoteSource(way.name, to, self._space, transport=way.transport, python=way.python)
        self._remote[way.name] = remote
        return remote

    async def log_in(
        self, limit_s: float, told: Callable[[int, int], None] | None = None
    ) -> dict[str, Problem]:
        """Reach all remote hosts at once without asking anybody; return who could not be reached.

        After the limit, in seconds, those who have not answered are left for later. `told` gets
        how many were reached of how many.
        """
        problems: dict[str, Problem] = {}
        reached = 0

        async def one(name: str, source: RemoteSource) -> None:
            nonlocal reached
            try:
                await source.log_in()
            except SourceError as error:
                problems[name] = error.problem
                if error.problem.needs_person:
                    source.refuse_once(error.problem)
            reached += 1
            if told is not None:
                told(reached, len(self._remote))

        tasks = [asyncio.create_task(one(*item)) for item in self._remote.items()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=limit_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return problems

    async def log_in_with_person(self, name: str) -> Problem | None:
        """Reach one host and let it ask; return why it could not be reached."""
        self.logins.invite(name)
        try:
            await self._remote[name].log_in()
        except SourceError as error:
            self._remote[name].refuse_once(error.problem)
            return error.problem
        return None

    async def close(self) -> None:
        """End what no stream ended: logins without one, and jump hosts."""
        for source in self._remote.values():
            await source.close()
        if self._space is not None:
            await self._space.close()
