"""One scan of a crowded host by the hand as shipped: from the command to its last word."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from gpudash.core.events import Ack, Event, Scanned
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources import shipping
from gpudash.sources.oneshot import python_argv
from gpudash.sources.process import Child
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.processes import all_stats, cost_of_tree
from tests.benchmarks.settings import Settings

METRICS = (
    Metric("wall_ms", "ms"),
    Metric("host_ms", "ms by the hand's clock"),
    Metric("cpu_ms", "CPU ms"),
    Metric("answer_bytes", "bytes", 0),
)
PROCESSES, DESCRIPTORS = 300, 10_000
_CROWD = Path(__file__).with_name("crowd.py")
_TOKEN = "gpudash-benchmark"
_OPTIONS = b'{"token":"gpudash-benchmark","devices":[[1,7,"gpu",0],[1,5,"gpu",1]],"pids":"own"}'
_PATIENCE_S = 30.0
KINDS: dict[str, dict[str, object]] = {
    "who has a GPU open": {},
    "and what is mapped": {"maps": True},
    "everybody, for a plan": {"all": True},
}


def measure(settings: Settings) -> list[Comparison]:
    """Scan the same crowd in three ways, in turns."""
    comparison = Comparison(f"scan: {PROCESSES} processes, {DESCRIPTORS} descriptors", METRICS)
    argv = [sys.executable, "-ISB", str(_CROWD), str(PROCESSES), str(DESCRIPTORS // PROCESSES)]
    crowd = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with crowd:
        assert crowd.stdout is not None
        crowd.stdout.readline()
        child = Child(python_argv())
        try:
            child.write(shipping.with_options(shipping.hand_payload(), _OPTIONS))
            decoder = LineDecoder(_TOKEN)
            for turn in range(settings.loops + 1):
                for name, arguments in KINDS.items():
                    figures = _scan_once(child, decoder, arguments)
                    if turn:
                        comparison.add(name, figures)
        finally:
            child.end()
            assert crowd.stdin is not None
            crowd.stdin.close()
    others = len(all_stats())
    comparison.notes.append(f"beside {others} other processes of this machine")
    return [comparison]


def _scan_once(
    child: Child, decoder: LineDecoder, arguments: dict[str, object]
) -> dict[str, float | None]:
    cpu_s = cost_of_tree(child.pid).cpu_s
    started_s = time.perf_counter()
    child.write(encode_command(1, "scan", pids=[os.getpid()], **arguments))
    events: list[Event] = []
    size = 0
    while not any(isinstance(event, Ack) for event in events):
        assert child.wait_readable(_PATIENCE_S), "no scan came"
        data = child.read() or b""
        size += len(data)
        events += decoder.feed(data)
    wall_s = time.perf_counter() - started_s
    (scan,) = (event.scan for event in events if isinstance(event, Scanned))
    return {
        "wall_ms": wall_s * 1000,
        "host_ms": scan.took_s * 1000,
        "cpu_ms": (cost_of_tree(child.pid).cpu_s - cpu_s) * 1000,
        "answer_bytes": float(size),
    }
