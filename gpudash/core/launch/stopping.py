"""The order that ends a command which was launched: its root, then whoever outlives it.

Who belongs to it is read from one whole scan: the very process that was started, its descendants,
and whoever is still in the session that it leads. All are named by identity; the hand looks at each
again before each signal, and takes in nobody else but children that hold a GPU.
"""

from __future__ import annotations

from gpudash.core.cleanup.frameworks import part_of
from gpudash.core.cleanup.orders import (
    KILL_ROUNDS,
    MARGIN_S,
    REST_GRACE_S,
    SAVE_S,
    SETTLE_S,
    FamilyOrder,
    Order,
    Step,
    Targets,
)
from gpudash.core.holding import Process, Scan
from gpudash.core.model import Host

KILL_S = 10.0


def family_of(scan: Scan, pid: int, start_ticks: int) -> tuple[Process, ...]:
    """Return who is left of a launched command, its root first; empty when nobody is."""
    by_parent: dict[int, list[Process]] = {}
    for process in scan.processes:
        by_parent.setdefault(process.parent, []).append(process)
    roots = [
        one for one in scan.processes if one.pid == pid and one.identity.start_ticks == start_ticks
    ]
    # A session's number is nobody else's as long as somebody is in it; born later, and so of it.
    heirs = [
        one
        for one in scan.processes
        if one.session == pid and one.identity.start_ticks >= start_ticks
    ]
    found = {one.pid: one for one in (*roots, *heirs)}
    waiting = list(found.values())
    while waiting:
        for child in by_parent.get(waiting.pop().pid, []):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child)
    uids = {one.identity.uid for one in roots or heirs[:1]}
    return tuple(
        one
        for one in found.values()
        # Nothing runs of one that is only not yet waited for.
        if one.pid not in scan.own
        and not one.is_kernel
        and one.pid > 1
        and not (one.state in ("Z", "X") and one.threads < 1)
        and one.identity.uid in uids
    )


def stop_order(
    family: tuple[Process, ...],
    pid: int,
    scan: Scan,
    host: Host,
    *,
    run: str,
    gpu_names: tuple[str, ...],
    is_forced: bool,
) -> Order:
    """Return the order that ends this family. Raises ValueError for an empty one: our bug."""
    if not family:
        raise ValueError("an order needs somebody to end")
    kill = Step(signal="KILL", to=Targets.ALL, wait_s=KILL_S, rounds=KILL_ROUNDS)
    root = family[0]
    has_root = root.pid == pid
    grace_s = part_of(root).framework.grace_s
    rest = Step(
        signal="TERM",
        to=Targets.REST,
        wait_s=REST_GRACE_S,
        settle_s=SETTLE_S,
        is_after_gone=has_root,
    )
    asks = (Step(signal="TERM", to=Targets.ROOTS, wait_s=grace_s), rest) if has_root else (rest,)
    one = FamilyOrder(
        number=0,
        family=(root.pid, root.identity.start_ticks),
        members=tuple(process.identity for process in family),
        roots=1 if has_root else 0,
        gpus=gpu_names,
        steps=(kill,) if is_forced else (*asks, kill),
        save_s=0.0 if is_forced else SAVE_S,
    )
    return Order(
        run=run,
        boot_id=scan.boot_id,
        uid=root.identity.uid,
        pid_namespace=scan.pid_namespace,
        deadline_s=scan.host_monotonic_s + one.longest_s + MARGIN_S,
        since_s=scan.host_monotonic_s,
        is_simulated=host.is_simulated or scan.is_simulated,
        families=(one,),
    )
