"""The scenarios: which machines stand where, who uses them and what is wrong with them."""

from __future__ import annotations

from gpudash.sources.demo.acts import ACTS, Scene
from gpudash.sources.demo.deeds import Deeds
from gpudash.sources.demo.fleets import fleet_machines
from gpudash.sources.demo.machine import (
    H200,
    RTX_PRO_6000,
    Ailment,
    Bystander,
    Machine,
    Silence,
    Slice,
    Tenant,
)
from gpudash.sources.demo.scenario import Scenario
from gpudash.sources.demo.tasks import (
    ANA,
    BEN,
    ROOT,
    Task,
    daemon,
    forked,
    notebook,
    script,
    sglang_scheduler,
    sglang_server,
    torch_rank,
    torchrun,
    vllm_engine,
    vllm_server,
    vllm_worker,
)
from gpudash.sources.demo.tenants import SGLANG_MIB, Crashed, Idler, Place, Server, Trainer

MODEL = "Qwen3-235B-A22B"
EIGHT = (RTX_PRO_6000,) * 8
LAUNCHED_S = -2471.0
CRASHED_S = -193.0
CRASHED_RANK, DEAD_RANK = 3, 7
KEEPER_PID = 48_377
_EXITS_S = (0.6, 0.7, 2.2, 0.5, None, 1.9, 1.4, 0.5)
"""Of the leftover ranks when they are asked: rank 4 hangs in its collective."""
_BOOTED_S = -1_728_000.0


def machines(scenario: Scenario, seed: int) -> tuple[Machine, ...]:
    """Return the hosts of a scenario, in the order they are shown."""
    match scenario.name:
        case "busy":
            return (_busy("gpu-a", seed),)
        case "idle":
            return (Machine(name="gpu-a", seed=seed, boards=EIGHT),)
        case "leftovers":
            return (_leftovers("gpu-a", seed),)
        case "training":
            return (_training("gpu-b", seed),)
        case "startup" | "tour":
            return (_job("gpu-a", seed, scenario.act),)
        case "trouble":
            return _trouble(seed)
        case "fleet":
            return fleet_machines(scenario.hosts, scenario.gpus, seed)
        case other:
            raise ValueError(f"no scenario {other!r}")


def _sglang(seed: int) -> Server:
    server = sglang_server(48_102, LAUNCHED_S, MODEL, 8)
    return Server(places=tuple(_rank(rank, server) for rank in range(8)), seed=seed)


def _rank(rank: int, server: Task | None, *, keeper: int = 0) -> Place:
    exit_s = _EXITS_S[rank] if server is None else 0.6
    start_s = LAUNCHED_S + 11
    task = sglang_scheduler(48_213 + rank, start_s, rank, server, keeper=keeper, exit_s=exit_s)
    return Place(gpu=rank, task=task, mib=SGLANG_MIB + rank)


def _others(seed: int) -> tuple[Tenant, ...]:
    """Return who shares the box: root's embedding server and ana's notebook."""
    engine = vllm_engine(vllm_server(31_877, -7468.0, "BAAI/bge-m3", 8001))
    embedding = Server(places=(Place(gpu=6, task=engine, mib=4_198),), seed=seed, load=0.1)
    kernel = notebook(22_310, -17_773.0, ANA)
    return embedding, Idler(places=(Place(gpu=5, task=kernel, mib=3_482),))


def _busy(name: str, seed: int) -> Machine:
    tenants = (_sglang(seed), *_others(seed))
    return Machine(name=name, seed=seed, boards=EIGHT, tenants=tenants, hot_gpu=7)


def _leftovers(name: str, seed: int) -> Machine:
    remains = tuple(
        _rank(rank, None, keeper=KEEPER_PID if rank == DEAD_RANK else 0)
        for rank in range(8)
        if rank != CRASHED_RANK
    )
    crashed = Crashed(living=_sglang(seed), remains=remains, died_s=CRASHED_S)
    child = forked(KEEPER_PID, LAUNCHED_S + 40, remains[-1].task)
    keeper = Bystander(task=child, gpus=(DEAD_RANK,), can_compute=True)
    return Machine(
        name=name,
        seed=seed,
        boards=EIGHT,
        tenants=(crashed, *_others(seed)),
        bystanders=(keeper, *_daemons(8)),
    )


