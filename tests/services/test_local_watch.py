"""The monitor over real probes and the fake driver: it sees, it recovers, it leaves nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from gpudash.core.families import pids_are_local
from gpudash.core.model import GpuState, Host, Link
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.local import ChildStream, LocalSource
from tests.cli.running import children_of
from tests.fake_driver import MIB, FakeDriver, Process

PATIENCE_S = 60


async def until(monitor: FleetMonitor, is_so: Callable[[Host], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so(monitor.fleet.host("local")):
            await asyncio.sleep(0.01)


async def test_a_life(fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    before = children_of(os.getpid())
    driver = fake_driver.with_used(0, MIB).with_process(0, Process(os.getpid(), MIB)).write()
    monitor = FleetMonitor((LocalSource(),), SystemClock(), interval_s=0.1)
    monitor.start()
    try:
        await until(monitor, lambda host: host.samples > 1)
        if pids_are_local(monitor.fleet.host("local")):
            await until(monitor, lambda host: bool(host.processes))
        sampler = monitor._watches["local"].sampler
        assert isinstance(sampler, ChildStream)
        driver.lose(3).write()
        await until(monitor, lambda host: host.gpus[3].state is GpuState.LOST)
        os.kill(sampler._child.pid, signal.SIGKILL)
        await until(monitor, lambda host: host.link is Link.DOWN)
        monitor.reconnect("local")
        await until(monitor, lambda host: host.link is Link.LIVE)
    finally:
        await monitor.stop()
    assert children_of(os.getpid()) == before
