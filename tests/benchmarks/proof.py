"""What a proof costs: one sample of eight GPUs, alone and among many hosts; and made traces."""

from __future__ import annotations

import time

from gpudash.core.events import Hello, Sample
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet
from gpudash.core.proof import Observed, Policy, begin, step
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings
from tests.core.making import hello, reading, roster
from tests.proof.trial import try_seed

METRICS = (
    Metric("us_per_sample", "µs per sample"),
    Metric("core_pct_128_hosts", "% of a core, 128 hosts at 4 Hz", 2),
)
TRACES = (Metric("traces_s", "traces/s on one core", 0),)
GPUS = 8
HOSTS = 128
TICKS = 40
SEEDS = 500


def measure(settings: Settings) -> list[Comparison]:
    """Time the steps of a hold without the reducer, then traces with all that belongs to them."""
    steps = Comparison(f"proof: samples of {GPUS} idle GPUs", METRICS)
    traces = Comparison("proof: made, run and judged", TRACES)
    for _ in range(settings.loops):
        steps.add("1 host", _figures(time_steps(1)))
        steps.add(f"{HOSTS} hosts", _figures(time_steps(HOSTS)))
        began = time.process_time()
        for seed in range(SEEDS):
            try_seed(seed)
        traces.add("traces", {"traces_s": SEEDS / (time.process_time() - began)})
    return [steps, traces]


def _figures(seconds: float) -> dict[str, float | None]:
    return {"us_per_sample": seconds * 1e6, "core_pct_128_hosts": seconds * 4 * HOSTS * 100}


def time_steps(hosts: int) -> float:
    """Return seconds per sample of a fleet of so many hosts, all of them holding."""
    names = tuple(f"host{number}" for number in range(hosts))
    fleet = new_fleet(names, 0.0)
    greeting = hello(*roster(GPUS), interval_s=0.25)
    idle = (reading(0),) * GPUS
    heard: list[tuple[float, Observed]] = []
    for name in names:
        fleet, told = _heard(fleet, name, greeting, 0.0)
        heard.append((0.0, told))
    for tick in range(1, TICKS + 1):
        for name in names:
            sample = Sample(seq=tick, host_monotonic_s=tick * 0.25, readings=idle)
            fleet, told = _heard(fleet, name, sample, tick * 0.25)
            heard.append((tick * 0.25, told))
    proof = begin(new_fleet(names, 0.0), Policy(hold_s=3600.0), 0.0)
    began = time.process_time()
    for at_s, told in heard:
        proof, _ = step(proof, told, at_s)
    return (time.process_time() - began) / (TICKS * hosts)


def _heard(fleet: Fleet, name: str, event: Hello | Sample, at_s: float) -> tuple[Fleet, Observed]:
    fleet = apply(fleet, name, event, at_s)
    return fleet, Observed(event=event, host=fleet.host(name))
