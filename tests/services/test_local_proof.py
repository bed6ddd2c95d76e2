"""A proof over the real sampler and the fake driver: it holds, it breaks, it begins anew."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from gpudash.core.proof import BreakKind, HostProof, Phase, Policy
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.prover import Prover
from gpudash.sources.local import LocalSource
from tests.cli.running import children_of
from tests.fake_driver import MIB, FakeDriver, Process

PATIENCE_S = 60


async def until(prover: Prover, is_so: Callable[[HostProof], bool]) -> HostProof:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so(prover.proof("all").hosts[0]):
            await prover.changed()
    return prover.proof("all").hosts[0]


async def test_a_proof_from_the_first_zero_to_the_next(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    before = children_of(os.getpid())
    driver = fake_driver.write()
    monitor = FleetMonitor((LocalSource(),), SystemClock())
    prover = Prover(monitor, SystemClock(), monitor.scan)
    prover.start("all", Policy(hold_s=1.0, restarts=True))
    monitor.start()
    try:
        # A busy machine may begin the hold anew, and a scan may be slow; neither makes it false.
        host = await until(prover, lambda host: host.is_proven and not host.scans_for)
        evidence = host.evidence
        assert evidence is not None
        assert evidence.held_s >= 1.0
        assert evidence.longest_gap_s <= 0.75
        assert evidence.uuids == tuple(gpu.uuid for gpu in driver.state.gpus)
        assert evidence.last_scan is not None
        await until(prover, lambda _: monitor.fleet.hosts[0].interval_s == 1.0)
        held = driver.with_used(3, 512 * MIB).with_process(3, Process(os.getpid(), 500 * MIB))
        held.write()
        host = await until(prover, lambda host: bool(host.broken and host.broken.is_settled))
        assert host.broken is not None
        assert host.broken.was_proven
        assert host.broken.gpus == (3,)
        assert host.broken.delta_bytes == 512 * MIB
        assert host.broken.kind in (BreakKind.MINE, BreakKind.LAUNCH, BreakKind.UNEXPLAINED)
        driver.write()
        await until(prover, lambda host: host.is_proven)
        driver.lose(5).write()
        host = await until(prover, lambda host: host.phase is Phase.BROKEN)
        assert host.broken is not None
        assert host.broken.kind is BreakKind.GPU_LOST
    finally:
        await prover.close()
        await monitor.stop()
    assert children_of(os.getpid()) == before
