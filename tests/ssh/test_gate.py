"""A jump host that asks a one-time code, with sixty hosts behind it: one question until `r`."""

from __future__ import annotations

import asyncio

import pytest

from gpudash.core.model import Fleet, Link
from gpudash.services import attempts
from gpudash.services.door import Door
from tests.ssh.fake_host import FakeHost
from tests.ssh.sshd import Home
from tests.ssh.watching import Watching, add, watching

HOSTS = 60
NAMES = tuple(f"node{number:02}" for number in range(HOSTS))


class Person:
    """Types the code when asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.code: str | None = "123456"

    async def __call__(self, place: str, prompt: str, is_seen: bool) -> str | None:
        self.asked.append((prompt, is_seen))
        return self.code


def press_r(seen: Watching, name: str) -> None:
    """Do what the dashboard does for the host under the cursor."""
    door = Door(seen.hosts.logins)
    assert door.needs_person(seen.host(name))
    door.invite(seen.host(name))
    seen.monitor.reconnect(name)


def all_wait(fleet: Fleet) -> bool:
    return all(
        host.link is Link.DOWN and host.problem is not None and host.problem.needs_person
        for host in fleet.hosts
    )


async def test_sixty_hosts_behind_a_jump_that_asks_a_code(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Ten minutes of attempts, were there any, pass in a moment.
    monkeypatch.setattr(attempts, "RETRY_S", (0.001,))
    person = Person()
    async with FakeHost(code="123456") as jump, FakeHost() as target:
        add(home, "jump", jump)
        add(home, NAMES[0], target, "ProxyJump jump")
        for name in NAMES[1:]:
            home.name(name, target.port, "ProxyJump jump")
        async with watching(home, *NAMES, interval_s=60.0, ask=person) as seen:
            await seen.until(all_wait)
            assert (jump.challenges, person.asked) == (0, [])
            assert {host.problem.gate for host in seen.monitor.fleet.hosts if host.problem} == {
                "jump"
            }

            press_r(seen, NAMES[7])
            await seen.until_all(Link.LIVE)
            assert (jump.challenges, jump.logins, target.logins) == (1, 1, HOSTS)

            jump.cut()
            await seen.until(all_wait)
            opened = len(jump.connections)
            for _ in range(600):
                await asyncio.sleep(0)
                assert not any(watch.wake.is_set() for watch in seen.monitor._watches.values())
            assert (jump.challenges, len(jump.connections)) == (1, opened)

            person.code = None
            press_r(seen, NAMES[0])
            await seen.until(lambda fleet: jump.challenges == 2 and all_wait(fleet))
            person.code = "123456"
            press_r(seen, NAMES[1])
            await seen.until_all(Link.LIVE)
            assert jump.challenges == 3
            assert person.asked == [("One-time code: ", False)] * 3


async def test_an_unknown_key_of_a_jump_host_is_shown_for_all(home: Home) -> None:
    async with FakeHost() as jump, FakeHost() as target:
        add(home, "jump", jump, known=False)
        add(home, "node1", target, "ProxyJump jump")
        home.name("node2", target.port, "ProxyJump jump")
        async with watching(home, "node1", "node2", interval_s=60.0, ask=Person()) as seen:
            await seen.until(all_wait)
            door = Door(seen.hosts.logins)
            host = seen.host("node2")
            assert host.problem is not None
            assert (host.problem.title, host.problem.gate) == ("host key unknown", "jump")
            assert door.offered(host) is not None
            door.accept(host, save=False)
            door.invite(host)
            seen.monitor.reconnect("node2")
            await seen.until_all(Link.LIVE)
            assert jump.logins == 1
