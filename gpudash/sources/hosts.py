"""From the hosts that were named to sources that read them; asyncssh is loaded for the first one
that is not this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from gpudash.core.model import Problem
from gpudash.core.ways import Way
from gpudash.sources.base import HostSource, SourceError
from gpudash.sources.expecting import expecting
from gpudash.sources.here import FallbackSource, local_source
from gpudash.sources.logins import Logins

if TYPE_CHECKING:
    from gpudash.sources.handover import EarlySampler
    from gpudash.sources.ssh.reach import RemoteSource
    from gpudash.sources.ssh.space import SshSpace


class Hosts:
    """All hosts of one run: their sources, and what their logins share."""

    def __init__(self, ways: Iterable[Way], early: EarlySampler | None = None) -> None:
        """`early` is the sampler of this machine where one runs already."""
        self.logins = Logins()
        self._space: SshSpace | None = None
        self._remote: dict[str, RemoteSource] = {}
        self.sources: tuple[HostSource, ...] = tuple(
            expecting(self._source(way, early), way.gpus) for way in ways
        )

    def _source(self, way: Way, early: EarlySampler | None) -> HostSource:
        if way.command:
            from gpudash.sources.argv import ArgvSource
            from gpudash.sources.smi_over import SmiOver

            source = ArgvSource(
                way.name,
                way.command,
                python=way.python,
                has_sudo=way.has_sudo,
                has_hand_sudo=way.has_hand_sudo,
            )
            return FallbackSource(source, SmiOver(source) if way.has_smi else None)
        if way.is_local:
            return local_source(
                way.name, early, has_sudo=way.has_sudo, has_hand_sudo=way.has_hand_sudo
            )
        from gpudash.sources.ssh.reach import RemoteSource
        from gpudash.sources.ssh.space import SshSpace

        self._space = self._space or SshSpace(self.logins)
        remote = RemoteSource(way, self._space)
        self._remote[way.name] = remote
        return remote

    async def log_in(
        self, limit_s: float, only: Collection[str] | None = None
    ) -> dict[str, Problem]:
        """Reach remote hosts at once without asking anybody; return who could not be reached.

        After the limit, in seconds, those who have not answered are left for later.
        """
        problems: dict[str, Problem] = {}

        async def one(name: str, source: RemoteSource) -> None:
            try:
                await source.log_in()
            except SourceError as error:
                problems[name] = error.problem
                if error.problem.needs_person:
                    source.refuse_once(error.problem)

        tasks = [
            asyncio.create_task(one(name, source))
            for name, source in self._remote.items()
            if only is None or name in only
        ]
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
