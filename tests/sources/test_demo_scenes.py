"""What the core makes of each scenario, and the past that belongs to it."""

from __future__ import annotations

import pytest

from gpudash.core.errors import ExitCode
from gpudash.core.events import Ack
from gpudash.core.families import unexplained_bytes
from gpudash.core.history import Series
from gpudash.core.model import GpuState, Link, Owner
from gpudash.core.verify import Clear, Verdict, judge_fleet
from gpudash.sources.demo import parse_scenario, prehistory
from gpudash.sources.demo.programs import Sampler
from gpudash.sources.demo.scenes import machines
from tests.sources.demo_said import MIB, TENTH_GIB, asked, fleet_of, gib, holders_of


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
    assert (h.link, h.problem.code) == (Link.DOWN, 9)


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
    # The crash was 193 s before the launch.
    assert min(loads[:-193]) > 50
    assert max(loads[-193:]) == 0
