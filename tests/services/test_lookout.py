"""Unasked scans: soon where something is new and odd, seldom while it stays so, else never."""

from __future__ import annotations

import asyncio

from gpudash.core.events import Event
from gpudash.core.holding import Existence
from tests.core.making import GIB, HOST, hello, process, reading, roster, sample
from tests.core.scans import gpu_handle, scan, seen
from tests.services.virtual import ScriptedSource, Watched
from tests.services.virtual import run as virtual


def ticks(count: int, used: int, *pids: int) -> list[tuple[float, Event]]:
    got = reading(used, *(process(pid, GIB) for pid in pids))
    return [(0.0, hello(*roster(1))), *((1.0, sample(number, got)) for number in range(1, count))]


def test_nothing_odd_is_never_scanned() -> None:
    async def test() -> None:
        source = ScriptedSource(ticks(60, GIB, 7))
        async with Watched(source):
            await asyncio.sleep(50)
            assert source.scans == []

    virtual(test())


def test_a_dead_pid_is_looked_into_soon_and_then_every_ten_seconds() -> None:
    async def test() -> None:
        source = ScriptedSource(ticks(60, GIB, 7))
        source.ended.add(7)
        source.scan = scan(seen(8, gpu_handle()), listed=((7, Existence.DEAD),))
        async with Watched(source) as monitor:
            await asyncio.sleep(3.5)
            assert source.scans == [(2.0, False)]
            assert monitor.fleet.host(HOST).scan is not None
            await asyncio.sleep(30)
            assert [at_s for at_s, _ in source.scans] == [2.0, 13.0, 24.0]

    virtual(test())


def test_what_handles_do_not_explain_is_looked_for_in_maps() -> None:
    async def test() -> None:
        source = ScriptedSource(ticks(60, GIB))
        source.scan = scan()
        async with Watched(source):
            await asyncio.sleep(9.5)
            assert source.scans == [(2.0, False), (5.0, True)]
            await asyncio.sleep(10)
            assert source.scans[2:] == [(16.0, True)]

    virtual(test())


def test_a_pid_that_is_odd_for_one_tick_is_none() -> None:
    async def test() -> None:
        other = [(1.0, sample(number, reading(0))) for number in range(2, 30)]
        source = ScriptedSource([*ticks(2, GIB, 7), *other])
        source.ended.add(7)
        async with Watched(source):
            await asyncio.sleep(20)
            assert source.scans == []

    virtual(test())
