"""Who uses the simulated GPUs: how much each holds and how busy it is, over time.

Each tenant is a pure function of demo time. Shapes follow what such programs do: a server is
near full load with short dips, training breathes with its steps, a killed server leaves memory
and no load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpudash.sources.demo.machine import Holding
from gpudash.sources.demo.noise import is_rare, key_of, smooth
from gpudash.sources.demo.tasks import Task, sglang_scheduler, sglang_server

SGLANG_MIB = 72_906
"""71.2 GiB a rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One process on one GPU, with an amount that does not change."""

    gpu: int
    task: Task
    mib: int
    instance: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Idler:
    """Holds memory and computes nothing: a notebook, a worker without its server."""

    places: tuple[Place, ...]

    def holdings(self, at_s: float) -> tuple[Holding, ...]:  # noqa: ARG002 (a Tenant's)
        """Return the same at all times."""
        return tuple(_hold(place, 0.0, 0.0) for place in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Answers requests: its mean load with small waves and now and then a dip."""

    places: tuple[Place, ...]
    seed: int
    load: float = 0.97

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return its memory, constant, and its load."""
        return tuple(self._at(place, at_s) for place in self.places)

    def _at(self, place: Place, at_s: float) -> Holding:
        return _hold(place, served_load(self.seed, place.gpu, self.load, at_s), self.load)


def served_load(seed: int, gpu: int, mean: float, at_s: float) -> float:
    """Return the load of a server on one GPU."""
    key = key_of(seed, "serve", gpu)
    if is_rare(key, at_s, 7.0, 0.1):
        return mean * 0.72
    return mean * (1 - 0.05 * smooth(key + 1, at_s, 3.0)) + 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Trainer:
    """Trains: near full load, a dip at the end of each step, a pause at each checkpoint."""

    places: tuple[Place, ...]
    seed: int
    step_s: float = 14.0
    checkpoint_s: float = 140.0

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return its memory, constant, and its load."""
        return tuple(_hold(place, self._load(place.gpu, at_s), 0.9) for place in self.places)

    def _load(self, gpu: int, at_s: float) -> float:
        wobble = 0.04 * smooth(key_of(self.seed, "train", gpu), at_s, 2.0)
        if at_s % self.checkpoint_s > self.checkpoint_s - 9.0:
            return 0.04 + wobble
        into = (at_s + gpu * 0.2) % self.step_s / self.step_s
        return 0.96 + wobble if into < 0.8 else 0.52 + 2 * wobble


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """A server that worked until it was killed; some of its ranks stay with their memory."""

    living: Server
    """What it was before."""
    remains: tuple[Place, ...]
    died_s: float

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return the working server before its death, the cooling remains after it."""
        if at_s < self.died_s:
            return self.living.holdings(at_s)
        heat = 0.9 * math.exp(-(at_s - self.died_s) / 40.0)
        return tuple(_hold(place, 0.0, heat) for place in self.remains)


def _hold(place: Place, load: float, heat: float) -> Holding:
    return Holding(
        gpu=place.gpu,
        task=place.task,
        mib=place.mib,
        load=load,
        heat=heat,
        instance=place.instance,
    )


ROUND_S = 120.0
_FIRST_S = 26.0
"""Where in a round the demo begins: weights are being loaded."""
_WEIGHTS_MIB, _DRAFT_MIB, _POOL_MIB = 29_184, 31_540, 70_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """An SGLang server that starts, serves for half a minute and is ended, round after round.

    In a round: 4 s launch, 10 s connect, 44 s weights, 4 s draft, 2 s KV pool, 18 s graphs,
    then it serves to 112 s; the last 8 s of a round are empty.
    """

    model: str
    ranks: int
    seed: int

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return the ranks that hold memory; none while nothing runs."""
        count, into_s = divmod(at_s + _FIRST_S, ROUND_S)
        if not 4.0 <= into_s < 112.0:
            return ()
        began_s = at_s - into_s
        pid = 51_102 + int(count) * 613 % 9_000
        server = sglang_server(pid, began_s, self.model, self.ranks)
        return tuple(self._rank(rank, server, into_s, at_s) for rank in range(self.ranks))

    def _rank(self, rank: int, server: Task, into_s: float, at_s: float) -> Holding:
        task = sglang_scheduler(server.pid + 111 + rank, server.started_s + 3.0, rank, server)
        load = self._load(rank, into_s, at_s)
        heat = 0.05 if into_s < 64 else min(0.95, (into_s - 64) / 30)
        return Holding(gpu=rank, task=task, mib=rank_mib(rank, into_s), load=load, heat=heat)

    def _load(self, rank: int, into_s: float, at_s: float) -> float:
        if into_s < 64.0:
            return 0.03 * smooth(key_of(self.seed, "load", rank), at_s, 2.0)
        if into_s < 82.0:
            return 0.35 + 0.3 * smooth(key_of(self.seed, "graph", rank), at_s, 2.0)
        return served_load(self.seed, rank, 0.93, at_s)


def rank_mib(rank: int, into_s: float) -> int:
    """Return what one rank holds at a second of a round; rank 5 loads slower than the others."""
    if into_s < 14.0:
        return _between(into_s, 4.0, 14.0, 506, 1_320)
    ready_s = 57.0 if rank == 5 else 48.0 + rank * 0.7
    if into_s < 58.0:
        return _between(into_s, 14.0, ready_s, 1_320, _WEIGHTS_MIB)
    if into_s < 62.0:
        return _between(into_s, 58.0, 61.0, _WEIGHTS_MIB, _DRAFT_MIB)
    if into_s < 64.0:
        return _between(into_s, 62.0, 63.5, _DRAFT_MIB, _POOL_MIB)
    return _between(into_s, 64.0, 82.0, _POOL_MIB, SGLANG_MIB)


def _between(at: float, start: float, end: float, low: int, high: int) -> int:
    part = min(1.0, max(0.0, (at - start) / (end - start)))
    return round(low + part * (high - low))
