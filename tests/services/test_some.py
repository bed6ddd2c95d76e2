"""Choosing GPUs over time: bursts, claims, and two waits at once, in virtual time."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from gpudash.core.choosing import Wish
from gpudash.core.events import Sample
from gpudash.core.holding import Scan
from gpudash.core.model import GpuInfo
from gpudash.core.proof import Policy
from gpudash.core.waiting import Ending
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Recorder
from gpudash.services.some import WaitForSome
from gpudash.services.waiting import Goal, Stage
from gpudash.sources.claims import Claims
from tests.core.making import GIB, gpu_info, hello, reading
from tests.services.virtual import ScriptedSource, Step, VirtualClock, run

TICK_S = 0.25
Used = Callable[[int, float], int]
"""Bytes that a GPU holds at a time."""


def burst(gpu: int, at_s: float) -> int:
    """Eight GPUs: holders on 0 to 3, on 5 a burst of 2 s every 6 s."""
    if gpu < 4:
        return GIB
    return GIB if gpu == 5 and at_s % 6.0 < 2.0 else 0


def day(infos: tuple[GpuInfo, ...], used: Used, seconds: float) -> list[Step]:
    steps: list[Step] = [(0.0, hello(*infos, interval_s=TICK_S))]
    for tick in range(int(seconds / TICK_S)):
        at_s = tick * TICK_S
        readings = tuple(reading(used(info.index, at_s)) for info in infos)
        steps.append((TICK_S, Sample(seq=tick + 1, host_monotonic_s=at_s, readings=readings)))
    return steps


def roster() -> tuple[GpuInfo, ...]:
    """Eight GPUs that no other test claims."""
    return tuple(gpu_info(index, f"GPU-{uuid.uuid4()}") for index in range(8))


class Stand:
    """A host with eight GPUs, and waits over it."""

    def __init__(self, folder: Path, used: Used, seconds: float = 120.0) -> None:
        self.infos = roster()
        self.source = ScriptedSource(day(self.infos, used, seconds))
        self.recorder = Recorder(folder, tell=print)
        self.said: list[str] = []

    def monitor(self) -> FleetMonitor:
        return FleetMonitor((self.source,), VirtualClock(), interval_s=TICK_S)

    def wait(self, monitor: FleetMonitor, claims: Claims, **changes: Any) -> WaitForSome:
        goal = Goal(
            policy=Policy(hold_s=10.0, free_bytes=changes.get("free_bytes")),
            local=frozenset({self.source.name}),
            timeout_s=changes.get("timeout_s", 100.0),
            wish=Wish(count=changes.get("count", 2), free_bytes=changes.get("free_bytes")),
        )
        stage = Stage(
            monitor=monitor,
            clock=VirtualClock(),
            scan=unscanned,
            run=self.recorder.begin("wait"),
            say=self.said.append,
        )
        return WaitForSome(goal, stage, claims)


async def unscanned(host: str) -> Scan | None:
    return None


def stand(
    folder: Path, used: Used, test: Callable[[Stand, FleetMonitor], Coroutine[Any, Any, None]]
) -> Stand:
    """Run a test over one stand; nothing is left behind."""
    made = Stand(folder, used)

    async def whole() -> None:
        monitor = made.monitor()
        monitor.start()
        try:
            await test(made, monitor)
        finally:
            await monitor.stop()

    run(whole())
    assert made.recorder.end(60)
    return made


def test_a_gpu_with_bursts_is_never_chosen(tmp_path: Path) -> None:
    async def test(made: Stand, monitor: FleetMonitor) -> None:
        claims = Claims()
        wait = made.wait(monitor, claims, count=3)
        ending = await wait.ended
        await wait.close()
        claims.close()
        assert ending.exit_code == 0
        assert [gpu.info.index for gpu in wait.chosen] == [4, 6, 7]
        # The first reading comes after a tick, and is the first of the hold at the next one.
        assert 10.0 <= asyncio.get_running_loop().time() <= 11.0

    stand(tmp_path, burst, test)


def test_two_waits_share_three_gpus_one_after_the_other(tmp_path: Path) -> None:
    """Only 4, 6 and 7 ever hold: the second wait goes on when the first one's claim is free."""
    pairs: list[list[int]] = []

    async def test(made: Stand, monitor: FleetMonitor) -> None:
        claims = [Claims(), Claims()]
        waits = [made.wait(monitor, one) for one in claims]
        done, _ = await asyncio.wait(
            [wait.ended for wait in waits], return_when=asyncio.FIRST_COMPLETED
        )
        assert len(done) == 1
        first = next(place for place, wait in enumerate(waits) if wait.ended.done())
        other = waits[1 - first]
        await asyncio.sleep(20.0)
        assert not other.ended.done()
        assert any("claimed by others" in said for said in made.said)
        claims[first].release()
        assert (await other.ended).exit_code == 0
        for wait, one in zip(waits, claims, strict=True):
            pairs.append([gpu.info.index for gpu in wait.chosen])
            await wait.close()
            one.close()

    stand(tmp_path, burst, test)
    assert all(len(pair) == 2 and set(pair) <= {4, 6, 7} for pair in pairs)


