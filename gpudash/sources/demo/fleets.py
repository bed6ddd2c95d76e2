"""`fleet:HxG`: a cluster of any size with the mix that a cluster has.

Most hosts are empty, some serve, some train for somebody else, and a few are in trouble. Of
every 32 hosts the same ones, so that a picture of 32 can be recognised.
"""

from __future__ import annotations

from gpudash.sources.demo.machine import RTX_PRO_6000, Ailment, Machine, Silence, Tenant
from gpudash.sources.demo.noise import key_of, steady
from gpudash.sources.demo.tasks import (
    ANA,
    BEN,
    CHRIS,
    ROOT,
    Person,
    Task,
    notebook,
    sglang_scheduler,
    sglang_server,
    torch_rank,
    torchrun,
    vllm_engine,
    vllm_server,
    vllm_worker,
)
from gpudash.sources.demo.tenants import Crashed, Idler, Place, Server, Trainer

MIX = 32
_SERVED = {1: ("GLM-4.6", 0.86), 12: ("DeepSeek-V3", 0.90), 23: ("Qwen3-235B-A22B", 0.90)}
_TRAINED = {5: ANA, 16: CHRIS, 26: CHRIS}
_SHARED = {8: ANA, 18: BEN, 29: ANA}
_LOST, _SERVER_LEFTOVERS, _SILENT, _RUN_LEFTOVERS, _STRAY = 2, 7, 13, 21, 28


def fleet_machines(hosts: int, gpus: int, seed: int) -> tuple[Machine, ...]:
    """Return `hosts` machines of `gpus` GPUs, called node01 and so on."""
    return tuple(_node(number, gpus, seed) for number in range(1, hosts + 1))


def _node(number: int, gpus: int, seed: int) -> Machine:
    role = (number - 1) % MIX + 1
    node = _Node(number, gpus, seed)
    silence = Silence(first_s=8.0 + number % 5, length_s=30.0, period_s=90.0)
    return Machine(
        name=f"node{number:02d}",
        seed=seed,
        boards=(RTX_PRO_6000,) * gpus,
        tenants=node.tenants(role),
        ailments=_ailments(role, gpus),
        silence=silence if role == _SILENT else None,
    )


def _ailments(role: int, gpus: int) -> tuple[Ailment, ...]:
    if role == _LOST:
        return (Ailment(gpu=min(5, gpus - 1), since_s=4.0, what="lost"),)
    if role == _STRAY:
        return (Ailment(gpu=gpus - 1, since_s=-290.0, what="stray", mib=512),)
    return ()


class _Node:
    """Builds the tenants of one node; ages, pids and amounts differ from node to node."""

    def __init__(self, number: int, gpus: int, seed: int) -> None:
        self._gpus = gpus
        self._key = key_of(seed, "node", number)
        self._seed = self._key
        self._pid = 9_000 + int(self._share(0) * 30_000)
        self._age_s = 1_600.0 + int(self._share(1) * 90_000)

    def tenants(self, role: int) -> tuple[Tenant, ...]:
        if role in _SERVED:
            return (self._served(*_SERVED[role]),)
        if role in _TRAINED:
            return (self._trained(_TRAINED[role]),)
        if role in _SHARED:
            return self._shared(_SHARED[role])
        if role == _SERVER_LEFTOVERS:
            return (self._server_leftovers(),)
        if role == _RUN_LEFTOVERS:
            return (self._run_leftovers(),)
        return ()

    def _share(self, step: int) -> float:
        return steady(self._key, step)

    def _mib(self, share: float, spread: float, gpu: int) -> int:
        part = share + spread * self._share(100 + gpu)
        return round(part * RTX_PRO_6000.total_mib)

    def _ranks(self, server: Task | None, share: float) -> tuple[Place, ...]:
        return tuple(
            Place(
                gpu=rank,
                task=sglang_scheduler(self._pid + 111 + rank, 9.0 - self._age_s, rank, server),
                mib=self._mib(share, 0.02, rank),
            )
            for rank in range(self._gpus)
        )

    def _served(self, model: str, share: float) -> Server:
        server = sglang_server(self._pid, -self._age_s, model, self._gpus)
        return Server(places=self._ranks(server, share), seed=self._seed)

    def _trained(self, person: Person) -> Trainer:
        agent = torchrun(self._pid, -self._age_s, person, self._gpus)
        places = (self._trained_rank(rank, agent) for rank in range(self._gpus))
        return Trainer(places=tuple(places), seed=self._seed)

    def _trained_rank(self, rank: int, agent: Task) -> Place:
        task = torch_rank(agent.pid + 67 + rank, agent.started_s + 6, agent.person, agent)
        return Place(gpu=rank, task=task, mib=self._mib(0.60, 0.35, rank))

    def _shared(self, person: Person) -> tuple[Tenant, ...]:
        ranks = min(2, self._gpus)
        server = vllm_server(self._pid, -self._age_s, "Qwen/Qwen3-32B", 8000, ranks)
        engine = vllm_engine(server)
        workers = tuple(
            Place(gpu=rank, task=vllm_worker(engine, rank), mib=self._mib(0.48, 0.004, rank))
            for rank in range(ranks)
        )
        kernel = notebook(self._pid + 4_410, 600.0 - self._age_s, person)
        beside = Place(gpu=min(2, self._gpus - 1), task=kernel, mib=self._mib(0.17, 0.18, 2))
        return Server(places=workers, seed=self._seed, load=0.6), Idler(places=(beside,))

    def _server_leftovers(self) -> Crashed:
        server = sglang_server(self._pid, -self._age_s, "Qwen3-235B-A22B", self._gpus)
        living = Server(places=self._ranks(server, 0.73), seed=self._seed)
        remains = tuple(place for place in self._ranks(None, 0.73) if place.gpu != 3)
        return Crashed(living=living, remains=remains, died_s=-193.0)

    def _run_leftovers(self) -> Crashed:
        start_s = 6.0 - self._age_s
        remains = tuple(
            Place(
                gpu=rank,
                task=torch_rank(self._pid + 67 + rank, start_s, ROOT, None),
                mib=self._mib(0.30, 0.01, rank),
            )
            for rank in range(min(5, self._gpus))
        )
        return Crashed(
            living=Server(places=remains, seed=self._seed), remains=remains, died_s=-1560.0
        )
