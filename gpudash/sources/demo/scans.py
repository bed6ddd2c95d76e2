"""What is said of a simulated host: its GPUs, its living processes, and who has which open."""

from __future__ import annotations

from gpudash.core.families import INITIAL_PID_NAMESPACE
from gpudash.sources.demo.deeds import HAND_PID
from gpudash.sources.demo.machine import MIB, Machine
from gpudash.sources.demo.noise import key_of
from gpudash.sources.demo.tasks import Task

TICKS_A_SECOND = 100


def bus_id(gpu: int) -> str:
    """Return the bus id of a simulated GPU."""
    return f"00000000:{0x0A + 0x11 * gpu % 0xF0:02X}:00.0"


def roster_entry(machine: Machine, gpu: int) -> dict[str, object]:
    """Return what a greeting says of one GPU."""
    board = machine.boards[gpu]
    entry: dict[str, object] = {
        "index": gpu,
        "uuid": machine.gpu_uuid(gpu),
        "bus": bus_id(gpu),
        "name": board.name,
        "total": board.total_mib * MIB,
        "reserved": board.reserved_mib * MIB,
        "limit": board.limit_w * 1000,
    }
    return entry | ({"mig": True} if any(piece.gpu == gpu for piece in machine.slices) else {})


def rows_of(
    machine: Machine, at_s: float, booted_s: float, *, is_whole: bool
) -> list[dict[str, object]]:
    """Return the processes of a host; `booted_s` is the demo time of its boot.

    Not `is_whole`: those with a handle, and whoever is above them.
    """
    tasks = machine.tasks(at_s)
    open_by: dict[int, set[int]] = {}
    busy: dict[int, float] = {}
    for held in machine.holdings(at_s):
        open_by.setdefault(held.task.pid, set()).add(held.gpu)
        busy[held.task.pid] = max(busy.get(held.task.pid, 0.0), held.load)
    able = set(open_by)
    for one in machine.bystanders:
        open_by.setdefault(one.task.pid, set()).update(one.gpus)
        able |= {one.task.pid} if one.can_compute else set()
    wanted = {pid for pid, gpus in open_by.items() if gpus} | {
        above.pid for pid in open_by if pid in tasks for above in tasks[pid].ancestors()
    }
    return [
        _row(machine, task, at_s, booted_s)
        | {"share": round(busy.get(pid, 0.0), 2)}
        | {"handles": _handles(sorted(open_by.get(pid, ())), can_compute=pid in able)}
        for pid, task in sorted(tasks.items())
        if is_whole or pid in wanted
    ]


def rest_of(machine: Machine, at_s: float, pids: list[int]) -> dict[str, object]:
    """Return what a scan says beside the processes."""
    known = machine.tasks(at_s)
    return {
        "took": 0.04,
        "boot": machine.identity("boot"),
        "seen": 200 + len(known),
        "unreadable": 0,
        "listed": [[pid, "dead"] for pid in pids if pid not in known],
        "own": [HAND_PID, 1],
        "pidns": INITIAL_PID_NAMESPACE,
        "initial": True,
        "simulated": True,
        "notes": [],
    }


def _handles(gpus: list[int], *, can_compute: bool) -> list[list[object]]:
    count = 4 if can_compute else 1
    handles: list[list[object]] = [["gpu", bus_id(gpu), count, 0] for gpu in gpus]
    if gpus:
        handles.append(["control", None, 1, 0])
    return [*handles, ["uvm", None, 2, 0]] if gpus and can_compute else handles


def _row(machine: Machine, task: Task, at_s: float, booted_s: float) -> dict[str, object]:
    return {
        "pid": task.pid,
        "start": round((task.started_s - booted_s) * TICKS_A_SECOND),
        "uid": task.person.uid,
        "exe": [1, key_of(0, "exe", task.comm) % 1_000_000],
        "ppid": machine.parent_of(task, at_s),
        "pgrp": task.group or task.pid,
        "sid": task.group or task.pid,
        "tty": 0,
        "user": task.person.name,
        "comm": task.comm,
        "argv": list(task.argv),
        "path": f"/usr/bin/{task.argv[0].rpartition('/')[2] if task.argv else task.comm}",
        "cwd": "/root" if task.person.uid == 0 else f"/home/{task.person.name}",
        "state": "S",
        "threads": 1,
        "age": round(at_s - task.started_s, 2),
        "cpu": round(max(0.0, at_s - task.started_s) * TICKS_A_SECOND),
        "rss": None,
        "cgroup": "/user.slice",
        "pidns": INITIAL_PID_NAMESPACE,
        "nspid": [task.pid],
        "login": None,
        "env": {},
        "ports": list(task.ports),
        "clients": task.clients,
        "readable": True,
        "kernel": False,
    }
