"""When a wait is over, and with which exit code (design §6).

Held and unreachable are waited for. What waiting can't mend ends it at once: a lost GPU, one that
needs a reset, no driver, memory that can never be proven zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core import nvml
from gpudash.core.errors import ExitCode, worst
from gpudash.core.families import gpu_processes
from gpudash.core.model import Fleet, Gpu, GpuState, Host, Link
from gpudash.core.names import process_label
from gpudash.core.proof import HostProof, State
from gpudash.core.reasons import why_unproven
from gpudash.core.scope import Scope
from gpudash.core.units import format_duration
from gpudash.core.verify import GpuVerdict, HostVerdict

NO_DRIVER = frozenset({nvml.DRIVER_NOT_LOADED, nvml.LIBRARY_NOT_FOUND, nvml.VERSION_MISMATCH})
_UNMENDABLE = {
    GpuState.LOST: ExitCode.UNKNOWN,
    GpuState.MISSING: ExitCode.UNKNOWN,
    GpuState.UNIFIED: ExitCode.UNKNOWN,
    GpuState.NEEDS_RESET: ExitCode.STUCK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a wait ended."""

    exit_code: ExitCode
    says: str
    """One sentence."""
    advice: str = ""


def hopeless_gpu(gpu: Gpu) -> ExitCode | None:
    """Return the exit code of a GPU that waiting can't mend; None where it may."""
    return _UNMENDABLE.get(gpu.state)


def hopeless(fleet: Fleet, scope: Scope | None) -> Ending | None:
    """Return the end of a wait for all GPUs in scope that can't come true any more.

    Raises UsageError for a scope that names what is not there.
    """
    hosts = [host for host in fleet.hosts if scope is None or scope.concerns(host.name)]
    endings = [ending for host in hosts if (ending := hopeless_host(host, scope))]
    return min(endings, key=_badness, default=None)


def _badness(ending: Ending) -> int:
    """Order as the worst counts: unknown before stuck."""
    return 0 if worst((ending.exit_code, ExitCode.STUCK)) is not ExitCode.STUCK else 1


def hopeless_host(host: Host, scope: Scope | None) -> Ending | None:
    """Return the end that one host brings; None while there is hope."""
    if ending := without_driver(host):
        return ending
    if host.link is not Link.LIVE or not host.samples:
        return None
    chosen = scope.select(host.name, host.gpus) if scope else host.gpus
    bad = [(code, gpu) for gpu in chosen if (code := hopeless_gpu(gpu)) is not None]
    if not bad:
        return None
    code = worst(code for code, _ in bad)
    gpu = next(gpu for one, gpu in bad if one is code)
    return Ending(exit_code=code, says=f"{host.name}: GPU {gpu.info.index}: {why_unproven(gpu)}")


def without_driver(host: Host) -> Ending | None:
    """Return the end that a host without a driver or without GPUs brings."""
    problem = host.problem
    if problem is None:
        return None
    is_down = host.link is Link.DOWN and problem.code in NO_DRIVER
    has_none = host.link is Link.LIVE and not host.gpus
    if not (is_down or has_none):
        return None
    return Ending(
        exit_code=ExitCode.UNKNOWN,
        says=f"{host.name}: {problem.sentence}",
        advice=problem.advice,
    )


def has_never_answered(host: Host, local: frozenset[str]) -> bool:
    """Tell whether a host of another place was never reached at all."""
    if host.facts is not None or host.name in local:
        return False
    return host.problem is None or host.problem.exit_code is ExitCode.UNREACHABLE


def out_of_time(
    hosts: tuple[Host, ...], local: frozenset[str], what: str, timeout_s: float, why: str = ""
) -> Ending:
    """Return the end at the timeout: 5, or 3 where a host never answered.

    `why` says what kept holds that ran from their end, as clauses.
    """
    within = f"within {format_duration(timeout_s, tenths=True)}"
    silent = [host for host in hosts if has_never_answered(host, local)]
    if not silent:
        says = f"timed out: {what} {within}{f'; {why}' if why else ''}"
        return Ending(exit_code=ExitCode.TIMED_OUT, says=says)
    host = silent[0]
    more = f" (and {len(silent) - 1} more)" if silent[1:] else ""
    why = f": {host.problem.sentence}" if host.problem else ""
    return Ending(
        exit_code=ExitCode.UNREACHABLE,
        says=f"{host.name}{more} never answered {within}{why}",
        advice=host.problem.advice if host.problem else "",
    )


# -- what stands in the way --------------------------------------------------------------------


def in_the_way(judged: HostVerdict) -> tuple[str, ...]:
    """Return one clause for each GPU that is not clear, or one for a host that can't be judged."""
    if judged.reason:
        return (f"{judged.host.name}: {judged.reason.rstrip('.')}",)
    bad = (gpu for gpu in judged.gpus if gpu.exit_code is not ExitCode.OK)
    return tuple(f"{judged.host.name}: {gpu_in_the_way(judged.host, gpu)}" for gpu in bad)


def gpu_in_the_way(host: Host, judged: GpuVerdict) -> str:
    """Return `GPU 3: 512 MiB held: train.py (pid 4711, ana)`."""
    infos = {info.pid: info for info in host.processes}
    known = [infos[pid] for pid, _ in gpu_processes(judged.gpu) if pid in infos]
    names = [f"{process_label(one).name} (pid {one.pid}, {one.user})" for one in known[:3]]
    by = f" by {', '.join(names)}" if names else ""
    return f"GPU {judged.gpu.info.index}: {judged.reason}{by}"


def waits_for_name(proof: HostProof) -> bool:
    """Tell whether somebody is still being asked for.

    The driver lists a pid when its context is ready, some time after the memory. What was held from
    the start has been listed since long.
    """
    broken = proof.broken
    if proof.state is not State.BROKEN or broken is None or broken.is_settled:
        return False
    return broken.who is not None or broken.clear_s is not None
