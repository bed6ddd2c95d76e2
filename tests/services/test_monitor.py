"""The monitor over scripts and a clock that jumps: stale, hung, down, paused, and who is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from gpudash.core.events import Event, Fault, Garbled, Sample
from gpudash.core.history import Series
from gpudash.core.model import Host, Link
from gpudash.core.problems import RELEASED
from gpudash.core.verify import Verdict, judge_fleet
from gpudash.services.monitor import FleetMonitor
from tests.core.making import HOST, gpu_info, hello, process, reading, roster, sample
from tests.services.virtual import ScriptedSource, Step, VirtualClock, Watched, down, run

FATAL = Fault(call="nvmlInit", code=9, is_fatal=True)
HANGS = Fault(call="nvmlDeviceGetPowerUsage", code=None, gpu_index=0, hung_s=3.0)


def ticks(first: int, last: int, *pids: int) -> list[Step]:
    """One sample a second with these pids."""
    got = reading(5 if pids else 0, *(process(pid) for pid in pids))
    return [(1.0, sample(seq, got)) for seq in range(first, last + 1)]


def begun(*steps: Step) -> list[Step]:
    return [(0.0, hello(*roster(1))), (0.0, sample(1, reading(0))), *steps]


def host(monitor: FleetMonitor) -> Host:
    return monitor.fleet.host(HOST)


def verdict(monitor: FleetMonitor) -> Verdict:
    return judge_fleet(monitor.fleet).verdict


def virtual(test: Coroutine[Any, Any, None]) -> None:
    run(test)


# -- silence -----------------------------------------------------------------------------------


def test_stale_after_three_intervals_and_live_again() -> None:
    async def test() -> None:
        source = ScriptedSource(begun((10.0, sample(2, reading(0))), *ticks(3, 60)))
        async with Watched(source) as monitor:
            await asyncio.sleep(2.9)
            assert host(monitor).link is Link.LIVE
            assert verdict(monitor) is Verdict.ZERO
            await asyncio.sleep(0.2)
            assert (host(monitor).link, host(monitor).link_since_s) == (Link.STALE, 3.0)
            assert verdict(monitor) is Verdict.UNKNOWN
            await asyncio.sleep(7.0)
            assert host(monitor).link is Link.LIVE
            assert source.opened_s == [0.0]

    virtual(test())


def test_a_fast_stream_is_not_stale_at_once() -> None:
    async def test() -> None:
        steps = [(0.0, hello(*roster(1), interval_s=0.1)), (0.0, sample(1, reading(0)))]
        async with Watched(ScriptedSource(steps)) as monitor:
            await asyncio.sleep(1.4)
            assert host(monitor).link is Link.LIVE
            await asyncio.sleep(0.2)
            assert host(monitor).link is Link.STALE

    virtual(test())


def test_who_stays_silent_is_replaced() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(), begun(*ticks(2, 100)))
        async with Watched(source) as monitor:
            await asyncio.sleep(3 + 30 + 3 + 3)
            assert len(source.opened_s) == 2
            assert source.streams[0].is_closed
            assert host(monitor).link is Link.LIVE

    virtual(test())


def test_who_never_says_a_word_is_down() -> None:
    async def test() -> None:
        source = ScriptedSource([], [])
        async with Watched(source) as monitor:
            await asyncio.sleep(29.0)
            assert host(monitor).link is Link.CONNECTING
            await asyncio.sleep(1.5)
            found = host(monitor)
            assert found.link is Link.DOWN
            assert found.problem is not None
            assert found.problem.title == "no answer"

    virtual(test())


def test_hung_is_shown_and_the_sampler_replaced_with_back_off() -> None:
    async def test() -> None:
        source = ScriptedSource(*([(0.0, hello(*roster(1))), (3.0, HANGS)] for _ in range(5)))
        async with Watched(source) as monitor:
            await asyncio.sleep(3.5)
            assert host(monitor).link is Link.HUNG
            await asyncio.sleep(400)
            waits = [b - a for a, b in zip(source.opened_s, source.opened_s[1:], strict=False)]
            assert waits[:4] == sorted(waits[:4])
            assert waits[0] < waits[3]
            assert all(stream.is_closed for stream in source.streams[:4])

    virtual(test())


# -- the end of a stream -----------------------------------------------------------------------


def test_back_off_after_fatal_faults() -> None:
    async def test() -> None:
        dead = [[(0.0, FATAL), (0.0, down("exit"))] for _ in range(20)]
        source = ScriptedSource(*dead)
        async with Watched(source) as monitor:
            await asyncio.sleep(250)
            assert source.opened_s == pytest.approx([0, 1, 3, 8, 18, 38, 68, 128, 188, 248])
            found = host(monitor)
            assert found.problem is not None
            assert found.problem.title == "driver not loaded"
            assert found.retry == 10
            assert len(monitor.fleet.happenings) == 1

    virtual(test())


@pytest.mark.parametrize(("jitter", "opened"), [(0.0, [0, 0.75, 2.25]), (1.0, [0, 1.25, 3.75])])
def test_jitter_spreads_attempts(jitter: float, opened: list[float]) -> None:
    async def test() -> None:
        source = ScriptedSource()
        async with Watched(source, jitter=lambda: jitter):
            await asyncio.sleep(4)
            assert source.opened_s == pytest.approx(opened)

    virtual(test())


def test_a_stream_that_was_good_is_replaced_soon() -> None:
    async def test() -> None:
        good = [[*begun(*ticks(2, 40)), (1.0, down())] for _ in range(4)]
        source = ScriptedSource(down(), down(), *good)
        async with Watched(source):
            await asyncio.sleep(3.0 + 3 * 41)
            assert source.opened_s == pytest.approx([0, 1, 3, 44, 85])

    virtual(test())


def test_the_end_names_the_problem() -> None:
    async def test() -> None:
        source = ScriptedSource([*begun(), (0.5, down("killed"))])
        async with Watched(source) as monitor:
            await asyncio.sleep(0.7)
            found = host(monitor)
            assert found.link is Link.DOWN
            assert found.problem is not None
            assert found.problem.title == "killed"
            assert verdict(monitor) is Verdict.UNKNOWN

    virtual(test())


def test_one_host_costs_no_other() -> None:
    async def test() -> None:
        bad = ScriptedSource(name="gpu-b")
        good = ScriptedSource(begun(*ticks(2, 60)))
        async with Watched(bad, good) as monitor:
            await asyncio.sleep(20)
            assert host(monitor).link is Link.LIVE
            assert monitor.fleet.host("gpu-b").link is Link.DOWN
            assert good.opened_s == [0.0]

    virtual(test())


def test_a_bug_shows_and_is_not_the_end() -> None:
    async def test() -> None:
        def listener(event: Event, before: Host, after: Host) -> None:
            if isinstance(event, Sample) and event.seq == 2:
                raise ZeroDivisionError

        source = ScriptedSource(begun(*ticks(2, 3)), begun())
        async with Watched(source, listener=listener) as monitor:
            await asyncio.sleep(1.5)
            found = host(monitor)
            assert found.link is Link.DOWN
            assert found.problem is not None
            assert "bug" in found.problem.sentence
            await asyncio.sleep(1.0)
            assert host(monitor).link is Link.LIVE

    virtual(test())


def test_garbage_makes_stale() -> None:
    async def test() -> None:
        noise = Garbled(reason="not an object", excerpt="x")
        source = ScriptedSource(begun((0.5, noise), (1.0, sample(2, reading(0)))))
        async with Watched(source) as monitor:
            await asyncio.sleep(1.0)
            assert host(monitor).link is Link.STALE
            await asyncio.sleep(1.0)
            assert host(monitor).link is Link.LIVE

    virtual(test())


def test_one_that_talks_nonsense_for_ever_is_replaced() -> None:
    async def test() -> None:
        noise = Garbled(reason="not an object", excerpt="x")
        nonsense: list[Step] = [(1.0, noise)] * 60
        source = ScriptedSource(begun(*nonsense), begun(*ticks(2, 60)))
        async with Watched(source) as monitor:
            await asyncio.sleep(50)
            assert len(source.opened_s) == 2
            assert host(monitor).link is Link.LIVE

    virtual(test())


def test_a_slow_pace_does_not_hold_up_a_pause() -> None:
    async def test() -> None:
        slow = replace(hello(*roster(1)), interval_s=60.0)
        source = ScriptedSource([(0.0, slow), (0.1, sample(1, reading(0)))], begun())
        async with Watched(source) as monitor:
            await asyncio.sleep(1)
            monitor.pause(HOST)
            await asyncio.sleep(10.5)
            problem = host(monitor).problem
            assert problem is not None
            assert problem.title == RELEASED

    virtual(test())


# -- what the user wants -----------------------------------------------------------------------


def test_reconnect_does_not_wait() -> None:
    async def test() -> None:
        source = ScriptedSource(down(), down(), down(), begun(*ticks(2, 60)), begun())
        async with Watched(source) as monitor:
            await asyncio.sleep(4)
            assert len(source.opened_s) == 3
            monitor.reconnect(HOST)
            await asyncio.sleep(0.01)
            assert source.opened_s[-1] == pytest.approx(4.0)
            assert host(monitor).link is Link.LIVE
            monitor.reconnect(HOST)
            await asyncio.sleep(0.01)
            assert len(source.opened_s) == 5
            assert source.streams[0].is_closed

    virtual(test())


def test_a_pause_stands_still_then_releases_and_goes_on_anew() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 60)), begun())
        async with Watched(source) as monitor:
            await asyncio.sleep(2.5)
            monitor.pause(HOST)
            seq = host(monitor).seq
            before = host(monitor).gpus
            await asyncio.sleep(5)
            assert (host(monitor).link, host(monitor).gpus) == (Link.PAUSED, before)
            assert not source.streams[0].is_closed
            assert seq == -1
            assert monitor.paused_for(HOST) == pytest.approx(5.0)
            await asyncio.sleep(6)
            assert source.streams[0].is_closed
            problem = host(monitor).problem
            assert problem is not None
            assert problem.title == "paused, driver released"
            await asyncio.sleep(1000)
            assert len(source.opened_s) == 1
            monitor.resume(HOST)
            await asyncio.sleep(0.01)
            assert len(source.opened_s) == 2
            assert host(monitor).link is Link.LIVE

    virtual(test())


def test_a_short_pause_keeps_the_sampler() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 60)))
        async with Watched(source) as monitor:
            await asyncio.sleep(2.5)
            monitor.pause(HOST)
            await asyncio.sleep(3)
            monitor.resume(HOST)
            assert monitor.paused_for(HOST) is None
            await asyncio.sleep(1)
            assert host(monitor).link is Link.LIVE
            assert len(source.opened_s) == 1

    virtual(test())


def test_a_roster_that_changed_during_a_pause_is_read_anew() -> None:
    """Ticks of the new roster must never be read as those of the old one."""

    async def test() -> None:
        moved = hello(gpu_info(0, "GPU-9"), seq=3)
        source = ScriptedSource(begun((3.0, moved), *ticks(4, 60)), begun())
        async with Watched(source) as monitor:
            await asyncio.sleep(2.5)
            monitor.pause(HOST)
            await asyncio.sleep(3)
            monitor.resume(HOST)
            await asyncio.sleep(0.5)
            assert len(source.opened_s) == 2

    virtual(test())


def test_a_paused_host_can_be_reconnected() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 60)), begun())
        async with Watched(source) as monitor:
            await asyncio.sleep(1)
            monitor.pause(HOST)
            monitor.reconnect(HOST)
            await asyncio.sleep(0.01)
            assert monitor.paused_for(HOST) is None
            assert host(monitor).link is Link.LIVE

    virtual(test())


# -- who holds it ------------------------------------------------------------------------------


def test_a_pid_is_asked_about_once_while_it_is_new() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 6, 7), *ticks(7, 12, 7, 8)))
        async with Watched(source) as monitor:
            await asyncio.sleep(11)
            assert source.questions == [(1.0, [7]), (6.0, [7, 8])]
            assert [known.pid for known in host(monitor).processes] == [7, 8]
            assert len(source.hands) == 1
            assert len(monitor.fleet.letters) == 2

    virtual(test())


def test_known_pids_are_asked_about_again_after_some_time() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 60, 7)))
        async with Watched(source):
            await asyncio.sleep(50)
            assert [at for at, _ in source.questions] == [1.0, 22.0, 43.0]

    virtual(test())


def test_a_holder_that_ended_is_known_dead_within_seconds() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 60, 7)))
        async with Watched(source) as monitor:
            await asyncio.sleep(5.5)
            source.ended.add(7)
            await asyncio.sleep(4)
            assert host(monitor).gone_pids == {7}
            assert host(monitor).processes == ()

    virtual(test())


def test_who_gives_memory_back_is_never_called_dead() -> None:
    async def test() -> None:
        dead: list[int] = []
        source = ScriptedSource(begun(*ticks(2, 6, 7), *ticks(7, 20)))
        listened = Watched(source, listener=lambda _, before, after: dead.extend(after.gone_pids))
        async with listened:
            # The hand looks at 5 s, the tick of 6 s lists it no more.
            await asyncio.sleep(4.5)
            source.ended.add(7)
            await asyncio.sleep(10)
            assert dead == []

    virtual(test())


def test_a_pid_without_answer_is_asked_about_again_soon() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 60, 7)))
        source.silent = frozenset({7})
        async with Watched(source):
            await asyncio.sleep(8)
            assert [at for at, _ in source.questions] == [1.0, 4.0, 7.0]

    virtual(test())


def test_a_hand_that_died_is_started_at_the_next_need() -> None:
    async def test() -> None:
        source = ScriptedSource(begun(*ticks(2, 6, 7), *ticks(7, 12, 7, 8)))
        async with Watched(source):
            await asyncio.sleep(2)
            source.hands[0].die()
            await asyncio.sleep(1)
            assert source.hands[0].is_closed
            assert len(source.hands) == 1
            await asyncio.sleep(4)
            assert len(source.hands) == 2

    virtual(test())


def test_host_pids_are_never_looked_up_in_a_container() -> None:
    async def test() -> None:
        inside = hello(*roster(1), pid_namespace=4026532000)
        source = ScriptedSource([(0.0, inside), *ticks(1, 10, 7)])
        async with Watched(source):
            await asyncio.sleep(10)
            assert source.questions == []
            assert source.scans, "who has the GPU open in there is another question"

    virtual(test())


# -- what is kept ------------------------------------------------------------------------------


def test_a_reboot_forgets_the_history() -> None:
    async def test() -> None:
        other = [(0.0, hello(*roster(1), boot_id="boot-2")), (50.0, sample(1, reading(0)))]
        source = ScriptedSource([*begun(*ticks(2, 5)), (0.0, down())], other)
        async with Watched(source) as monitor:
            await asyncio.sleep(4)
            assert monitor.history.ring(HOST, "GPU-0", Series.MEMORY) is not None
            await asyncio.sleep(2)
            assert monitor.history.ring(HOST, "GPU-0", Series.MEMORY) is None

    virtual(test())


def test_changes_are_marked_and_told() -> None:
    async def test() -> None:
        told: list[str] = []
        source = ScriptedSource(begun(*ticks(2, 3)))
        listened = Watched(
            source, listener=lambda event, before, after: told.append(type(event).__name__)
        )
        async with listened as monitor:
            await asyncio.sleep(0.5)
            version = monitor.version
            assert monitor.dirty == {HOST}
            monitor.dirty.clear()
            await asyncio.sleep(1)
            assert monitor.version == version + 1
            assert monitor.dirty == {HOST}
            assert told == ["Hello", "Sample", "Sample"]

    virtual(test())


def test_stopping_in_the_middle_of_anything_leaves_nothing() -> None:
    for after_s in (0.0, 0.5, 1.5, 3.5, 20.0, 45.0):

        async def test(after_s: float = after_s) -> None:
            lost = replace(FATAL, code=15)
            source = ScriptedSource(
                begun(*ticks(2, 5, 7), (1.0, HANGS)), [(0.0, lost)], begun(*ticks(2, 9, 8))
            )
            async with Watched(source) as monitor:
                await asyncio.sleep(after_s)
                if after_s == 3.5:
                    monitor.pause(HOST)

        virtual(test())


def test_a_host_is_marked_before_it_says_a_word() -> None:
    async def test() -> None:
        made_up, real = ScriptedSource(name="made-up"), ScriptedSource(name="real")
        made_up.is_simulated = True
        monitor = FleetMonitor((made_up, real), VirtualClock())
        assert [one.is_simulated for one in monitor.fleet.hosts] == [True, False]

    run(test())
