"""Hosts of a test's configuration, read in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gpudash.core.model import Fleet, Host, Link
from gpudash.core.ways import Way
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.survey import survey
from gpudash.sources.hosts import Hosts
from gpudash.sources.logins import Ask
from tests.ssh.fake_host import FakeHost
from tests.ssh.sshd import Home

LIMIT_S = 90.0


def ways(home: Home, *names: str, **more: object) -> tuple[Way, ...]:
    configuration = ("-F", str(home.config_file))
    return tuple(
        Way(name=name, address=name, configuration=configuration, **more)  # type: ignore[arg-type]
        for name in names
    )


def add(home: Home, name: str, host: FakeHost, *lines: str, known: bool = True) -> None:
    """Give a host of this process a name, and let its key be known."""
    home.name(name, host.port, *lines)
    if known:
        with home.known.open("a") as file:
            file.write(host.known_line)


async def read(home: Home, *names: str, ask: Ask | None = None, **more: object) -> Fleet:
    """Read hosts once."""
    hosts = Hosts(ways(home, *names, **more))
    hosts.logins.ask = ask
    try:
        if ask is not None:
            for name in names:
                await hosts.log_in_with_person(name)
        return await survey(hosts.sources, LIMIT_S)
    finally:
        await hosts.close()


class Watching:
    """A monitor over hosts, and waiting for what it sees."""

    def __init__(self, hosts: Hosts, interval_s: float) -> None:
        self.hosts = hosts
        self._changed = asyncio.Event()
        self.monitor = FleetMonitor(
            hosts.sources,
            SystemClock(),
            interval_s=interval_s,
            jitter=lambda: 0.0,
            listener=lambda *_: self._changed.set(),
        )

    def host(self, name: str) -> Host:
        return self.monitor.fleet.host(name)

    async def until(self, is_so: Callable[[Fleet], bool]) -> Fleet:
        async with asyncio.timeout(LIMIT_S):
            while not is_so(self.monitor.fleet):
                await self._changed.wait()
                self._changed.clear()
        return self.monitor.fleet

    async def until_all(self, link: Link) -> Fleet:
        return await self.until(lambda fleet: all(host.link is link for host in fleet.hosts))


@asynccontextmanager
async def watching(
    home: Home, *names: str, interval_s: float = 0.2, ask: Ask | None = None, **more: object
) -> AsyncIterator[Watching]:
    hosts = Hosts(ways(home, *names, **more))
    hosts.logins.ask = ask
    seen = Watching(hosts, interval_s)
    seen.monitor.start()
    try:
        yield seen
    finally:
        await seen.monitor.stop()
        await hosts.close()
