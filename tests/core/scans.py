"""Short ways to make scans, and the lines that tell them."""

from __future__ import annotations

from typing import Any

from gpudash.core.events import Scanned
from gpudash.core.holding import Device, Handle, Identity, Process, Scan


def gpu_handle(index: int = 0, **changes: Any) -> Handle:
    """Return a handle on a GPU of `making.roster`."""
    values: dict[str, Any] = {"device": Device.GPU, "gpu": f"00000000:{index:02X}:00.0"}
    return Handle(**(values | changes))


CONTROL = Handle(device=Device.CONTROL, gpu=None)
UVM = Handle(device=Device.UVM, gpu=None)


def seen(pid: int, *handles: Handle, **changes: Any) -> Process:
    """Return a process of a scan; it belongs to ana, as in `making.info`."""
    values: dict[str, Any] = {
        "identity": Identity(pid=pid, start_ticks=pid * 10, uid=1000, exe=(1, 2)),
        "parent": 1,
        "group": pid,
        "session": pid,
        "terminal": 0,
        "user": "ana",
        "comm": "python",
        "argv": ("python", "train.py"),
        "exe_path": "/usr/bin/python3",
        "cwd": "/data",
        "state": "S",
        "threads": 1,
        "age_s": 60.0,
        "cpu_ticks": 5,
        "rss_bytes": 1 << 20,
        "cgroup": "/user.slice",
        "pid_namespace": 1,
        "namespace_pids": (pid,),
        "login_session": None,
        "hints": (),
        "ports": (),
        "clients": 0,
        "handles": handles,
        "is_readable": True,
    }
    return Process(**(values | changes))


def scan(*processes: Process, **changes: Any) -> Scan:
    """Return a scan of a host's own processes, all of them readable."""
    values: dict[str, Any] = {
        "host_monotonic_s": 1.0,
        "took_s": 0.05,
        "boot_id": "boot-1",
        "processes": tuple(sorted(processes, key=lambda process: process.pid)),
        "is_whole": False,
        "seen": 200,
        "unreadable": 0,
        "listed": (),
        "own": (900, 1),
        "pid_namespace": 1,
        "is_initial_namespace": True,
    }
    return Scan(**(values | changes))


def scanned(*processes: Process, **changes: Any) -> Scanned:
    """Return the event of such a scan."""
    return Scanned(id=1, scan=scan(*processes, **changes))


def row_fields(**changes: object) -> dict[str, object]:
    """Return one process as the hand tells it."""
    fields: dict[str, object] = {
        "pid": 41,
        "start": 410,
        "uid": 1000,
        "exe": [1, 2],
        "ppid": 1,
        "pgrp": 41,
        "sid": 41,
        "tty": 0,
        "user": "ana",
        "comm": "python",
        "argv": ["python", "train.py"],
        "path": "/usr/bin/python3",
        "cwd": "/data",
        "state": "S",
        "threads": 1,
        "age": 60.0,
        "cpu": 5,
        "rss": 1 << 20,
        "cgroup": "/user.slice",
        "pidns": 1,
        "nspid": [41],
        "login": None,
        "env": {"RANK": "0"},
        "ports": [],
        "clients": 0,
        "handles": [["gpu", "00000000:00:00.0", 2, 0]],
        "readable": True,
        "kernel": False,
    }
    return fields | changes


def part_fields(part: int, *rows: object, **changes: object) -> dict[str, object]:
    """Return one part of a scan that is not the last."""
    return {"t": "holders", "id": 7, "part": part, "rows": list(rows)} | changes


def last_fields(part: int, *rows: object, **changes: object) -> dict[str, object]:
    """Return the last part of a scan."""
    fields: dict[str, object] = {
        "last": True,
        "mono": 5.0,
        "took": 0.08,
        "boot": "b",
        "whole": False,
        "seen": 200,
        "unreadable": 3,
        "listed": [[9, "hidden"]],
        "own": [900, 1],
        "pidns": 1,
        "initial": True,
        "simulated": False,
        "notes": ["a note"],
    }
    return part_fields(part, *rows) | fields | changes