def _job(name: str, seed: int, act: str) -> Machine:
    """Return the host of the whole job: leftovers first, unless it begins with an act."""
    deeds = Deeds()
    if act:
        at = ACTS.index(act)
        scene = Scene(deeds=deeds, seed=seed, acts=(*ACTS[at:], *ACTS[:at]), first_s=2.0)
        return Machine(name=name, seed=seed, boards=EIGHT, tenants=(scene,), deeds=deeds)
    remains = tuple(_rank(rank, None) for rank in range(8) if rank != CRASHED_RANK)
    crashed = Crashed(living=_sglang(seed), remains=remains, died_s=CRASHED_S)
    scene = Scene(deeds=deeds, seed=seed, remains=crashed)
    return Machine(
        name=name,
        seed=seed,
        boards=EIGHT,
        tenants=(scene,),
        bystanders=_daemons(8)[:3],
        deeds=deeds,
    )


def _daemons(gpus: int) -> tuple[Bystander, ...]:
    """Return what runs beside everybody's work: the driver's services, and two who watch."""
    every = tuple(range(gpus))
    start_s = _BOOTED_S + 40
    return (
        Bystander(task=daemon(1_604, start_s, "/usr/bin/nv-fabricmanager"), gpus=(0,)),
        Bystander(task=daemon(1_611, start_s, "/usr/bin/nvidia-persistenced"), gpus=every),
        Bystander(task=daemon(1_702, start_s, "/usr/bin/nv-hostengine"), gpus=(0,)),
        Bystander(task=daemon(40_118, -5_100.0, "nvitop", person=BEN), gpus=every),
    )


def _train_run(seed: int, agent: Task) -> Trainer:
    ranks = (
        Place(
            gpu=rank,
            task=torch_rank(agent.pid + 67 + rank, agent.started_s + 6, agent.person, agent),
            mib=SGLANG_MIB - 31 * rank,
        )
        for rank in range(8)
    )
    return Trainer(places=tuple(ranks), seed=seed)


def _training(name: str, seed: int) -> Machine:
    run = _train_run(seed, torchrun(17_405, -4334.0, ANA, 8))
    kernel = Place(gpu=0, task=notebook(20_944, -9120.0, ROOT), mib=2_253)
    tenants = (run, Idler(places=(kernel,)))
    return Machine(name=name, seed=seed, boards=EIGHT, tenants=tenants)


def _trouble(seed: int) -> tuple[Machine, ...]:
    silent = Silence(first_s=8.0, length_s=30.0, period_s=90.0)
    run = _train_run(seed, torchrun(17_405, -4334.0, ANA, 8))
    return (
        _busy("gpu-a", seed),
        Machine(name="gpu-b", seed=seed, boards=EIGHT, tenants=(run,), silence=silent),
        _ailing("gpu-c", seed),
        Machine(name="gpu-e", seed=seed, boards=()),
        Machine(name="gpu-g", seed=seed, boards=EIGHT, hangs_from_s=3.0),
        Machine(name="gpu-h", seed=seed, boards=EIGHT, driver_code=9),
    )


def _ailing(name: str, seed: int) -> Machine:
    server = vllm_server(35_210, -12_040.0, "meta-llama/Llama-3.3-70B", 8000, ranks=2)
    engine = vllm_engine(server)
    workers = (Place(gpu=r, task=vllm_worker(engine, r), mib=121_240 + r) for r in range(2))
    sliced = (
        Place(gpu=2, task=notebook(41_120, -7322.0, ANA), mib=30_822, instance=1),
        Place(gpu=2, task=script(46_733, -1088.0, BEN, "eval.py"), mib=11_366, instance=2),
    )
    return Machine(
        name=name,
        seed=seed,
        boards=(H200,) * 8,
        tenants=(Server(places=tuple(workers), seed=seed), Idler(places=sliced)),
        slices=(
            Slice(gpu=2, instance=1, profile="3g.71gb", total_mib=71_168),
            Slice(gpu=2, instance=2, profile="2g.35gb", total_mib=35_430),
            Slice(gpu=2, instance=3, profile="2g.35gb", total_mib=35_430),
        ),
        ailments=(
            Ailment(gpu=5, since_s=4.0, what="lost"),
            Ailment(gpu=6, since_s=6.0, what="reset"),
            Ailment(gpu=7, since_s=-290.0, what="stray", mib=512),
        ),
    )
