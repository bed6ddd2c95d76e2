"""Which engine writes, and where a new run begins.

Engines print each other's lines (SGLang imports vLLM, Ollama runs llama.cpp, every trainer is
started by torchrun), so evidence of one replaces another only where the data says so.
"""

from __future__ import annotations

import re

from gpudash.core.startup.catalog import Catalog, Marker
from gpudash.core.startup.reading import Record, Run

_ARGUMENT = re.compile(
    r"""(?:\b|--|')(?P<name>port|host|mem_fraction_static|mem-fraction-static|node_rank|"""
    r"""gpu_memory_utilization|model_path|model)'?(?:=|: | )'?(?P<value>[\w./:@-]+)"""
)
_ARGUMENT_SIGNS = ("server_args=", "args: ", "non-default args", "with config:", "Args {", " cmd")
_V1 = re.compile(r"Initializing an? (V[01])? ?LLM engine")
_FIRST_V1 = (0, 8)
"""vLLM from 0.8 on starts its V1 engine unless it says otherwise."""


def recognise(run: Run, record: Record, catalog: Catalog) -> str | None:
    """Return the engine that this line is evidence of, where that changes what is known."""
    if "with config:" in record.text and (match := _V1.search(record.text)):
        run.variant = (match[1] or "V0").lower()
    name = catalog.writers.get(record.writer) if record.writer else None
    if name is not None and _may_be(run, name, catalog):
        return name
    evidence = catalog.evidence[run.engine or ""]
    for proof in evidence.in_text(record.text) if evidence.words else ():
        if proof.engine == run.engine and run.version:
            continue
        found, version = proof.found(record.text)
        if not found:
            continue
        run.version = version or (run.version if proof.engine == run.engine else "")
        if proof.engine != run.engine:
            return proof.engine
    return None


def _may_be(run: Run, name: str, catalog: Catalog) -> bool:
    if run.engine is None:
        return True
    return name != run.engine and run.engine in catalog.engines[name].over


def title(run: Run) -> str | None:
    """Return the engine's name as reports carry it: vLLM's two engines have their own."""
    if run.engine != "vllm":
        return run.engine
    if run.variant:
        return f"vllm-{run.variant}"
    return "vllm-v1" if not run.version or _numbers(run.version) >= _FIRST_V1 else "vllm-v0"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def note_arguments(run: Run, text: str) -> None:
    """Keep what the engine says of its own command line: port, host, fractions."""
    if not any(sign in text for sign in _ARGUMENT_SIGNS):
        return
    for match in _ARGUMENT.finditer(text):
        run.arguments.setdefault(match["name"].replace("-", "_"), match["value"])


def seems_over(run: Run) -> bool:
    """Return whether a run was ready, failed, or had an error that it may have died of."""
    if run.ready_line is not None or run.failure is not None:
        return True
    return any(hit.tier < 3 and not hit.is_weak for hit in run.hits)


def is_of_another(run: Run, record: Record, catalog: Catalog) -> bool:
    """Return whether the line begins a run of another engine, behind one that is over."""
    if run.engine is None or not (run.ready_line or run.failure or run.hits):
        return False
    known = catalog.engines[run.engine]
    for anchor in catalog.anchors.in_text(record.text):
        if run.engine in anchor.engines or not seems_over(run):
            continue
        if anchor.marker.repeats and known.over & anchor.engines:
            continue
        if anchor.marker.writer not in ("", record.writer):
            continue
        if anchor.marker.match(record.text) is not None:
            return True
    return False


def begins_new_run(run: Run, marker: Marker) -> bool:
    """Return whether an anchor begins another run in the same log.

    The first anchor belongs to the run that is being read; one that comes again, or after phases
    of an earlier run, begins a new one, and so does any once the run was ready or failed. Engines
    whose every process prints it (`repeats`) must have come past their launch. A run without an
    anchor ends where the line that opened it comes again.
    """
    is_opening = marker.pattern.source == run.opening
    if marker.kind != "anchor" and not is_opening:
        return marker.anchors_after_ready and run.ready_line is not None
    if seems_over(run):
        return True
    if marker.kind != "anchor":
        return False
    past = {phase.name for phase in run.phases} - {"launch", "download"}
    if marker.repeats:
        return bool(past - {"init_dist"})
    return marker.pattern.source in run.anchors or (bool(past) and not marker.late)
