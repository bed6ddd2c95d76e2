"""What the demo says in bytes, and what the core makes of it, for the tests."""

from __future__ import annotations

from collections.abc import Sequence

from gpudash.core import wire
from gpudash.core.events import ProbeEvent
from gpudash.core.families import Holder, holders, listed_pids
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet
from gpudash.sources.demo import parse_scenario
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler
from gpudash.sources.demo.scenes import machines

MIB = 1 << 20
TENTH_GIB = 0.05


def said(machine: Machine, ticks: Sequence[float]) -> bytes:
    """Return everything that one sampler says in these ticks."""
    sampler = Sampler(machine, 1.0)
    data = sampler.greeting(0.0)
    for at_s in ticks:
        if not sampler.has_ended:
            data += sampler.tick(at_s)
    return data


def decoded(data: bytes) -> list[ProbeEvent]:
    return wire.LineDecoder(TOKEN).feed(data)


def asked(machine: Machine, pids: Sequence[int], at_s: float) -> list[ProbeEvent]:
    hand = Hand(machine)
    command = wire.encode_command(7, "process", pids=list(pids))
    return decoded(hand.greeting(at_s) + hand.answer(command, at_s))


def fleet_of(text: str, at_s: float = 7.0, seed: int = 0) -> Fleet:
    """Return a scenario as the core knows it after the ticks up to `at_s`."""
    known = machines(parse_scenario(text), seed)
    fleet = new_fleet(tuple(machine.name for machine in known), 0.0)
    for machine in known:
        ticks = [float(tick) for tick in range(int(at_s) + 1)]
        for event in decoded(said(machine, ticks)):
            fleet = apply(fleet, machine.name, event, at_s)
        listed = sorted(listed_pids(fleet.host(machine.name)))
        for event in asked(machine, listed, at_s):
            fleet = apply(fleet, machine.name, event, at_s)
    return fleet


def holders_of(fleet: Fleet, name: str) -> dict[str, Holder]:
    found = holders(fleet.host(name), fleet.letters)
    return {f"{holder.label.name} {holder.label.detail}".strip(): holder for holder in found}


def gib(holder: Holder) -> float:
    return holder.used_bytes / (1 << 30)
