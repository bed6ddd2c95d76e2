"""Alerts of a live fleet: told while nothing comes from a silent host, and no more once closed."""

from __future__ import annotations

import asyncio

from gpudash.core.alert_levels import Bounds, Kind
from gpudash.core.alerts import Told
from gpudash.services.alarm import Alarm
from tests.core.making import hello, reading, roster, sample
from tests.services.virtual import ScriptedSource, Step, VirtualClock, Watched, run

BOUNDS = Bounds(temperature_c=85)


def hot(first: int, last: int) -> list[Step]:
    return [(1.0, sample(seq, reading(0, temperature_c=90))) for seq in range(first, last + 1)]


def test_a_hot_gpu_and_then_silence_are_told() -> None:
    async def test() -> None:
        heard: list[Told] = []
        source = ScriptedSource([(0.0, hello(*roster(1))), *hot(1, 10), (500.0, hello())])
        async with Watched(source) as monitor:
            alarm = Alarm(monitor, VirtualClock(), BOUNDS, heard.append)
            for _ in range(80):
                await asyncio.sleep(0.25)
                alarm.heed()
            assert [(told.kind, told.is_raised) for told in heard] == [
                (Kind.TEMPERATURE, True),
                (Kind.LOST, True),
            ]
            assert [place for _, place, _ in alarm.raised] == [
                ("GPU-0", Kind.TEMPERATURE),
                ("", Kind.LOST),
            ]
            words = [one.words for one in monitor.fleet.happenings]
            assert words == [
                "is silent: no line for three intervals",
                "GPU 0  90°C, the bound is 85°C",
            ]
            alarm.close()
            assert monitor.listeners == []

    run(test())
