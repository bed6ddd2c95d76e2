"""What the simulated GPUs did before the launch, so that charts are full from the first frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpudash.core.model import Owner
from gpudash.core.ownership import Share
from gpudash.sources.demo.machine import MIB, Instant, Machine
from gpudash.sources.demo.scenario import Scenario
from gpudash.sources.demo.scenes import machines
from gpudash.sources.demo.tasks import ROOT, Task

PAST_S = 360


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One GPU's readings before the launch, one each second."""

    host: str
    gpu: str
    """Its key: the UUID."""
    values: tuple[tuple[int | None, ...], ...]
    """In the order of `core.history.Series`; oldest first, the last is one second before."""
    owners: tuple[tuple[int, tuple[Share, ...]], ...] = ()
    """From which second on (before the launch, so below 0) whose its memory was."""


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
        owners = _owners(machine, [moment[gpu] for moment in moments])
        yield Past(host=machine.name, gpu=machine.gpu_uuid(gpu), values=values, owners=owners)


def _owners(
    machine: Machine, moments: list[Instant | None]
) -> tuple[tuple[int, tuple[Share, ...]], ...]:
    """Return the moments at which its memory became somebody else's."""
    found: list[tuple[int, tuple[Share, ...]]] = []
    for at_s, now in zip(range(-len(moments), 0), moments, strict=True):
        held = now.holdings if now is not None else ()
        shares = tuple(
            Share((machine.name, one.task.pid, 0), _owner(one.task), one.mib * MIB)
            for one in sorted(held, key=lambda one: -one.mib)
        )
        if not found or [one[:2] for one in found[-1][1]] != [one[:2] for one in shares]:
            found.append((at_s, shares))
    return tuple(found)


def _owner(task: Task) -> Owner:
    """Tell whose a task is to root, who looks: a rank without its server is left over."""
    if task.person is not ROOT:
        return Owner.FOREIGN
    is_rank = task.comm.startswith("sglang::")
    return Owner.LEFTOVER if is_rank and task.parent is None else Owner.MINE


def _values(now: Instant | None, total: int, is_mig: bool) -> tuple[int | None, ...]:
    if now is None:
        return None, None, None, None
    return (
        now.used_bytes * 10_000 // total,
        None if is_mig else now.utilisation_pct,
        now.power_mw // 1000,
        now.temperature_c,
    )
