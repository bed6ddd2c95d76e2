"""Waiting for all GPUs over time: who broke a hold is asked for, and what keeps it from its end."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gpudash.core.errors import ExitCode
from gpudash.core.events import Sample
from gpudash.core.model import GpuReading
from gpudash.core.proof import BreakKind, Policy
from gpudash.core.record import Record
from gpudash.core.waiting import Ending
from gpudash.services.monitor import FleetMonitor
from gpudash.services.record_files import read_record
from gpudash.services.recorder import Recorder
from gpudash.services.waiting import Goal, Stage, WaitForAll
from tests.core.making import GIB, gpu_info, hello, process, reading
from tests.services.test_some import unscanned
from tests.services.virtual import ScriptedSource, Step, VirtualClock, run


def script(*readings: GpuReading, tick_s: float = 0.25) -> list[Step]:
    """One GPU; these readings, then the last one for ever and ever."""
    steps: list[Step] = [(0.0, hello(gpu_info(0, "GPU-0"), interval_s=0.25))]
    for tick in range(200):
        one = readings[min(tick, len(readings) - 1)]
        at_s = (tick + 1) * tick_s
        steps.append((tick_s, Sample(seq=tick + 1, host_monotonic_s=at_s, readings=(one,))))
    return steps


def waited(
    folder: Path, steps: list[Step], *, restarts: bool, timeout_s: float = 60.0
) -> tuple[Ending, WaitForAll, list[str], Record, float]:
    """Wait to the end; return it, the wait, what was said, the record, and when it was."""
    said: list[str] = []
    recorder = Recorder(folder, tell=print)
    stage_run = recorder.begin("wait")

    async def whole() -> tuple[Ending, WaitForAll, float]:
        monitor = FleetMonitor((ScriptedSource(steps),), VirtualClock(), interval_s=0.25)
        goal = Goal(
            policy=Policy(hold_s=5.0, restarts=restarts), local=frozenset(), timeout_s=timeout_s
        )
        stage = Stage(
            monitor=monitor, clock=VirtualClock(), scan=unscanned, run=stage_run, say=said.append
        )
        wait = WaitForAll(goal, stage)
        monitor.start()
        ending = await wait.watched(lambda _: None)
        at_s = asyncio.get_running_loop().time()
        await wait.close()
        await monitor.stop()
        return ending, wait, at_s

    ending, wait, at_s = run(whole())
    assert recorder.end(60)
    return ending, wait, said, read_record(folder, stage_run.id), at_s


def kinds(record: Record) -> list[object]:
    return [line["kind"] for line in record.lines]


def test_who_broke_a_hold_is_asked_for_until_the_driver_says_it(tmp_path: Path) -> None:
    """The driver lists a process when its context is ready, seconds after the memory."""
    zero, taken = reading(0), reading(GIB)
    steps = script(*[zero] * 4, *[taken] * 8, reading(GIB, process(7)))
    ending, wait, _, record, at_s = waited(tmp_path, steps, restarts=False)
    assert ending.exit_code is ExitCode.HELD
    broken = wait.proof.hosts[0].broken
    assert broken is not None
    assert (broken.is_settled, broken.who.pid if broken.who else None) == (True, 7)
    assert kinds(record) == ["hold", "break", "named"]
    assert at_s < 5.0


def test_nobody_is_asked_for_ever(tmp_path: Path) -> None:
    steps = script(*[reading(0)] * 4, reading(300 << 20))
    _, wait, _, record, at_s = waited(tmp_path, steps, restarts=False)
    broken = wait.proof.hosts[0].broken
    assert broken is not None
    assert (broken.is_settled, broken.kind) == (True, BreakKind.UNEXPLAINED)
    assert kinds(record) == ["hold", "break", "named"]
    assert "nobody listed" in str(record.last["says"])
    assert 5.0 < at_s < 7.0


def test_what_was_held_from_the_start_is_told_at_once(tmp_path: Path) -> None:
    _, wait, _, record, at_s = waited(tmp_path, script(reading(300 << 20)), restarts=False)
    broken = wait.proof.hosts[0].broken
    assert broken is not None
    assert broken.is_settled
    assert kinds(record) == ["break", "named"]
    assert at_s < 1.0


def test_a_driver_that_is_too_slow_is_named(tmp_path: Path) -> None:
    steps = script(reading(0), tick_s=0.9)
    ending, wait, said, _, _ = waited(tmp_path, steps, restarts=True, timeout_s=20.0)
    assert ending.exit_code is ExitCode.TIMED_OUT
    assert ending.says == (
        "timed out: no proof of 5.0 s came within 20 s; "
        "gpu-a: the hold began anew: readings 0.9 s apart"
    )
    anew = [one for one in said if "begins anew" in one]
    assert anew == [
        "gpu-a: the hold begins anew: readings 0.9 s apart; GPU 0 at 0 MiB",
    ]
    assert wait.status() == "gpu-a: the hold began anew: readings 0.9 s apart"
