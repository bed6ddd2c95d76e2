"""The room that a process runs in, by its control group: a container, a job, a unit."""

from __future__ import annotations

import re

_ROOMS = (
    ("pod", re.compile(r"kubepods[^ ]*?pod([0-9a-f]{8})[-_0-9a-f]*")),
    ("docker", re.compile(r"(?:docker[-/])([0-9a-f]{12})[0-9a-f]{52}")),
    ("podman", re.compile(r"(?:libpod[-_/](?:payload-)?)([0-9a-f]{12})[0-9a-f]{52}")),
    ("container", re.compile(r"(?:cri-containerd-|/)([0-9a-f]{12})[0-9a-f]{52}")),
    ("Slurm job", re.compile(r"/job_(\d+)")),
    ("lxc", re.compile(r"/lxc(?:\.payload\.|/)([\w-]+)")),
)
_UNIT = re.compile(r"/([\w@.\\-]+\.service)")
_DOORS = re.compile(r"user@\d+\.service|ssh(?:d)?(?:@[^/]*)?\.service|crond?\.service")


def room_of(cgroup: str) -> str:
    """Name the room: `docker 4f1c0a2b9d3e`, `Slurm job 4711`, `ollama.service`; empty for none."""
    for kind, pattern in _ROOMS:
        if found := pattern.search(cgroup):
            return f"{kind} {found[1]}"
    units = [unit for unit in _UNIT.findall(cgroup) if not _DOORS.fullmatch(unit)]
    return units[-1] if units else ""
