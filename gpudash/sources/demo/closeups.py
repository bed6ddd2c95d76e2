"""What simulated hosts answer to those who look closer: the slow calls, families, environments."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gpudash.core import nvml
from gpudash.core.masking import masked_variable
from gpudash.sources.demo.machine import MIB, Instant, Machine
from gpudash.sources.demo.noise import key_of
from gpudash.sources.demo.scans import TICKS_A_SECOND, rows_of
from gpudash.sources.demo.tasks import Task

GIB = 1 << 30
ROWS_A_LINE = 24
_SHARES = {"sglang::schedul": 1.02, "VLLM::EngineCor": 0.96, "VLLM::Worker_TP": 1.0}
_ABSENT = {"e": nvml.NOT_SUPPORTED}


class Answer(NamedTuple):
    """What a program says to one command."""

    lines: tuple[dict[str, object], ...] = ()
    more: Mapping[str, object] = MappingProxyType({})
    """Of its ack."""
    error: str = ""


LEAVINGS = Answer(({"t": "leavings", "rows": [], "unread": 0, "ports": []},))
"""Nobody here leaves shared memory or ports behind."""


def detail(machine: Machine, order: dict[str, Any], at_s: float) -> Answer:
    """Answer what the slow calls of one GPU say."""
    gpu = order.get("gpu")
    instants = machine.instants(at_s)
    if type(gpu) is not int or not 0 <= gpu < len(instants) or (now := instants[gpu]) is None:
        return Answer(error="gpu must be the index of a GPU that can be asked")
    facts = facts_of(machine, gpu, now, at_s)
    return Answer(({"t": "detail", "gpu": gpu, "uuid": machine.gpu_uuid(gpu), "facts": facts},))


def answer(machine: Machine, order: dict[str, Any], at_s: float, booted_s: float) -> Answer:
    """Answer a hand's question about processes; `booted_s` is the demo time of the boot."""
    match order["do"]:
        case "kindred":
            return _kindred(kindred_rows(machine, list(order.get("pids", [])), at_s, booted_s))
        case "environment":
            task = machine.tasks(at_s).get(order.get("pid", 0))
            ticks = round((task.started_s - booted_s) * TICKS_A_SECOND) if task else None
            if task is None or ticks != order.get("start"):
                return Answer(error="it is not there any more")
            return Answer(more={"variables": environment_of(task)})
    return LEAVINGS


def _kindred(rows: list[dict[str, object]]) -> Answer:
    parts = [rows[start : start + ROWS_A_LINE] for start in range(0, len(rows), ROWS_A_LINE)]
    lines: list[dict[str, object]] = [
        {"t": "kindred", "part": number, "rows": part} for number, part in enumerate(parts)
    ]
    return Answer((*lines, {"t": "kindred", "part": len(parts), "last": True, "rows": []}))


def facts_of(machine: Machine, gpu: int, now: Instant, at_s: float) -> dict[str, object]:
    """Return what the slow calls of one GPU say, as a sampler's line has it."""
    board = machine.boards[gpu]
    key = key_of(machine.name, "facts", gpu)
    is_mig = any(piece.gpu == gpu for piece in machine.slices)
    is_server = "H200" in board.name
    wants_reset = now.recovery_action != 0
    busy = now.utilisation_pct / 100
    moved = int(at_s * 40e6 + 3.1e12 + key % 10**9)
    width = 8 if wants_reset else 16
    return {
        "bar1": [(1_703_936 if not now.holdings else 4 * MIB), (256 if is_server else 128) * GIB],
        "clocks": [now.sm_clock_mhz, now.sm_clock_mhz, 3201 if is_server else 12_481, 1545],
        "compute_mode": [0],
        "decoder": [0, 167_000],
        "ecc_aggregate": [key % 5, 2 if wants_reset else 0],
        "ecc_mode": [1, 1],
        "ecc_volatile": [key % 2, 1 if wants_reset else 0],
        "encoder": [0, 167_000],
        "fan": _ABSENT if is_server else [30 + round(35 * busy)],
        "max_clocks": [board.full_mhz, board.full_mhz, 3201 if is_server else 12_481, 1545],
        "memory_busy": [round(46 * busy)],
        "memory_temperature": [now.temperature_c + 8],
        "mig": [1, 1] if is_mig else [0, 0],
        "nvlinks": [1] * 18 if is_server else _ABSENT,
        "pcie": [5 if now.holdings else 1, width, 5, 16],
        "pcie_bytes": [moved, moved * 3],
        "pcie_replays": [0],
        "persistence": [1],
        "power_limits": [board.limit_w * 1000] * 2 + [board.limit_w * 250, board.limit_w * 1000],
        "recovery": [now.recovery_action],
        "remapped": [0, int(wants_reset), int(wants_reset), 0],
        "retired": _ABSENT,
        "serial": f"{1_320_000_000_000 + key % 10**9}",
        "thresholds": [95, 90, 95, 87],
        "throttle": [now.throttle_bits],
        "vbios": "96.00.A5.00.01" if is_server else "98.02.2E.00.03",
    }


def kindred_rows(
    machine: Machine, pids: list[int], at_s: float, booted_s: float
) -> list[dict[str, object]]:
    """Return the processes below these pids, with the host memory and CPU that such ones use."""
    tasks = machine.tasks(at_s)
    wanted = {
        pid
        for pid, task in tasks.items()
        if pid in pids or any(above.pid in pids for above in task.ancestors())
    }
    rows = rows_of(machine, at_s, booted_s, is_whole=True)
    held = {one.task.pid: one.mib for one in machine.holdings(at_s)}
    return [
        row | _use(tasks[pid], held.get(pid, 0), at_s)
        for row in rows
        if (pid := row["pid"]) in wanted and isinstance(pid, int)
    ]


def _use(task: Task, mib: int, at_s: float) -> dict[str, object]:
    key = key_of("use", task.pid)
    is_left = task.comm.startswith("sglang::") and task.parent is None
    share = 0.0 if is_left else _SHARES.get(task.comm, 0.01 * (1 + key % 6) if not mib else 0.6)
    host_mib = 700 + key % 900 + (mib // 24 if mib else 0)
    return {
        "rss": host_mib * MIB,
        "share": None,
        "threads": 12 + key % 90 if mib else 3 + key % 12,
        "cpu": round(max(0.0, at_s - task.started_s) * share * TICKS_A_SECOND),
        "cgroup": "/system.slice/ollama.service" if task.comm == "ollama" else "/user.slice",
    }


def environment_of(task: Task) -> list[list[str]]:
    """Return the environment of a process, masked as a hand masks it."""
    home = "/root" if task.person.uid == 0 else f"/home/{task.person.name}"
    pairs = {
        "HOME": home,
        "USER": task.person.name,
        "PWD": home,
        "PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
        "NCCL_DEBUG": "WARN",
        "HF_HOME": "/models/hf",
        "HF_TOKEN": "hf_0123456789abcdefghij",
        "WANDB_API_KEY": "0123456789abcdef",
        "DATABASE_URL": "postgres://tracker:tracker@192.0.2.20/runs",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "TMUX": "/tmp/tmux-0/default,1201,0",
    }
    return [[name, masked_variable(name, value)] for name, value in pairs.items()]
