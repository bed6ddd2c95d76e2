"""How serving and training frameworks arrange their processes, as one table.

A name is a label, never a reason to signal: whoever is ended holds a device and belongs to the
family. The table says what a process is in its family, how long a root needs after one SIGTERM,
and in which order a framework's own stop command goes. Times: vLLM 0.33, SGLang 0.5.23, Ray 2.60
and torch's elastic agent, as read in their sources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from gpudash.core.holding import Process


class Role(Enum):
    """What a process is in a family of its framework."""

    ROOT = "root"
    """What a user would stop; it ends the others."""
    AGENT = "agent"
    """Below a root and passes the signal on, while the root may not."""
    WORKER = "worker"
    """A worker, rank or engine: it exists for its root alone."""
    HELPER = "helper"
    """Keeps no state of its own: a data loader, a resource tracker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """What is known of one framework."""

    name: str
    grace_s: float
    """From SIGTERM of the root to SIGKILL."""
    idle_grace_s: float
    """The same where no client is connected and nothing is trained."""
    orphan_grace_s: float
    """For workers without their root."""
    is_engine: bool = False
    """Serves requests: without a client there is nothing to lose."""
    roots: str = ""
    agents: str = ""
    workers: str = ""
    """Patterns over the command line or title, words joined by blanks."""
    order: tuple[str, ...] = ()
    """Patterns of who is asked one after the other; () for the roots at once."""
    note: str = ""
    """What its end costs, as a clause."""


FRAMEWORKS = (
    Framework(
        name="vllm",
        roots=r"vllm\.entrypoints\b|(?:^|/| )vllm (?:serve|bench|run-batch)\b",
        workers=r"^VLLM::",
        grace_s=12.0,
        idle_grace_s=5.0,
        orphan_grace_s=5.0,
        is_engine=True,
    ),
    Framework(
        name="weight cache",
        roots=r"sglang\.srt\.weight_cache\.daemon\b",
        grace_s=5.0,
        idle_grace_s=5.0,
        orphan_grace_s=3.0,
        note="it keeps weights on purpose: the next start will be slow",
    ),
    Framework(
        name="sglang",
        roots=r"sglang\.launch_server\b|(?:^|/| )sglang serve\b",
        workers=r"^(?:sglang|sgl_diffusion)::",
        grace_s=25.0,
        idle_grace_s=3.0,
        orphan_grace_s=3.0,
        is_engine=True,
    ),
    Framework(
        name="trtllm",
        roots=r"(?:^|/| )trtllm-serve\b",
        workers=r"-m mpi4py\.futures\.server\b",
        grace_s=15.0,
        idle_grace_s=5.0,
        orphan_grace_s=5.0,
        is_engine=True,
    ),
    Framework(
        name="ray",
        roots=r"(?:^|/)raylet\b",
        agents=r"(?:^|/)gcs_server\b",
        workers=r"^ray::|ray/_private/workers/(?:default|setup)_worker\.py|"
        r"ray/_private/(?:log_monitor|monitor)\.py|ray/dashboard/",
        order=(r"(?:^|/)raylet\b", "", r"(?:^|/)gcs_server\b"),
        grace_s=6.0,
        idle_grace_s=6.0,
        orphan_grace_s=6.0,
    ),
    Framework(
        name="deepspeed",
        roots=r"(?:^|/| )deepspeed(?: |$)",
        agents=r"-m deepspeed\.launcher\.launch\b",
        grace_s=35.0,
        idle_grace_s=35.0,
        orphan_grace_s=5.0,
    ),
    Framework(
        name="accelerate",
        roots=r"(?:^|/| )accelerate launch\b|-m accelerate\.commands\.launch\b",
        grace_s=35.0,
        idle_grace_s=35.0,
        orphan_grace_s=5.0,
    ),
    Framework(
        name="torchrun",
        roots=r"(?:^|/| )torchrun(?: |$)|-m torch\.distributed\.(?:run|launch)\b",
        grace_s=35.0,
        idle_grace_s=35.0,
        orphan_grace_s=5.0,
    ),
    Framework(
        name="mpi",
        roots=r"(?:^|/)(?:mpirun|mpiexec|orted|prted|prterun|hydra_pmi_proxy|orterun)\b",
        grace_s=10.0,
        idle_grace_s=10.0,
        orphan_grace_s=5.0,
    ),
    Framework(
        name="ollama",
        roots=r"(?:^|/)ollama serve\b",
        workers=r"(?:^|/)ollama runner\b|(?:^|/)ollama_llama_server\b",
        grace_s=8.0,
        idle_grace_s=5.0,
        orphan_grace_s=3.0,
        is_engine=True,
        note="`ollama stop MODEL` frees the memory and keeps the server",
    ),
    Framework(
        name="llama.cpp",
        roots=r"(?:^|/)llama-server\b",
        grace_s=5.0,
        idle_grace_s=2.0,
        orphan_grace_s=2.0,
        is_engine=True,
    ),
    Framework(
        name="triton",
        roots=r"(?:^|/)tritonserver\b",
        workers=r"triton_python_backend_stub\b",
        grace_s=35.0,
        idle_grace_s=5.0,
        orphan_grace_s=3.0,
        is_engine=True,
    ),
    Framework(
        name="notebook",
        roots=r"\bipykernel_launcher\b|-m ipykernel\b",
        grace_s=2.0,
        idle_grace_s=2.0,
        orphan_grace_s=2.0,
        note="its variables are lost; the server starts a fresh kernel",
    ),
    Framework(
        name="web ui",
        roots=r"main\.py .*--listen\b|(?:^|/)(?:webui|launch)\.py\b",
        grace_s=5.0,
        idle_grace_s=5.0,
        orphan_grace_s=5.0,
    ),
)
PLAIN = Framework(name="", grace_s=10.0, idle_grace_s=10.0, orphan_grace_s=5.0)
"""A program that nothing is known of; its handler of SIGTERM may save a checkpoint."""
HELPER_GRACE_S = 1.0
RANK_OF_A_LAUNCHER = "rank of a launcher"
"""Told by its words and variables alone, which a person may give as well."""
MPI_DAEMONS = frozenset({"mpi"})

