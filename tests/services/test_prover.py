"""Proofs over a monitor: rates, scans, who is told, and several at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gpudash.core.errors import UsageError
from gpudash.core.holding import Scan
from gpudash.core.proof import Moment, Phase, Policy, Proof, State, Tell
from gpudash.core.scope import parse_scope
from gpudash.services.monitor import FleetMonitor
from gpudash.services.prover import Prover
from tests.core.making import HOST, hello, reading, roster, sample
from tests.proof.driving import scan_of
from tests.services.virtual import (
    ScriptedSource,
    ScriptedStream,
    Step,
    VirtualClock,
    Watched,
    down,
    run,
)

KEY = "all"


def script(*used: int, gpus: int = 2, host_s: float = 50.0) -> list[Step]:
    """Return a greeting and a sample every 0.25 s; `used` is what the last GPU holds in each."""
    steps: list[Step] = [(0.0, hello(*roster(gpus), interval_s=0.25))]
    for seq, amount in enumerate(used, start=1):
        readings = (*[reading(0)] * (gpus - 1), reading(amount))
        steps.append((0.25, replace(sample(seq, *readings), host_monotonic_s=host_s + seq * 0.25)))
    return steps


class Told:
    """A prover over scripted hosts, and what it told."""

    def __init__(self, monitor: FleetMonitor, scan: Scan | None = None) -> None:
        self.heard: list[tuple[str, Moment]] = []
        self.scans: list[str] = []
        self._answer = scan
        self.prover = Prover(monitor, VirtualClock(), self._scan, self._hear)

    def _hear(self, key: str, tell: Tell, proof: Proof) -> None:
        assert any(host.name == tell.host for host in proof.hosts)
        self.heard.append((key, tell.moment))

    async def _scan(self, host: str) -> Scan | None:
        self.scans.append(host)
        await asyncio.sleep(0.1)
        if self._answer is None:
            raise down("no scan")
        return self._answer

    def moments(self, key: str = KEY) -> list[Moment]:
        return [moment for heard, moment in self.heard if heard == key]


def rates(stream: ScriptedStream) -> list[object]:
    return [arguments["interval"] for _, do, arguments in stream.sent if do == "rate"]


def test_a_proof_is_driven_to_its_end() -> None:
    async def test() -> None:
        source = ScriptedSource(script(*[0] * 9))
        async with Watched(source) as monitor:
            told = Told(monitor, scan_of(at_s=51.5))
            told.prover.start(KEY, Policy(hold_s=1.0))
            await asyncio.sleep(2.0)
            proof = told.prover.proof(KEY)
            assert proof.is_proven
            assert proof.reach.word == "full"
            assert told.moments() == [
                Moment.BEGAN,
                Moment.SCANNED,
                Moment.PROVEN,
                Moment.SCANNED,
            ]
            assert told.scans == [HOST, HOST]
            assert rates(source.streams[0]) == [0.25, 1.0]
            await told.prover.close()

    run(test())


def test_the_rate_is_given_back_when_no_proof_wants_it_any_more() -> None:
    async def test() -> None:
        source = ScriptedSource(script(*[0] * 20))
        async with Watched(source) as monitor:
            told = Told(monitor)
            told.prover.start("short", Policy(hold_s=1.0))
            told.prover.start("long", Policy(hold_s=3.0, scope=parse_scope("0")))
            await asyncio.sleep(2.0)
            assert told.prover.proof("short").is_proven
            assert rates(source.streams[0]) == [0.25]
            assert told.scans == [HOST, HOST]
            await asyncio.sleep(2.0)
            assert told.prover.proof("long").is_proven
            assert rates(source.streams[0]) == [0.25, 1.0]
            await told.prover.close()

    run(test())


def test_a_scan_that_fails_leaves_a_proof_of_memory_alone() -> None:
    async def test() -> None:
        async with Watched(ScriptedSource(script(*[0] * 9))) as monitor:
            told = Told(monitor)
            told.prover.start(KEY, Policy(hold_s=1.0))
            await asyncio.sleep(2.0)
            proof = told.prover.proof(KEY)
            assert proof.is_proven
            assert proof.is_explained
            assert proof.reach.why == ("processes not scanned",)
            await told.prover.close()

    run(test())


def test_a_stop_gives_the_rate_back_and_no_more_is_told() -> None:
    async def test() -> None:
        source = ScriptedSource(script(*[0] * 9))
        async with Watched(source) as monitor:
            told = Told(monitor)
            told.prover.start(KEY, Policy(hold_s=1.0))
            await asyncio.sleep(0.6)
            told.prover.stop(KEY)
            await asyncio.sleep(2.0)
            assert told.moments() == [Moment.BEGAN]
            assert rates(source.streams[0]) == [0.25, 1.0]
            with pytest.raises(KeyError):
                told.prover.proof(KEY)
            await told.prover.close()

    run(test())


def test_a_listener_may_stop_the_proof_that_it_is_told_of() -> None:
    async def test() -> None:
        source = ScriptedSource(script(*[0] * 9))
        async with Watched(source) as monitor:
            prover: Prover

            async def unscanned(host: str) -> Scan | None:
                return None

            def stop(key: str, tell: Tell, proof: Proof) -> None:
                prover.stop(key)

            prover = Prover(monitor, VirtualClock(), unscanned, stop)
            prover.start(KEY, Policy(hold_s=1.0))
            await asyncio.sleep(2.0)
            assert rates(source.streams[0]) == [0.25, 1.0]
            await prover.close()

    run(test())


def test_a_scope_that_is_not_there_is_told_to_whoever_asks() -> None:
    async def test() -> None:
        async with Watched(ScriptedSource(script(0, 0, 0))) as monitor:
            told = Told(monitor)
            with pytest.raises(UsageError, match="no host"):
                told.prover.start(KEY, Policy(scope=parse_scope("gpu-z:0")))
            told.prover.start(KEY, Policy(scope=parse_scope("5")))
            await asyncio.sleep(1.0)
            with pytest.raises(UsageError, match="no GPU 5"):
                told.prover.proof(KEY)
            assert monitor.fleet.host(HOST).samples == 3
            await told.prover.close()

    run(test())


def test_a_host_that_comes_back_is_proven_anew() -> None:
    async def test() -> None:
        first: list[Step] = [*script(0, 0), (0.1, down())]
        async with Watched(ScriptedSource(first, script(*[0] * 9, host_s=55.0))) as monitor:
            told = Told(monitor)
            told.prover.start(KEY, Policy(hold_s=1.0, restarts=True))
            await asyncio.sleep(4.0)
            assert told.prover.proof(KEY).is_proven
            assert told.moments() == [Moment.BEGAN, Moment.BROKE, Moment.BEGAN, Moment.PROVEN]
            await told.prover.close()

    run(test())


def test_a_rate_lasts_over_a_new_start_of_the_sampler() -> None:
    opened: list[float] = []

    class Paced(ScriptedSource):
        async def open_sampler(self, interval_s: float) -> ScriptedStream:
            opened.append(interval_s)
            return await super().open_sampler(interval_s)

    async def test() -> None:
        source = Paced([*script(0), (0.1, down())], [*script(0), (0.1, down())], script(0))
        async with Watched(source) as monitor:
            monitor.rate(HOST, 0.25)
            await asyncio.sleep(3.0)
            monitor.rate(HOST, None)
            assert opened == [0.25, 0.25]
            await asyncio.sleep(9.0)
            assert opened == [0.25, 0.25, 1.0]
            assert rates(source.streams[1]) == []

    run(test())


def test_a_rate_that_changes_while_a_sampler_starts_is_told_to_it() -> None:
    class Slow(ScriptedSource):
        async def open_sampler(self, interval_s: float) -> ScriptedStream:
            await asyncio.sleep(2.0)
            return await super().open_sampler(interval_s)

    async def test() -> None:
        source = Slow(script(0))
        async with Watched(source) as monitor:
            await asyncio.sleep(1.0)
            monitor.rate(HOST, 0.25)
            await asyncio.sleep(2.0)
            assert rates(source.streams[0]) == [0.25]

    run(test())


def test_a_break_is_told_with_the_proof_as_it_is_then() -> None:
    async def test() -> None:
        async with Watched(ScriptedSource(script(*[0] * 6, 5, 5, 0, 0))) as monitor:
            states: list[State] = []

            def hear(key: str, tell: Tell, proof: Proof) -> None:
                if tell.moment is Moment.BROKE:
                    states.append(proof.state)

            async def unscanned(host: str) -> Scan | None:
                return None

            prover = Prover(monitor, VirtualClock(), unscanned, hear)
            prover.start(KEY, Policy(hold_s=1.0, restarts=True))
            changes = 0
            while not states:
                await prover.changed()
                changes += 1
            assert states == [State.BROKEN]
            assert changes >= 7
            prover.restart(KEY)
            assert prover.proof(KEY).state is State.NONE
            await prover.close()

    run(test())


def test_a_machine_that_slept_lets_the_proof_lapse(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = [0.0]

    class Sleepy(VirtualClock):
        def now(self) -> float:
            return super().now() + slept[0]

    monkeypatch.setattr("tests.services.virtual.VirtualClock", Sleepy)

    async def test() -> None:
        async with Watched(ScriptedSource(script(*[0] * 9))) as monitor:
            told = Told(monitor)
            told.prover.start(KEY, Policy(hold_s=1.0))
            await asyncio.sleep(1.6)
            assert told.prover.proof(KEY).is_proven
            slept[0] = 60.0
            await asyncio.sleep(2.0)
            proof = told.prover.proof(KEY)
            assert proof.hosts[0].phase is Phase.LAPSED
            assert Moment.LAPSED in told.moments()
            await told.prover.close()

    run(test())
