"""A host in a few lines: a table of processes, what the driver lists, and the plan of both."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import Any

from gpudash.core.cleanup.consent import Given, chosen
from gpudash.core.cleanup.plan import FamilyPlan, Plan
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.holding import (
    Device,
    Existence,
    Handle,
    Identity,
    ManagerFacts,
    ManagerKind,
    Process,
    Scan,
)
from gpudash.core.model import GpuProcess, Host, Kind, ProcessInfo
from tests.core.making import GIB, facts, gpu_info, host_of, reading, sample, told
from tests.core.making import hello as hello_of

UID = 1000
SSHD, SHELL, GPUDASH = 50, 60, 70
CID = "ab12" * 16


def device(kind: Device, gpu: int | None = None, **changes: Any) -> Handle:
    name = None if gpu is None else f"0000:{gpu:02x}:00.0"
    return Handle(device=kind, gpu=name, **changes)


def handles(*gpus: int, uvm: bool = True) -> tuple[Handle, ...]:
    """Return what a CUDA program has open."""
    rows = [device(Device.CONTROL)]
    rows += [device(Device.UVM)] if uvm else []
    return (*rows, *(device(Device.GPU, gpu) for gpu in gpus))


class Box:
    """A host under construction: init, sshd, a shell of ours, gpudash in it."""

    def __init__(self, gpus: int = 2, uid: int = UID) -> None:
        self.uid = uid
        self.gpus = gpus
        self.processes: dict[int, Process] = {}
        self.listed: list[dict[int, GpuProcess]] = [{} for _ in range(gpus)]
        self.existence: dict[int, Existence] = {}
        self.used: dict[int, int] = {}
        self.own = (GPUDASH, SHELL, SSHD, 1)
        self.scan_changes: dict[str, Any] = {}
        self.host_changes: dict[str, Any] = {}
        self.gpu_changes: dict[int, dict[str, Any]] = {}
        self.seen: tuple[ProcessInfo, ...] = ()
        self.add(1, "systemd", parent=0, uid=0, age_s=9000.0)
        self.add(SSHD, "sshd", uid=0, age_s=8000.0)
        self.add(SHELL, "-bash", comm="bash", parent=SSHD, age_s=7000.0, login_session=3)
        self.add(GPUDASH, "python", "gpudash", parent=SHELL, age_s=1.0, login_session=3)

    def add(
        self,
        pid: int,
        *argv: str,
        parent: int = 1,
        memory: dict[int, int | None] | None = None,
        opens: tuple[int, ...] | None = None,
        uid: int | None = None,
        hints: dict[str, str] | None = None,
        kind: Kind = Kind.COMPUTE,
        **changes: Any,
    ) -> Process:
        """Add a process; `memory` is what the driver lists for it, in bytes by GPU index.

        With memory it has these GPUs open, unless `opens` says which.
        """
        owner = self.uid if uid is None else uid
        above = self.processes.get(parent)
        has = tuple(sorted(memory or {})) if opens is None else opens
        exe = changes.pop("exe", (8, 400))
        start = changes.pop("start_ticks", 1000 + pid)
        values: dict[str, Any] = {
            "parent": parent,
            "group": pid,
            "session": above.session if above and parent > 1 else pid,
            "terminal": 0,
            "user": {0: "root", UID: "ana"}.get(owner, f"user{owner}"),
            "comm": posixpath.basename(argv[0])[:15] if argv else "python",
            "argv": argv,
            "exe_path": "/usr/bin/python3.11",
            "cwd": "/data/run",
            "state": "S",
            "threads": 4,
            "age_s": 600.0,
            "cpu_ticks": 100,
            "rss_bytes": GIB,
            "cgroup": "/user.slice/user-1000.slice/session-3.scope",
            "pid_namespace": 1,
            "namespace_pids": (pid,),
            "login_session": None,
            "hints": tuple((hints or {}).items()),
            "ports": (),
            "clients": 0,
            "handles": handles(*has) if has else (),
            "is_readable": True,
            "cpu_share": 0.0,
        }
        process = Process(
            identity=Identity(pid=pid, start_ticks=start, uid=owner, exe=exe),
            **(values | changes),
        )
        self.processes[pid] = process
        for index, used in (memory or {}).items():
            self.lists(index, pid, used, kind)
        return process

    def lists(self, index: int, pid: int, used: int | None, kind: Kind = Kind.COMPUTE) -> None:
        """Let the driver list a pid on a GPU."""
        self.listed[index][pid] = GpuProcess(pid=pid, used_bytes=used, kinds=frozenset({kind}))

    def dead(self, index: int, pid: int, used: int = GIB) -> None:
        """Let the driver list a pid that exists no more."""
        self.lists(index, pid, used)
        self.existence[pid] = Existence.DEAD

    def scan(self) -> Scan:
        values: dict[str, Any] = {
            "host_monotonic_s": 5000.0,
            "took_s": 0.1,
            "boot_id": "boot-1",
            "processes": tuple(self.processes[pid] for pid in sorted(self.processes)),
            "is_whole": True,
            "seen": len(self.processes),
            "unreadable": 0,
            "listed": tuple(sorted(self.existence.items())),
            "own": self.own,
            "pid_namespace": 4026531836,
            "is_initial_namespace": True,
        }
        return Scan(**(values | self.scan_changes))

    def host(self) -> Host:
        infos = [gpu_info(index) for index in range(self.gpus)]
        readings = [
            reading(
                self.used.get(index, sum(one.used_bytes or 0 for one in rows.values())),
                *rows.values(),
                **self.gpu_changes.get(index, {}),
            )
            for index, rows in enumerate(self.listed)
        ]
        changes = {"uid": self.uid} | self.host_changes
        host = host_of(told(hello_of(*infos, **changes), sample(1, *readings)))
        return replace(host, processes=self.seen)

    def plan(
        self, *answers: ManagerFacts, at_s: float = 100.0, is_first: bool = False, **request: Any
    ) -> Plan:
        return plan_host(
            self.host(),
            self.scan(),
            Request(**request),
            at_s=at_s,
            answers=answers,
            is_first=is_first,
        )

    def only(self, *answers: ManagerFacts, **request: Any) -> FamilyPlan:
        """Return the one family of the plan."""
        (family,) = self.plan(*answers, **request).families
        return family


YES = Given(is_confirmed=True, covers_alive=True)
Y_KEY = Given(is_confirmed=True)
LEFTOVERS = Given(is_confirmed=True, covers_alive=True, is_leftovers_only=True)


def pids_of(plan: Plan, given: Given) -> set[int]:
    """Return every pid that an order for this consent could signal."""
    return {pid for id_ in chosen(plan, given) for pid in plan.family(id_).pids}


def answer(kind: ManagerKind, name: str, **changes: Any) -> ManagerFacts:
    return ManagerFacts(kind=kind, id=name, **({"is_known": True} | changes))


__all__ = ["CID", "GIB", "Box", "answer", "device", "facts", "handles", "pids_of"]
