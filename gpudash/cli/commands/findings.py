"""What `doctor` found, one thing at a time."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.errors import ExitCode
from gpudash.core.families import listed_pids
from gpudash.core.model import GpuState, Host
from gpudash.core.names import clean_text
from gpudash.core.units import plural
from gpudash.core.verify import judge_host


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: str
    """`ok`, `note` or `fail`."""
    found: str
    advice: str = ""
    code: ExitCode = ExitCode.OK


def problem_finding(host: Host) -> Finding:
    """Say why a host can't be read."""
    assert host.problem is not None
    return Finding(
        what="driver",
        state="fail",
        found=clean_text(f"{host.problem.sentence} {host.problem.detail}", 2000),
        advice=host.problem.advice,
        code=host.problem.exit_code,
    )


def reading_findings(host: Host) -> list[Finding]:
    """Say what a reading of a host shows."""
    facts = host.facts
    names = sorted({clean_text(gpu.info.name or "?") for gpu in host.gpus})
    driver = f"{facts.driver}, NVML {facts.nvml}" if facts else "unknown"
    found = [
        Finding(what="driver", state="ok", found=driver),
        Finding(what="GPUs", state="ok", found=f"{len(host.gpus)} × {', '.join(names)}"),
    ]
    bad = [gpu for gpu in judge_host(host).gpus if gpu.gpu.state is not GpuState.READ]
    found += [
        Finding(
            what=f"GPU {gpu.gpu.info.index}",
            state="fail",
            found=gpu.reason,
            advice="gpudash check says more.",
            code=gpu.exit_code,
        )
        for gpu in bad
    ]
    unlisted = [gpu for gpu in host.gpus if gpu.reading and gpu.reading.processes is None]
    if unlisted:
        found.append(
            Finding(
                what="process lists",
                state="note",
                found=f"not readable on {plural(len(unlisted), 'GPU')}",
                advice="Memory is still read; who holds it stays unknown.",
            )
        )
    else:
        listed = plural(len(listed_pids(host)), "process", "processes")
        found.append(Finding(what="process lists", state="ok", found=f"{listed} listed"))
    return found