def test_two_waits_have_disjoint_pairs_at_once(tmp_path: Path) -> None:
    """With holders on 0 to 2 there are four GPUs for two pairs."""

    async def test(made: Stand, monitor: FleetMonitor) -> None:
        claims = [Claims(), Claims()]
        waits = [made.wait(monitor, one) for one in claims]
        endings = [await wait.ended for wait in waits]
        chosen = [gpu.info.index for wait in waits for gpu in wait.chosen]
        for wait, one in zip(waits, claims, strict=True):
            await wait.close()
            one.close()
        assert [ending.exit_code for ending in endings] == [0, 0]
        assert sorted(chosen) == [3, 4, 6, 7]

    stand(tmp_path, lambda gpu, at_s: 0 if gpu == 3 else burst(gpu, at_s), test)


def test_two_at_once_have_disjoint_pairs_although_the_command_ends_at_once(
    tmp_path: Path,
) -> None:
    """As `-- env` does: the first claim is free again before the second one looks."""

    async def test(made: Stand, monitor: FleetMonitor) -> None:
        claims = [Claims(), Claims()]
        waits = [made.wait(monitor, one) for one in claims]
        for wait, one in zip(waits, claims, strict=True):
            wait.ended.add_done_callback(lambda _, one=one: one.release())
        chosen = []
        for wait in waits:
            await wait.ended
            chosen.append([gpu.info.index for gpu in wait.chosen])
        for wait, one in zip(waits, claims, strict=True):
            await wait.close()
            one.close()
        assert sorted(chosen[0] + chosen[1]) == [3, 4, 6, 7]

    stand(tmp_path, lambda gpu, at_s: 0 if gpu == 3 else burst(gpu, at_s), test)


def test_too_few_is_a_timeout_that_says_so(tmp_path: Path) -> None:
    ending: list[Ending] = []

    async def test(made: Stand, monitor: FleetMonitor) -> None:
        claims = Claims()
        wait = made.wait(monitor, claims, count=4, timeout_s=60.0)
        ending.append(await wait.ended)
        await wait.close()
        claims.close()

    stand(tmp_path, burst, test)
    assert (ending[0].exit_code, ending[0].says) == (
        5,
        "timed out: no 4 GPUs at zero for 10 s within 1m 00s",
    )


def test_memory_that_comes_back_in_the_hold_restarts_that_gpu_alone(tmp_path: Path) -> None:
    def used(gpu: int, at_s: float) -> int:
        return GIB if gpu > 1 or (gpu == 1 and at_s == 8.0) else 0

    async def test(made: Stand, monitor: FleetMonitor) -> None:
        claims = Claims()
        wait = made.wait(monitor, claims)
        await wait.ended
        held = sorted({proof.hosts[0].held_s for proof in wait.proofs if proof.is_proven})
        await wait.close()
        claims.close()
        assert [gpu.info.index for gpu in wait.chosen] == [0, 1]
        assert held == [10.0, 18.0]

    stand(tmp_path, used, test)
