"""What a scan of a simulated host says: its living processes, and the GPUs that each has open."""

from __future__ import annotations

from gpudash.core.families import INITIAL_PID_NAMESPACE
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.tasks import Task

TICKS_A_SECOND = 100
OWN_PID = 3
"""Of the simulated hand: pid 2 is the kernel's, and it has no parent but pid 1."""


def bus_id(gpu: int) -> str:
    """Return the bus id of a simulated GPU."""
    return f"00000000:{0x0A + 0x11 * gpu % 0xF0:02X}:00.0"


def rows_of(machine: Machine, at_s: float, booted_s: float) -> list[dict[str, object]]:
    """Return the processes of a host; `booted_s` is the demo time of its boot."""
    open_by: dict[int, set[int]] = {}
    for held in machine.holdings(at_s):
        open_by.setdefault(held.task.pid, set()).add(held.gpu)
    tasks = sorted(machine.tasks(at_s).items())
    return [_row(task, sorted(open_by.get(pid, ())), at_s, booted_s) for pid, task in tasks]


def rest_of(machine: Machine, at_s: float, pids: list[int]) -> dict[str, object]:
    """Return what a scan says beside the processes."""
    known = machine.tasks(at_s)
    return {
        "took": 0.04,
        "boot": machine.identity("boot"),
        "seen": 200 + len(known),
        "unreadable": 0,
        "listed": [[pid, "dead"] for pid in pids if pid not in known],
        "own": [OWN_PID, 1],
        "pidns": INITIAL_PID_NAMESPACE,
        "initial": True,
        "simulated": True,
        "notes": [],
    }


def _row(task: Task, gpus: list[int], at_s: float, booted_s: float) -> dict[str, object]:
    handles: list[list[object]] = [["gpu", bus_id(gpu), 4, 0] for gpu in gpus]
    if gpus:
        handles += [["control", None, 1, 0], ["uvm", None, 2, 0]]
    parent = task.parent.pid if task.parent else 1
    return {
        "pid": task.pid,
        "start": round((task.started_s - booted_s) * TICKS_A_SECOND),
        "uid": task.person.uid,
        "exe": [1, task.pid if task.comm != "python3" else 1],
        "ppid": parent,
        "pgrp": task.pid,
        "sid": task.pid,
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
        "ports": [],
        "clients": 0,
        "handles": handles,
        "readable": True,
        "kernel": False,
    }
