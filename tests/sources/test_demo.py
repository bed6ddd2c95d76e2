"""The demo: what it says, byte for byte, and what the core makes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core import wire
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.events import Ack, Bye, Fault, Garbled, Hello, ProbeEvent, Sample
from gpudash.core.families import Holder, holders, listed_pids, unexplained_bytes
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.history import Series
from gpudash.core.model import Fleet, GpuState, Link, Owner
from gpudash.core.verify import Clear, Verdict, judge_fleet
from gpudash.sources.base import HostSource, SourceError, Stream
from gpudash.sources.demo import NAMES, demo_sources, parse_scenario, prehistory
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler
from gpudash.sources.demo.scenes import machines
from gpudash.sources.demo.tenants import ROUND_S, rank_mib

MIB = 1 << 20
TENTH_GIB = 0.05


def said(machine: Machine, ticks: Sequence[float]) -> bytes:
    """Return everything that one sampler says in these ticks."""
    sampler = Sampler(machine, 1.0)
    data = sampler.greeting(0.0)
    for at_s in ticks:
        if not sampler.has_ended:
            data += sampler.tick(at_s)
    return data


def decoded(data: bytes) -> list[ProbeEvent]:
    return wire.LineDecoder(TOKEN).feed(data)


def asked(machine: Machine, pids: Sequence[int], at_s: float) -> list[ProbeEvent]:
    hand = Hand(machine)
    command = wire.encode_command(7, "process", pids=list(pids))
    return decoded(hand.greeting(at_s) + hand.answer(command, at_s))


def fleet_of(text: str, at_s: float = 7.0, seed: int = 0) -> Fleet:
    """Return a scenario as the core knows it after the ticks up to `at_s`."""
    known = machines(parse_scenario(text), seed)
    fleet = new_fleet(tuple(machine.name for machine in known), 0.0)
    for machine in known:
        ticks = [float(tick) for tick in range(int(at_s) + 1)]
        for event in decoded(said(machine, ticks)):
            fleet = apply(fleet, machine.name, event, at_s)
        listed = sorted(listed_pids(fleet.host(machine.name)))
        for event in asked(machine, listed, at_s):
            fleet = apply(fleet, machine.name, event, at_s)
    return fleet


def holders_of(fleet: Fleet, name: str) -> dict[str, Holder]:
    found = holders(fleet.host(name), fleet.letters)
    return {f"{holder.label.name} {holder.label.detail}".strip(): holder for holder in found}


def gib(holder: Holder) -> float:
    return holder.used_bytes / (1 << 30)


# -- which scenario --------------------------------------------------------------------------


def test_no_word_is_the_busy_scenario() -> None:
    assert parse_scenario("").name == "busy"


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_a_scenario(name: str) -> None:
    assert parse_scenario(f" {name.upper()} ").name == name


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("leftover", "leftovers"),
        ("troubel", "trouble"),
        ("flet:4x8", "fleet"),
        ("train", "training"),
    ],
)
def test_an_unknown_scenario_names_the_nearest(text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scenario(text)
    assert f"Did you mean {near}?" in caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    "text",
    ["fleet:", "fleet:8", "fleet:0x8", "fleet:129x8", "fleet:4x17", "fleet:4x0", "fleet:-1x8",
     "fleet:4x8x2", "fleet:４x8", "fleet: 4x8", "idle:4x8"],
)  # fmt: skip
def test_a_malformed_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scenario(text)
    assert "HxG" in caught.value.hint


# -- the bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_says_the_same_bytes(name: str) -> None:
    scenario = parse_scenario(name)
    first, second = ([said(m, range(40)) for m in machines(scenario, 3)] for _ in range(2))
    assert first == second


def test_another_seed_says_other_bytes() -> None:
    scenario = parse_scenario("busy")
    assert [said(m, range(5)) for m in machines(scenario, 1)] != [
        said(m, range(5)) for m in machines(scenario, 2)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_tick_does_not_depend_on_the_ticks_before(name: str) -> None:
    scenario = parse_scenario(name)
    for stepped, fresh in zip(machines(scenario, 0), machines(scenario, 0), strict=True):
        for at_s in (300.0, -20.0, 12.0):
            stepped.instants(at_s)
        assert stepped.instants(77.0) == fresh.instants(77.0)


def test_the_token_comes_first_and_the_hello_says_simulated() -> None:
    for name in NAMES:
        for machine in machines(parse_scenario(name), 0):
            token, first, *_ = said(machine, [0.0]).split(b"\n")
            assert token == TOKEN.encode()
            told = json.loads(first)
            if told["t"] == "hello":
                assert told["simulated"] is True
                assert told["source"] == "demo"
            else:
                assert (told["t"], told["fatal"]) == ("fault", True)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(NAMES),
    start=st.integers(min_value=0, max_value=400),
    sizes=st.lists(st.integers(min_value=1, max_value=700), min_size=1, max_size=8),
)
def test_every_line_decodes_in_any_chunking(name: str, start: int, sizes: list[int]) -> None:
    for machine in machines(parse_scenario(name), 0)[:8]:
        data = said(machine, range(start, start + 4))
        decoder = wire.LineDecoder(TOKEN)
        events: list[ProbeEvent] = []
        at, turn = 0, 0
        while at < len(data):
            size = sizes[turn % len(sizes)]
            events += decoder.feed(data[at : at + size])
            at, turn = at + size, turn + 1
        assert events == decoded(data)
        assert not [event for event in events if isinstance(event, Garbled)]
        assert all(len(line) <= wire.MAX_LINE_BYTES for line in data.split(b"\n"))


@settings(deadline=None, max_examples=30)
@given(hosts=st.integers(1, 128), gpus=st.integers(1, 16), seed=st.integers(0, 1 << 32))
def test_a_fleet_has_any_size(hosts: int, gpus: int, seed: int) -> None:
    known = machines(parse_scenario(f"fleet:{hosts}x{gpus}"), seed)
    assert len({machine.name for machine in known}) == hosts
    for machine in known[:33]:
        hello, sample = decoded(said(machine, [5.0]))
        assert isinstance(hello, Hello)
        assert isinstance(sample, Sample)
        assert len(hello.roster) == len(sample.readings) == gpus
        assert len({info.uuid for info in hello.roster}) == gpus
        assert len({info.bus_id for info in hello.roster}) == gpus
        for info, reading in zip(hello.roster, sample.readings, strict=True):
            assert reading.used_bytes is None or reading.used_bytes < (info.total_bytes or 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at_s", [-250.0, 0.0, 30.0, 61.5, 119.0, 1000.0])
def test_what_processes_hold_adds_up_to_what_is_used(name: str, at_s: float) -> None:
    for machine in machines(parse_scenario(name), 0):
        for gpu, now in enumerate(machine.instants(at_s)):
            if now is None:
                continue
            held = sum(holding.mib for holding in now.holdings) * MIB
            stray = 512 * MIB * any(sick.gpu == gpu and sick.mib for sick in machine.ailments)
            assert 0 <= now.used_bytes - held - stray <= 8 * MIB
            assert 0 <= now.utilisation_pct <= 100
            assert now.power_mw < machine.boards[gpu].limit_w * 1000


# -- what the core makes of it ---------------------------------------------------------------


def test_idle_is_zero() -> None:
    fleet = fleet_of("idle")
    verdict = judge_fleet(fleet)
    assert (verdict.verdict, verdict.clear) == (Verdict.ZERO, Clear.YES)
    assert fleet.hosts[0].is_simulated
    assert len(fleet.hosts[0].gpus) == 8


def test_busy_has_three_families_and_nothing_unexplained() -> None:
    fleet = fleet_of("busy")
    assert judge_fleet(fleet).exit_code is ExitCode.HELD
    found = holders_of(fleet, "gpu-a")
    sglang = found["sglang Qwen3-235B-A22B TP8 :30000"]
    vllm, kernel = found["vllm bge-m3 :8001"], found["notebook ipykernel"]
    assert len(found) == 3
    assert sglang.pids == tuple(range(48213, 48221))
    assert (sglang.owner, vllm.owner, kernel.owner) == (Owner.MINE, Owner.MINE, Owner.FOREIGN)
    assert gib(sglang) == pytest.approx(569.6, abs=TENTH_GIB)
    assert gib(vllm) == pytest.approx(4.1, abs=TENTH_GIB)
    assert gib(kernel) == pytest.approx(3.4, abs=TENTH_GIB)
    assert {letter for _, letter in fleet.letters} == {"A", "B", "C"}
    assert not any(unexplained_bytes(gpu) for gpu in fleet.hosts[0].gpus)


def test_leftovers_keep_memory_without_load_and_one_pid_is_dead() -> None:
    fleet = fleet_of("leftovers")
    host = fleet.hosts[0]
    assert judge_fleet(fleet).verdict is Verdict.HELD
    assert host.gone_pids == {48220}
    free = host.gpus[3].reading
    assert free is not None
    assert free.used_bytes == 0
    used = sum(gpu.reading.used_bytes or 0 for gpu in host.gpus if gpu.reading)
    assert used / (1 << 30) == pytest.approx(505.9, abs=TENTH_GIB)
    loads = [gpu.reading.utilisation_pct for gpu in host.gpus if gpu.reading]
    assert [load for index, load in enumerate(loads) if index != 6] == [0] * 7
    found = holders_of(fleet, "gpu-a")
    assert found["pid 48220 is dead"].is_dead
    ranks = [holder for holder in found.values() if holder.label.name == "sglang"]
    assert sorted(pid for rank in ranks for pid in rank.pids) == [
        48213, 48214, 48215, 48217, 48218, 48219,
    ]  # fmt: skip


def test_training_is_anas_and_the_notebook_the_viewers() -> None:
    found = holders_of(fleet_of("training"), "gpu-b")
    run = found["torchrun train.py"]
    assert (run.owner, run.user, len(run.gpu_bytes)) == (Owner.FOREIGN, "ana", 8)
    assert found["notebook ipykernel"].owner is Owner.MINE


def test_a_startup_climbs_serves_and_ends() -> None:
    empty = fleet_of("startup", at_s=90.0)
    assert judge_fleet(empty).verdict is Verdict.ZERO
    loading = holders_of(fleet_of("startup", at_s=10.0), "gpu-a")
    serving = holders_of(fleet_of("startup", at_s=70.0), "gpu-a")
    name = "sglang Qwen3-235B-A22B TP8 :30000"
    assert gib(loading[name]) < gib(serving[name])
    assert gib(serving[name]) == pytest.approx(569.5, abs=0.1)


def test_each_round_of_the_startup_has_its_own_pids() -> None:
    (machine,) = machines(parse_scenario("startup"), 0)
    first, second = (machine.tasks(at_s) for at_s in (40.0, 40.0 + ROUND_S))
    assert first
    assert not first.keys() & second.keys()


@given(rank=st.integers(0, 7), at=st.floats(4.0, 111.0))
def test_a_ranks_memory_never_shrinks_while_it_starts(rank: int, at: float) -> None:
    assert rank_mib(rank, at) <= rank_mib(rank, at + 0.5)


def test_trouble_has_every_kind_of_trouble() -> None:
    fleet = fleet_of("trouble")
    a, b, c, e, g, h = (fleet.host(f"gpu-{letter}") for letter in "abcegh")
    assert judge_fleet(fleet).verdict is Verdict.UNKNOWN
    assert (a.link, b.link, c.link) == (Link.LIVE, Link.LIVE, Link.LIVE)
    assert c.gpus[5].state is GpuState.LOST
    assert c.gpus[6].state is GpuState.NEEDS_RESET
    assert unexplained_bytes(c.gpus[7]) == 512 * MIB
    reading = c.gpus[2].reading
    assert reading is not None
    assert [piece.profile for piece in reading.mig] == ["3g.71gb", "2g.35gb", "2g.35gb"]
    assert (c.gpus[2].state, reading.utilisation_pct) == (GpuState.READ, None)
    assert {"notebook ipykernel", "eval.py", "vllm Llama-3.3-70B TP2 :8000"} == set(
        holders_of(fleet, "gpu-c")
    )
    assert e.problem is not None
    assert e.problem.title == "no GPUs found"
    assert (g.link, len(g.gpus)) == (Link.HUNG, 8)
    assert h.problem is not None
    assert (h.link, h.problem.is_no_driver) == (Link.DOWN, True)


def test_the_silent_host_says_nothing_and_comes_back() -> None:
    silent = machines(parse_scenario("trouble"), 0)[1]
    sampler = Sampler(silent, 1.0)
    lengths = [len(sampler.tick(float(at_s))) for at_s in range(50)]
    assert all(lengths[:8])
    assert not any(lengths[8:38])
    assert all(lengths[38:])


def test_a_default_fleet_mixes_clear_used_foreign_and_troubled_hosts() -> None:
    fleet = fleet_of("fleet")
    assert len(fleet.hosts) == 32
    zero = [v.host.name for v in judge_fleet(fleet).hosts if v.verdict is Verdict.ZERO]
    assert len(zero) >= 15
    assert holders_of(fleet, "node05")["torchrun train.py"].user == "ana"
    assert holders_of(fleet, "node01")["sglang GLM-4.6 TP8 :30000"].owner is Owner.MINE
    assert fleet.host("node02").gpus[5].state is GpuState.LOST
    assert unexplained_bytes(fleet.host("node28").gpus[7]) == 512 * MIB


def test_ages_grow_with_demo_time_and_identities_stay() -> None:
    (machine,) = machines(parse_scenario("busy"), 0)
    (early,), (late,) = asked(machine, [48213], 5.0), asked(machine, [48213], 65.0)
    assert isinstance(early, Ack)
    assert isinstance(late, Ack)
    before, after = early.processes[0], late.processes[0]
    assert after.age_s - before.age_s == pytest.approx(60.0)
    assert after.start_ticks == before.start_ticks
    assert [step.comm for step in after.ancestors] == ["python3", "bash", "tmux: server"]


def test_a_long_answer_comes_in_parts() -> None:
    (machine,) = machines(parse_scenario("fleet:1x16"), 0)
    pids = sorted(machine.tasks(0.0))
    events = asked(machine, [*pids, *pids, 4], 0.0)
    assert [isinstance(event, Ack) and event.is_last for event in events] == [False, True]
    assert sum(len(event.processes) for event in events if isinstance(event, Ack)) == 2 * len(pids)
    assert isinstance(events[-1], Ack)
    assert events[-1].gone == {4}


# -- the past --------------------------------------------------------------------------------


def test_the_past_joins_the_present() -> None:
    (machine,) = machines(parse_scenario("busy"), 0)
    pasts = list(prehistory(parse_scenario("busy"), 0, 20))
    assert [past.gpu for past in pasts] == [machine.gpu_uuid(gpu) for gpu in range(8)]
    for gpu, past in enumerate(pasts):
        last = machine.instants(-1.0)[gpu]
        assert last is not None
        assert len(past.values) == 20
        assert past.values[-1][Series.UTILISATION] == last.utilisation_pct
        assert past.values[-1][Series.POWER] == last.power_mw // 1000


def test_leftovers_have_a_past_of_load() -> None:
    crashed = next(prehistory(parse_scenario("leftovers")))
    loads = [values[Series.UTILISATION] or 0 for values in crashed.values]
    assert min(loads[:107]) > 50
    assert max(loads[107:]) == 0


# -- paced streams ---------------------------------------------------------------------------


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 5000.0

    def clock(self) -> float:
        return self.now_s

    async def sleep(self, left_s: float) -> None:
        self.now_s += left_s


async def never(left_s: float) -> None:
    await asyncio.Event().wait()


def sources_of(text: str) -> tuple[tuple[HostSource, ...], FakeTime]:
    time = FakeTime()
    return demo_sources(parse_scenario(text), clock=time.clock, sleep=time.sleep), time


@asynccontextmanager
async def opened(stream: Stream) -> AsyncIterator[Stream]:
    try:
        yield stream
    finally:
        await stream.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def read_many(stream: Stream, count: int) -> list[object]:
    return [event for _ in range(count) for event in await stream.read()]


async def test_a_sampler_is_paced_by_its_interval() -> None:
    (source,), time = sources_of("busy")
    async with opened(await source.open_sampler(2.0)) as stream:
        hello, *samples = await read_many(stream, 4)
        assert isinstance(hello, Hello)
        assert hello.interval_s == 2.0
        assert [sample.seq for sample in samples if isinstance(sample, Sample)] == [1, 2, 3]
        assert time.now_s == 5004.0


async def test_ticks_stand_on_a_grid_and_those_slept_through_are_skipped() -> None:
    (source,), time = sources_of("busy")
    time.now_s += 3.4
    async with opened(await source.open_sampler(1.0)) as stream:
        _, first, second = await read_many(stream, 3)
        time.now_s += 60.0
        third, fourth = await read_many(stream, 2)
    seen = [event.host_monotonic_s for event in (first, second, third, fourth)
            if isinstance(event, Sample)]  # fmt: skip
    assert [later - seen[0] for later in seen] == pytest.approx([0.0, 1.0, 61.0, 62.0])
    assert time.now_s == pytest.approx(5065.0)


async def test_commands_are_answered_and_obeyed() -> None:
    (source,), time = sources_of("idle")
    async with opened(await source.open_sampler(1.0)) as stream:
        await read_many(stream, 2)
        stream.send(1, "rate", {"interval": 0.25})
        stream.send(2, "once", {})
        rate, once, extra = await stream.read()
        assert rate == Ack(id=1, is_ok=True)
        assert once == Ack(id=2, is_ok=True)
        assert isinstance(extra, Sample)
        await stream.read()
        assert time.now_s == 5000.25


@pytest.mark.parametrize(
    ("do", "arguments"),
    [("sing", {}), ("process", {}), ("rate", {}), ("rate", {"interval": 0}),
     ("rate", {"interval": True}), ("rate", {"interval": "1"})],
)  # fmt: skip
async def test_a_wrong_command_is_an_error_ack(do: str, arguments: dict[str, object]) -> None:
    (source,), _ = sources_of("idle")
    async with opened(await source.open_sampler(1.0)) as stream:
        await stream.read()
        stream.send(9, do, arguments)
        (ack,) = await stream.read()
        assert isinstance(ack, Ack)
        assert (ack.id, ack.is_ok) == (9, False)
        assert ack.error


@pytest.mark.parametrize("do", ["bye", "release"])
async def test_bye_and_release_end_the_sampler(do: str) -> None:
    (source,), _ = sources_of("idle")
    async with opened(await source.open_sampler(1.0)) as stream:
        await stream.read()
        stream.send(1, do, {})
        ack, bye = await stream.read()
        assert isinstance(ack, Ack)
        assert isinstance(bye, Bye)
        stream.send(2, "once", {})
        for _ in range(2):
            with pytest.raises(SourceError):
                await stream.read()


async def test_the_hand_answers_and_refuses_what_it_does_not_know() -> None:
    (source,), _ = sources_of("busy")
    async with opened(await source.open_hand()) as stream:
        assert await stream.read() == []
        stream.send(1, "process", {"pids": [48213, 99]})
        stream.send(2, "rate", {"interval": 1})
        stream.send(3, "process", {"pids": "all"})
        stream.send(4, "bye", {})
        told, *refused, last, bye = await stream.read()
        assert isinstance(told, Ack)
        assert [info.pid for info in told.processes] == [48213]
        assert told.gone == {99}
        assert [ack.is_ok for ack in refused if isinstance(ack, Ack)] == [False, False]
        assert last == Ack(id=4, is_ok=True)
        assert isinstance(bye, Bye)


async def test_close_ends_a_waiting_read_at_once() -> None:
    (source,) = demo_sources(parse_scenario("busy"), clock=lambda: 0.0, sleep=never)
    for stream, first_reads in ((await source.open_sampler(1.0), 2), (await source.open_hand(), 1)):
        await read_many(stream, first_reads)
        waiting = asyncio.ensure_future(stream.read())
        await asyncio.sleep(0)
        await stream.close()
        with pytest.raises(SourceError):
            await waiting
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cancelled_read_leaves_no_task_and_loses_nothing() -> None:
    gate = asyncio.Event()

    async def sleep(left_s: float) -> None:
        await gate.wait()

    (source,) = demo_sources(parse_scenario("busy"), clock=lambda: 0.0, sleep=sleep)
    async with opened(await source.open_sampler(1.0)) as stream:
        await read_many(stream, 2)
        waiting = asyncio.ensure_future(stream.read())
        for _ in range(3):
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert asyncio.all_tasks() == {asyncio.current_task()}
        gate.set()
        (sample,) = await stream.read()
        assert isinstance(sample, Sample)
        assert sample.seq == 2


async def test_a_host_without_driver_ends_with_its_problem() -> None:
    sources, _ = sources_of("trouble")
    async with opened(await sources[-1].open_sampler(1.0)) as stream:
        (fault,) = await stream.read()
        assert isinstance(fault, Fault)
        with pytest.raises(SourceError) as caught:
            await stream.read()
        assert caught.value.problem.is_no_driver


async def test_a_silent_host_keeps_its_stream_and_refuses_new_ones() -> None:
    sources, time = sources_of("trouble")
    silent = sources[1]
    async with opened(await silent.open_sampler(1.0)) as stream:
        await read_many(stream, 9)
        assert time.now_s == 5007.0
        time.now_s = 5020.0
        with pytest.raises(SourceError) as caught:
            await silent.open_sampler(1.0)
        assert caught.value.exit_code is ExitCode.UNREACHABLE
        stream.send(1, "once", {})
        (sample,) = await stream.read()
        assert isinstance(sample, Sample)
        assert time.now_s == 5038.0
