"""The sampler as a child process: what it takes to start, and what it costs all day."""

from __future__ import annotations

import json
import os
import select
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from gpudash.core.events import Hello, Sample
from gpudash.core.wire import LineDecoder
from gpudash.sources import shipping
from gpudash.sources.oneshot import python_argv
from gpudash.sources.process import Child
from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.processes import cost_of_tree, own_cpu_s
from tests.benchmarks.settings import Settings
from tests.benchmarks.stage import FakeStage, RealStage

START = (
    Metric("payload_bytes", "payload bytes", 0),
    Metric("hello_ms", "hello ms"),
    Metric("sample_ms", "first sample ms"),
    Metric("start_cpu_ms", "CPU ms"),
    Metric("rss_mb", "RSS MB"),
    Metric("pss_mb", "PSS MB"),
)
STEADY = (
    Metric("cpu_pct", "CPU %", 3),
    Metric("rss_mb", "RSS MB"),
    Metric("pss_mb", "PSS MB"),
    Metric("output_bytes_s", "bytes/s", 0),
    Metric("ticks", "ticks", 0),
)
CUT = "cut binding"
WHOLE = "whole binding"
_TOKEN = "gpudash-benchmark"
_PATIENCE_S = 20.0


def measure(settings: Settings) -> list[Comparison]:
    """Start both payloads in turns, then watch the one that is shipped."""
    where = "this machine's driver" if settings.is_real else "fake driver, 8 GPUs, 3 holders"
    start = Comparison(f"sampler: start, {where}", START, ratios=((CUT, WHOLE),))
    steady = Comparison(f"sampler: 1 Hz, {where}, {settings.window_s:.0f} s", STEADY)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        stage = RealStage(root) if settings.is_real else FakeStage(root, is_held=True)
        with stage:
            env = stage.env()
            for turn in range(settings.loops + 1):
                for name, payload in payloads().items():
                    figures = start_once(payload, env)
                    if turn:
                        start.add(name, figures)
            for _ in range(settings.runs):
                steady.add("sampler", watch(payloads()[CUT], env, settings.window_s))
    return [start, steady]


def payloads() -> dict[str, bytes]:
    """Return what goes down stdin, with the cut and with the whole binding."""
    options = json.dumps({"token": _TOKEN, "interval": 1.0}).encode()
    cut = shipping.sampler_payload()
    document = json.loads(cut)
    whole = Path(shipping.binding_path()).read_text(encoding="utf-8")
    document["modules"] = [
        (name, whole if name == "pynvml" else text) for name, text in document["modules"]
    ]
    documents = {CUT: cut, WHOLE: json.dumps(document).encode()}
    return {name: shipping.with_options(text, options) for name, text in documents.items()}


def start_once(payload: bytes, env: Mapping[str, str]) -> dict[str, float | None]:
    """Start a sampler, wait for its first tick, end it."""
    started_s = time.perf_counter()
    child = Child(python_argv(), dict(env))
    try:
        child.write(payload)
        hello_s, sample_s = _arrivals(child)
        cpu_s = own_cpu_s(child.pid)
        cost = cost_of_tree(child.pid)
    finally:
        child.end()
    return {
        "payload_bytes": len(payload),
        "hello_ms": (hello_s - started_s) * 1000,
        "sample_ms": (sample_s - started_s) * 1000,
        "start_cpu_ms": cpu_s * 1000,
        "rss_mb": cost.rss_mb,
        "pss_mb": cost.pss_mb,
    }


def _arrivals(child: Child) -> tuple[float, float]:
    """Read until the first tick; return when the hello and when the tick arrived."""
    decoder = LineDecoder(_TOKEN)
    hello_s = None
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if not child.wait_readable(1.0):
            continue
        data = child.read()
        if data == b"":
            raise RuntimeError(f"the sampler ended: {child.errors()}")
        arrived_s = time.perf_counter()
        for event in decoder.feed(data or b""):
            if isinstance(event, Hello) and hello_s is None:
                hello_s = arrived_s
            if isinstance(event, Sample) and hello_s is not None:
                return hello_s, arrived_s
    raise RuntimeError("the sampler did not answer")


def watch(payload: bytes, env: Mapping[str, str], window_s: float) -> dict[str, float | None]:
    """Let a sampler run for some seconds after its first tick; return what that costs."""
    child = Child(python_argv(), dict(env))
    try:
        child.write(payload)
        _arrivals(child)
        cpu_s, started_s = own_cpu_s(child.pid), time.monotonic()
        output = drain(child, window_s)
        cost = cost_of_tree(child.pid)
        cpu_s, seconds = own_cpu_s(child.pid) - cpu_s, time.monotonic() - started_s
    finally:
        child.end()
    return {
        "cpu_pct": 100 * cpu_s / seconds,
        "rss_mb": cost.rss_mb,
        "pss_mb": cost.pss_mb,
        "output_bytes_s": len(output) / seconds,
        "ticks": output.count(b"\n"),
    }


def drain(child: Child, seconds: float) -> bytes:
    """Collect what a child writes for so long."""
    output = b""
    deadline = time.monotonic() + seconds
    while (left_s := deadline - time.monotonic()) > 0:
        if select.select([child.stdout], [], [], left_s)[0]:
            data = os.read(child.stdout, 1 << 16)
            if not data:
                break
            output += data
    return output
