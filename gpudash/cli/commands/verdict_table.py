"""A verdict as a table for a person: a block a host, then one line for all."""

from __future__ import annotations

from gpudash.cli.commands.holders import host_lines, who_holds
from gpudash.cli.output import table
from gpudash.core.distance import clock_words
from gpudash.core.errors import ExitCode
from gpudash.core.families import family_key, gpu_processes
from gpudash.core.model import GpuReading, GpuState, Host
from gpudash.core.names import clean_text
from gpudash.core.readings import held_bytes, held_sum
from gpudash.core.units import (
    ceil_mib,
    format_duration,
    format_known,
    grouped,
    plural,
)
from gpudash.core.verify import FleetVerdict, GpuVerdict, HostVerdict, Verdict

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from gpudash.core.proof import Proof


def verdict_table(verdict: FleetVerdict, code: ExitCode, proof: Proof | None = None) -> str:
    """Return the verdict for a person: a block a host, then one line for all."""
    blocks = [_host_block(host) for host in verdict.hosts]
    return "\n".join(blocks) + _summary(verdict, code, proof)


def _host_block(verdict: HostVerdict) -> str:
    host = verdict.host
    facts = host.facts
    title = [host.name]
    if verdict.gpus:
        names = {clean_text(gpu.gpu.info.name) for gpu in verdict.gpus if gpu.gpu.info.name}
        title.append(f"{len(verdict.gpus)} × {'/'.join(sorted(names)) or 'GPU'}")
    if facts and facts.driver:
        title.append(f"driver {clean_text(facts.driver, 32)}")
    if host.is_simulated:
        title.append("SIMULATED")
    if facts and facts.source == "nvidia-smi":
        title.append("read through nvidia-smi")
    if host.transport.partition(":")[0] not in ("", "ssh"):
        title.append(clean_text(host.transport))
    title += [note.upper() for note in host.link_notes]
    title += [clock_words(host)] if clock_words(host) else []
    lines = "  ".join(title) + "\n"
    if not verdict.gpus:
        return f"{lines}  {verdict.reason}\n"
    rows = [("GPU", "used", "total", "util", "verdict", "")]
    rows += [_gpu_row(host, gpu) for gpu in verdict.gpus]
    return lines + table(rows, right=frozenset({0, 1, 2, 3})) + host_lines(host)


def _gpu_row(host: Host, verdict: GpuVerdict) -> tuple[str, str, str, str, str, str]:
    gpu = verdict.gpu
    reading = gpu.reading or GpuReading()
    used = format_known(*held_bytes(reading))
    total = (
        "?" if gpu.info.total_bytes is None else f"{grouped(ceil_mib(gpu.info.total_bytes))} MiB"
    )
    util = "–" if reading.utilisation_pct is None else f"{reading.utilisation_pct}%"
    said = verdict.reason if verdict.verdict is not Verdict.HELD else who_holds(host, gpu)
    return str(gpu.info.index), used, total, util, _word(verdict), said or verdict.note


def _word(verdict: GpuVerdict) -> str:
    if verdict.gpu.state is GpuState.NEEDS_RESET:
        return "needs reset"
    if verdict.gpu.state is GpuState.LOST:
        return "lost"
    return verdict.verdict.value.lower()


def _summary(verdict: FleetVerdict, code: ExitCode, proof: Proof | None) -> str:
    gpus = [gpu for host in verdict.hosts for gpu in host.gpus]
    idle = sum(gpu.verdict is Verdict.BASELINE for gpu in gpus)
    held = [gpu for gpu in gpus if gpu.is_certainly_held and gpu.verdict is not Verdict.BASELINE]
    zero = sum(gpu.verdict is Verdict.ZERO for gpu in gpus)
    unknown = sum(gpu.verdict is Verdict.UNKNOWN for gpu in gpus)
    if not gpus:
        return f"{verdict.verdict.value}: nothing was read  (exit {int(code)})\n"
    seen = "one reading" if proof is None else _held(proof)
    facts = [f"{zero} of {plural(len(gpus), 'GPU')} at 0 MiB, {seen}"]
    if idle:
        facts.append(f"{idle} at an accepted baseline")
    if held:
        total = format_known(*held_sum(gpu.gpu.reading for gpu in held))
        families = sum(len(_holding(host)) for host in verdict.hosts)
        by = f", {plural(families, 'holder')} listed" if families else ""
        facts.append(f"{total} held{by}")
    if unknown:
        facts.append(f"{unknown} unknown")
    return f"{verdict.verdict.value}: {'; '.join(facts)}  (exit {int(code)})\n"


def _held(proof: Proof) -> str:
    """Return `held 10 s`, or that it was not."""
    if not proof.is_proven:
        return "not held"
    least_s = min(evidence.held_s for evidence in proof.evidence)
    return f"held {format_duration(least_s, tenths=True)}"


def _holding(verdict: HostVerdict) -> set[object]:
    """Return the families listed on the GPUs in scope."""
    host = verdict.host
    return {family_key(host, pid) for gpu in verdict.gpus for pid, _ in gpu_processes(gpu.gpu)}
