"""Details are asked for while somebody looks, of what is looked at, and never otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from gpudash.core.events import Ack, DetailTold
from gpudash.core.gpudetail import Fact, GpuDetail
from gpudash.core.kinship import Kindred
from gpudash.services.detailing import EVERY_S, Detailing
from tests.core.making import HOST, hello, process, reading, roster, sample
from tests.services.virtual import ScriptedSource, Step, VirtualClock, Watched, run

USED = 5 << 30


def script(ticks: int = 60) -> Iterable[Step]:
    yield 0.0, hello(*roster(2))
    for seq in range(1, ticks):
        yield 1.0, sample(seq, reading(USED, process(7, USED)), reading(0))


def detail(index: int, mono: float, uuid: str | None = None) -> GpuDetail:
    return GpuDetail(
        id=1,
        index=index,
        uuid=f"GPU-{index}" if uuid is None else uuid,
        host_monotonic_s=mono,
        facts=(("fan", Fact(numbers=(30,))),),
    )


def asked(source: ScriptedSource) -> list[tuple[str, object]]:
    sent = source.streams[0].sent
    return [(do, arguments.get("gpu")) for _, do, arguments in sent if do == "detail"]


def test_only_what_is_looked_at_and_only_while_it_is() -> None:
    async def watch() -> None:
        source = ScriptedSource(script())
        async with Watched(source) as monitor:
            await asyncio.sleep(5)
            assert asked(source) == []
            assert source.closer == []
            looking = Detailing(monitor, VirtualClock(), HOST)
            looking.start()
            await asyncio.sleep(EVERY_S + 0.1)
            assert asked(source) == []
            looking.turn_to(1)
            await asyncio.sleep(2 * EVERY_S + 0.1)
            assert asked(source) == [("detail", 1)] * 3
            looking.turn_to(0)
            await asyncio.sleep(0.1)
            assert asked(source)[-1] == ("detail", 0)
            await looking.close()
            number, closer = len(asked(source)), len(source.closer)
            assert closer > 0
            await asyncio.sleep(10)
            assert len(asked(source)) == number
            assert len(source.closer) == closer

    run(watch())


def test_nothing_is_asked_of_a_host_that_is_paused() -> None:
    async def watch() -> None:
        source = ScriptedSource(script())
        async with Watched(source) as monitor:
            await asyncio.sleep(3)
            monitor.pause(HOST)
            looking = Detailing(monitor, VirtualClock(), HOST)
            looking.turn_to(0)
            looking.start()
            await asyncio.sleep(4)
            assert asked(source) == []
            await looking.close()

    run(watch())


def test_answers_are_kept_with_the_one_before() -> None:
    async def watch() -> None:
        steps: list[Step] = [*script(4), (0.1, DetailTold(detail=detail(0, 10.0)))]
        steps += [(0.1, DetailTold(detail=detail(0, 13.0))), (100.0, sample(9, reading(0)))]
        source = ScriptedSource(steps)
        async with Watched(source) as monitor:
            await asyncio.sleep(4)
            looking = Detailing(monitor, VirtualClock(), HOST)
            gpu, other = monitor.fleet.host(HOST).gpus
            found = looking.detail(gpu)
            assert found.now is not None
            assert found.before is not None
            assert (found.before.host_monotonic_s, found.now.host_monotonic_s) == (10.0, 13.0)
            assert looking.detail(other).now is None

    run(watch())


def test_what_was_told_of_another_gpu_in_its_place_is_not_its_own() -> None:
    async def watch() -> None:
        source = ScriptedSource([*script(4), (0.1, DetailTold(detail=detail(0, 10.0, "GPU-9")))])
        async with Watched(source) as monitor:
            await asyncio.sleep(3.5)
            looking = Detailing(monitor, VirtualClock(), HOST)
            assert looking.detail(monitor.fleet.host(HOST).gpus[0]).now is None

    run(watch())


def test_a_refusal_says_why() -> None:
    async def watch() -> None:
        source = ScriptedSource(script(20))
        async with Watched(source) as monitor:
            await asyncio.sleep(2)
            looking = Detailing(monitor, VirtualClock(), HOST)
            looking.turn_to(0)
            looking.start()
            await asyncio.sleep(0.1)
            (number,) = (one for one, do, _ in source.streams[0].sent if do == "detail")
            stream = source.streams[0]
            refused = Ack(id=number, is_ok=False, error="unknown command: detail")
            stream._steps.insert(1, (0.0, refused))
            await asyncio.sleep(2)
            found = looking.detail(monitor.fleet.host(HOST).gpus[0])
            assert found.now is None
            assert found.error == "No details: unknown command: detail."
            await looking.close()

    run(watch())


def test_a_hand_that_says_no_costs_nothing_else() -> None:
    async def watch() -> None:
        source = ScriptedSource(script(30))
        async with Watched(source) as monitor:
            await asyncio.sleep(3)
            looking = Detailing(monitor, VirtualClock(), HOST)
            looking.turn_to(0)
            looking.start()
            await asyncio.sleep(2 * EVERY_S + 0.1)
            assert source.closer == ["kindred"] * 3
            assert looking.members(monitor.fleet.host(HOST)) == {}
            source.kindred = Kindred(id=0, host_monotonic_s=1.0, processes=())
            await asyncio.sleep(EVERY_S)
            assert looking.ended() == {}
            await looking.close()

    run(watch())
