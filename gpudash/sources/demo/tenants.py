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
from gpudash.sources.demo.tasks import Task

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
