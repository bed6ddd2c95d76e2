"""Hosts that wait for a person at the same jump host: one of them stands for all."""

from __future__ import annotations

from collections import Counter

from gpudash.core.model import Fleet, Host, Link


def gate_of(host: Host) -> str:
    """Return the jump host at which a host waits for somebody; empty for none."""
    problem = host.problem
    if host.link is not Link.DOWN or problem is None or not problem.needs_person:
        return ""
    return problem.gate


def standing(fleet: Fleet) -> tuple[Host, ...]:
    """Return the hosts that are shown: of those who wait at one gate, the first."""
    seen: set[str] = set()
    shown = []
    for host in fleet.hosts:
        gate = gate_of(host)
        if gate and gate in seen:
            continue
        seen.add(gate)
        shown.append(host)
    return tuple(shown)


def waiting(fleet: Fleet) -> dict[str, int]:
    """Return how many hosts wait at each gate."""
    return dict(Counter(gate for host in fleet.hosts if (gate := gate_of(host))))
