"""What the screen says `c` would do: managers are asked for it as for a cleanup."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpudash.core.cleanup.planner import Request
from gpudash.core.cleanup.protection import Rule
from gpudash.core.holding import Scan
from gpudash.core.model import Kin
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.outlook import Outlook
from tests.core.cleanup.making import CID, GIB, Box

RUNS = '"/train"\ntrue\n"no"\nnull'


class Watched:
    """A monitor of one host whose managers answer this."""

    def __init__(self, box: Box, code: int, text: str) -> None:
        self.box = box
        self.answer = (0, code, text)
        self.asked: list[list[str]] = []
        self.kin: tuple[Kin, ...] = ()
        host = box.host()
        self.fleet = SimpleNamespace(hosts=(host,), host=lambda _name: host)

    async def scan(self, _name: str, **_options: bool) -> Scan:
        return self.box.scan()

    def looking(self, _name: str) -> Any:
        async def managers(asked: list[list[str]]) -> tuple[tuple[int, int, str], ...]:
            self.asked += asked
            return (self.answer,)

        return SimpleNamespace(managers=managers)

    def learn(self, _name: str, event: Any) -> None:
        self.kin = event.kin


def foreseen(box: Box, code: int, text: str, request: Request | None = None) -> Watched:
    watched = Watched(box, code, text)
    monitor = cast("FleetMonitor", watched)
    outlook = Outlook(monitor, SystemClock(), request or Request())
    asyncio.run(outlook._look(box.host().name))
    return watched


@pytest.mark.parametrize(
    ("code", "text", "verb"),
    [(1, "Error: No such object: x", "stop"), (0, RUNS, "ask"), (127, "", "ask")],
)
def test_what_a_manager_says_decides_what_c_would(code: int, text: str, verb: str) -> None:
    box = Box()
    group = f"/system.slice/docker-{CID}.scope"
    box.add(300, "python", "train.py", memory={0: GIB}, cgroup=group)
    watched = foreseen(box, code, text)
    assert [words[:2] for words in watched.asked] == [["docker", "inspect"]]
    assert [kin.verb for kin in watched.kin] == [verb]


def test_where_nobody_manages_nobody_is_asked() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB})
    watched = foreseen(box, 0, "")
    assert watched.asked == []
    assert [kin.verb for kin in watched.kin] == ["stop"]


def test_who_the_configuration_protects_is_no_family_here_either() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB})
    rule = Rule(name="mine", why="it is", comms=("sglang::schedul",), is_users_own=True)
    assert foreseen(box, 0, "", Request(rules=(rule,))).kin == ()
