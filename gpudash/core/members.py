"""Who belongs to a family on a host, and what is known of each: from a scan, else from the driver.

Whoever is only listed is a member all the same; what was not looked at is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpudash.core.families import Holder, heirs_of, info_of
from gpudash.core.holding import Device, Process
from gpudash.core.kin import kin_entry
from gpudash.core.masking import masked_argv
from gpudash.core.model import Host, ProcessInfo
from gpudash.core.names import clean_text, process_label
from gpudash.core.rooms import room_of

Identity = tuple[int, int]
"""Pid and start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is known of one process beside whose it is."""

    pid: int
    start_ticks: int
    parent: int
    name: str
    user: str
    state: str
    """One letter of /proc/PID/stat; empty where that is not known."""
    age_s: float | None
    """At `known_at_s`."""
    known_at_s: float
    command: str
    rss_bytes: int | None = None
    cpu_share: float | None = None
    """Cores in use."""
    threads: int | None = None
    handles: int | None = None
    """Open descriptors of GPUs; None where they were not looked at."""
    room: str = ""
    """The container, unit or job that it runs in."""
    ended_s: float | None = None
    """When it was seen to be gone, on the viewer's clock."""

    @property
    def identity(self) -> Identity:
        """Return pid and start."""
        return self.pid, self.start_ticks


def member_of(process: Process, at_s: float, *, cpu_share: float | None = None) -> Member:
    """Return a scanned process as a member."""
    return Member(
        pid=process.pid,
        start_ticks=process.identity.start_ticks,
        parent=process.parent,
        name=_name(process.comm, process.argv),
        user=clean_text(process.user, 32),
        state=process.state,
        age_s=process.age_s,
        known_at_s=at_s,
        command=_command(process.comm, process.argv),
        rss_bytes=process.rss_bytes,
        cpu_share=process.cpu_share if cpu_share is None else cpu_share,
        threads=process.threads,
        handles=sum(one.count for one in process.handles if one.device is Device.GPU),
        room=room_of(process.cgroup),
    )


def _listed_member(info: ProcessInfo) -> Member:
    return Member(
        pid=info.pid,
        start_ticks=info.start_ticks,
        parent=info.ancestors[0].pid if info.ancestors else 0,
        name=_name(info.comm, info.argv),
        user=clean_text(info.user, 32),
        state=info.state,
        age_s=info.age_s,
        known_at_s=info.known_at_s,
        command=_command(info.comm, info.argv),
    )


def _name(comm: str, argv: tuple[str, ...]) -> str:
    label = process_label(
        ProcessInfo(pid=0, start_ticks=0, uid=0, user="", comm=comm, argv=argv, state="", age_s=0.0)
    )
    return f"{label.name} {label.detail}".strip()


def _command(comm: str, argv: tuple[str, ...]) -> str:
    return clean_text(" ".join(masked_argv(argv)) or comm, 400)


# -- who belongs to a family -------------------------------------------------------------------


def members(host: Host, holder: Holder, known: Mapping[int, Member]) -> tuple[Member, ...]:
    """Return the living of a family, by pid: the listed, their keepers, and who is around them.

    `known` are all processes of the newest look, by pid.
    """
    _, root_pid, root_start = holder.key
    found: dict[int, Member] = {}
    for pid in holder.pids:
        infos = [info for info in (info_of(host, pid), *heirs_of(host, pid)) if info is not None]
        for info in infos:
            fresh = known.get(info.pid)
            is_it = fresh is not None and fresh.start_ticks == info.start_ticks
            found[info.pid] = fresh if fresh is not None and is_it else _listed_member(info)
            for step in info.ancestors:
                above = known.get(step.pid)
                if step.pid in found or above is None or above.start_ticks != step.start_ticks:
                    continue
                if _is_under(above, root_pid, root_start, known):
                    found[step.pid] = above
    kin = kin_entry(host, holder.pids[0], info_of(host, holder.pids[0]))
    wanted = kin.members if kin else frozenset()
    for one in known.values():
        if one.identity in wanted or _is_under(one, root_pid, root_start, known):
            found.setdefault(one.pid, one)
    return tuple(one for _, one in sorted(found.items()))


def _is_under(one: Member, root: int, start: int, known: Mapping[int, Member]) -> bool:
    seen: set[int] = set()
    step: Member | None = one
    while step is not None and step.pid not in seen:
        if step.pid == root:
            return step.start_ticks == start
        seen.add(step.pid)
        step = known.get(step.parent)
    return False
