"""What the simulated GPUs did before the launch, so that charts are full from the first frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpudash.sources.demo.machine import MIB, Instant, Machine
from gpudash.sources.demo.scenario import Scenario
from gpudash.sources.demo.scenes import machines

PAST_S = 360


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One GPU's readings before the launch, one each second."""

    host: str
    gpu: str
    """Its key: the UUID."""
    values: tuple[tuple[int | None, ...], ...]
    """In the order of `core.history.Series`; oldest first, the last is one second before."""


def prehistory(scenario: Scenario, seed: int = 0, seconds: int = PAST_S) -> Iterator[Past]:
    """Yield the past of each GPU, host by host; a host is computed when it is asked for."""
    for machine in machines(scenario, seed):
        if machine.driver_code is None:
            yield from _past(machine, seconds)


def _past(machine: Machine, seconds: int) -> Iterator[Past]:
    moments = [machine.instants(float(at_s)) for at_s in range(-seconds, 0)]
    for gpu, board in enumerate(machine.boards):
        total = board.total_mib * MIB
        is_mig = any(piece.gpu == gpu for piece in machine.slices)
        values = tuple(_values(moment[gpu], total, is_mig) for moment in moments)
        yield Past(host=machine.name, gpu=machine.gpu_uuid(gpu), values=values)


def _values(now: Instant | None, total: int, is_mig: bool) -> tuple[int | None, ...]:
    if now is None:
        return None, None, None, None
    return (
        now.used_bytes * 10_000 // total,
        None if is_mig else now.utilisation_pct,
        now.power_mw // 1000,
        now.temperature_c,
    )
