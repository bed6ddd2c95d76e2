"""A server that somebody starts by hand beside the dashboard is followed by itself, to READY."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gpudash.core.startup.model import Outcome
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.startup.noticing import Noticing
from gpudash.services.startup.past import Past
from gpudash.sources.here import local_source
from tests.isolation.room import in_a_room
from tests.isolation.stage import DEVICE_MAP, Stage
from tests.launching.playing import PORT, SERVER, Show, end_server

PATIENCE_S = 60.0


async def until(holds: Callable[[], bool], said: Callable[[], object]) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"it did not come: {said()}") from None


async def follow(folder: Path, start: Callable[[], int], wanted: Outcome) -> Noticing:
    monitor = FleetMonitor((local_source("local"),), SystemClock(), interval_s=0.2)
    past = Past(folder / "startups.jsonl")
    noticing = Noticing(monitor, SystemClock(), lambda: None, lambda: past)
    monitor.start()
    noticing.start()
    try:
        await until(lambda: monitor.fleet.hosts[0].samples > 0, lambda: monitor.fleet.hosts[0])
        pid = start()
        await until(lambda: bool(noticing.all), lambda: monitor.fleet.hosts[0].processes)
        (noticed,) = noticing.all
        assert noticed.followed.pid == pid
        await until(lambda: noticed.followed.startup.outcome is wanted, lambda: noticed.followed)
        await until(lambda: bool(noticed.followed.memory), lambda: noticed.followed)
        assert len(noticed.followed.gpus) == 2
        assert noticed.book.newest(1)
    finally:
        await noticing.close()
        await monitor.stop()
    return noticing


def started(stage: Stage, play: str) -> Callable[[], int]:
    """Return what starts a server as a person does: its output to a file, gpudash not asked."""
    log = stage.folder / "serve.log"

    def start() -> int:
        command = [sys.executable, str(SERVER), "--port", str(PORT), "--tp", "2"]
        with open(log, "wb") as file:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                env={**stage.driver.env(), "PLAY": play},
            )
        return process.pid

    return start


def surround(stage: Stage) -> None:
    os.environ.update(stage.driver.env())
    os.environ["GPUDASH_DEVICE_MAP"] = DEVICE_MAP


@in_a_room
def test_what_is_started_by_hand_is_followed_to_ready(stage: Stage) -> None:
    surround(stage)
    show = Show(stage)
    noticing = asyncio.run(follow(stage.folder, started(stage, show.play()), Outcome.READY))
    (noticed,) = noticing.all
    assert noticed.followed.startup.engine == "sglang"
    assert noticed.followed.startup.ready_basis in ("log", "log+url")
    (run,) = Past(stage.folder / "startups.jsonl").load()
    assert run.outcome == "ready"
    assert run.memory
    assert noticed.followed.pid is not None
    end_server(noticed.followed.pid)


@in_a_room
def test_what_fails_is_told_with_its_cause(stage: Stage) -> None:
    surround(stage)
    show = Show(stage)
    play = show.play("sglang_0.5.9_graph_capture_oom", end="hang")
    noticing = asyncio.run(follow(stage.folder, started(stage, play), Outcome.FAILED))
    (noticed,) = noticing.all
    failure = noticed.followed.startup.failure
    assert failure is not None
    assert failure.kind == "cuda_oom"