_HELPERS = re.compile(
    r"multiprocessing\.(?:resource_tracker|semaphore_tracker|forkserver)\b|^pt_data_worker"
)
_CHILDREN = re.compile(r"--multiprocessing-fork\b|multiprocessing\.spawn\b")
_LOCAL_RANK = re.compile(r"--local[_-]rank[= ]\d")
_NODE_RANK = re.compile(r"--node[_-]rank[= ]([1-9]\d*)")
_SHUTDOWN_TIMEOUT = re.compile(r"--shutdown-timeout[= ](\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one process is."""

    framework: Framework
    role: Role | None
    """None for a program that nothing is known of."""
    sign: str = ""
    """What told so, as a noun; empty where the command line of a root did."""


def command_line(process: Process) -> str:
    """Return its words joined, or its name where it has none: a zombie."""
    return " ".join(process.argv).strip() or process.comm


def part_of(process: Process) -> Part:
    """Tell what a process is, by its title or command line and by its environment."""
    line = command_line(process)
    for framework in FRAMEWORKS:
        # A worker's title hides its command line, so it is looked at first.
        if framework.workers and re.search(framework.workers, line):
            return Part(framework=framework, role=Role.WORKER, sign=f"{framework.name} worker")
        if framework.agents and re.search(framework.agents, line):
            return Part(framework=framework, role=Role.AGENT)
        if framework.roots and re.search(framework.roots, line):
            return Part(framework=framework, role=Role.ROOT)
    if _HELPERS.search(line) or process.comm.startswith("pt_data_worker"):
        return Part(framework=PLAIN, role=Role.HELPER, sign="helper process")
    if _CHILDREN.search(line):
        return Part(framework=PLAIN, role=Role.WORKER, sign="child of multiprocessing")
    return _rank(process, line)


def _rank(process: Process, line: str) -> Part:
    hints = dict(process.hints)
    if "TORCHELASTIC_RUN_ID" in hints and "RANK" in hints:
        return Part(framework=_named("torchrun"), role=Role.WORKER, sign="rank of torchrun")
    if hints.keys() & {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}:
        return Part(framework=_named("mpi"), role=Role.WORKER, sign="rank of MPI")
    size = hints.get("WORLD_SIZE", "")
    if _LOCAL_RANK.search(line) or (
        "LOCAL_RANK" in hints and "RANK" in hints and size.isdigit() and int(size) > 1
    ):
        return Part(framework=_named("deepspeed"), role=Role.WORKER, sign=RANK_OF_A_LAUNCHER)
    return Part(framework=PLAIN, role=None)


def _named(name: str) -> Framework:
    return next(framework for framework in FRAMEWORKS if framework.name == name)


def grace_of(part: Part, root: Process, clients: int) -> float:
    """Return how long a living root may take after its one SIGTERM, in seconds.

    0 skips SIGTERM: the SGLang of a further node logs it and never ends by it.
    """
    framework = part.framework
    line = command_line(root)
    if framework.name == "sglang" and _NODE_RANK.search(line):
        return 0.0
    told = _SHUTDOWN_TIMEOUT.search(line)
    if framework.name == "vllm" and told:
        return float(told[1]) + 5.0
    is_idle = framework.is_engine and not clients
    return framework.idle_grace_s if is_idle else framework.grace_s
