"""`python -m tests.proof.million [COUNT] [JOBS]`: no false proof among so many traces.

Prints how many were proven, broken and unknown, how fast it went, and every complaint; exits 1
where there is one.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.proof.trial import try_seed

BATCH = 5_000


def try_range(first: int) -> tuple[Counter[str], list[str]]:
    """Try the traces of one batch of seeds."""
    found: Counter[str] = Counter()
    said: list[str] = []
    for seed in range(first, first + BATCH):
        trace, outcome = try_seed(seed)
        found["events"] += len(trace.events)
        found["proofs"] += outcome.is_proven
        found["breaks"] += outcome.is_broken
        found["unknowns"] += outcome.is_unknown
        said += [f"seed {seed}: {words} ({trace.what})" for words in outcome.said]
    return found, said


def main(count: int = 1_000_000, jobs: int = 0) -> int:
    """Try `count` traces on `jobs` cores, all of them by default."""
    began = time.monotonic()
    found: Counter[str] = Counter()
    said: list[str] = []
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        for more, complaints in pool.map(try_range, range(0, count, BATCH)):
            found += more
            said += complaints
    seconds = time.monotonic() - began
    tried = -(-count // BATCH) * BATCH
    names = ("proofs", "breaks", "unknowns")
    shares = ", ".join(f"{name} {found[name] / tried:.1%}" for name in names)
    rate = f"{tried / seconds:.0f} traces/s"
    print(f"{tried} traces, {found['events']} events in {seconds:.0f} s: {rate}")
    print(f"{shares}; {len(said)} complaints")
    for words in said[:20]:
        print(words)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
