"""What cleanups are asked for and what they stand on; and the plan of a host as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.cleanup.table import handle_names
from gpudash.core.cleanup.unfinished import Unfinished
from gpudash.core.holders import scan_need
from gpudash.core.model import GpuState, Host, Link
from gpudash.core.scope import Scope
from gpudash.services.clock import Clock
from gpudash.services.managers import ask_managers
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run

LOOK_S = 0.02
AGAIN_S = 0.5
"""Between two tries of what did not come to anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a cleanup is asked for, on every host alike."""

    scope: Scope | None = None
    """None: all GPUs."""
    request: Request = field(default_factory=Request)
    """Its GPUs are filled in for each host."""
    hold_s: float | None = None
    """None for `auto`."""
    is_forced: bool = False
    unfinished: tuple[Unfinished, ...] = ()
    """Orders of earlier runs whose reports are picked up first."""
    pickup_s: float = 2.0
    """So long one of these that still runs is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What cleanups stand on."""

    monitor: FleetMonitor
    clock: Clock
    run: Run
    """Where they are recorded; its id names their orders."""
    prove: Callable[[str, Plan, float], None]
    """Begins a proof of a host for so long."""
    changed: Callable[[str], None]
    """Is told the host after every event that may have changed something to see."""


def used_in_scope(host: Host, plan: Plan | None) -> tuple[tuple[str, int | None], ...]:
    """Return what is used on each GPU of the plan, of all before there is one; None: not read."""
    scope = None if plan is None else {key for key, _ in plan.scope}
    found: list[tuple[str, int | None]] = []
    for gpu in host.gpus:
        if scope is None or gpu.info.key in scope:
            reading = gpu.reading if gpu.state is GpuState.READ else None
            found.append((gpu.info.key, reading.used_bytes if reading is not None else None))
    return tuple(found)


def host_now(host: Host, now_s: float) -> float:
    """Return what the host's clock shows now, as far as its newest sample tells."""
    if host.host_monotonic_s is None or host.received_s is None:
        return 0.0
    return host.host_monotonic_s + (now_s - host.received_s)


def is_unsure(plan: Plan) -> bool:
    """Tell whether a plan leaves open who holds something."""
    unsure = (Outcome.UNATTRIBUTED, Outcome.UNKNOWN)
    return any(ending.outcome in unsure for ending in plan.endings)


async def readable(name: str, ground: Ground) -> None:
    """Wait for a complete tick on a live link."""
    while True:
        host = ground.monitor.fleet.host(name)
        if host.link is Link.LIVE and host.samples:
            return
        await asyncio.sleep(LOOK_S)


async def plan_now(
    name: str, wish: Wish, ground: Ground
) -> tuple[Plan, tuple[tuple[str, str], ...]]:
    """Return a plan of what is there now, and the names that the hand knows GPUs by.

    Waits for a complete tick on a live link. Raises SourceError, and UsageError for a GPU that
    the host does not have.
    """
    await readable(name, ground)
    monitor = ground.monitor
    scan = await monitor.scan(name, is_whole=True)
    need = scan_need(monitor.fleet.host(name))
    if need is not None and need.has_maps:
        # Memory that no handle explains: somebody may have a GPU mapped and not open.
        scan = await monitor.scan(name, is_whole=True, has_maps=True)
    host = monitor.fleet.host(name)
    keys = None
    if wish.scope is not None:
        keys = tuple(gpu.info.key for gpu in wish.scope.select(host.name, host.gpus))
    request = replace(wish.request, gpus=keys)
    names = handle_names(host, is_simulated=scan.is_simulated)
    answers = await ask_managers(monitor.looking(name), host, scan)
    plan = plan_host(host, scan, request, at_s=ground.clock.now(), answers=answers)
    return plan, tuple(sorted(names.items()))


async def plan_surely(
    name: str, wish: Wish, ground: Ground, looks: int
) -> tuple[Plan, tuple[tuple[str, str], ...]]:
    """Return a plan as `plan_now` does, of at most so many looks until it is sure who holds what.

    Whoever takes memory is listed, and has its handle, a moment later. Raises as `plan_now`.
    """
    plan, names = await plan_now(name, wish, ground)
    while looks > 1 and is_unsure(plan):
        looks -= 1
        await asyncio.sleep(AGAIN_S)
        plan, names = await plan_now(name, wish, ground)
    return plan, names
