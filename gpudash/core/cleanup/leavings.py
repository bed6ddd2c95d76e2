"""What ended families leave behind: shared memory with a name, and ports that are not free yet.

A segment is of a family when a member had it mapped or open, made it (System V), or when a
framework's name carries a member's pid; what is older than a member is none of its make. The
hand's answer, by `t` `leavings`:

    rows   {"kind": "file"|"sysv", "name", "id": inode|shmid, "size", "uid", "users": [pid, …],
            "removed": BOOL, "why": TEXT}
    unread N     processes that could not be looked into; above 0 no file is removed
    ports  [[port, listening, ended], …]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpudash.core.checked import InvalidLine, a_count, a_list, a_text, an_object
from gpudash.core.names import clean_text
from gpudash.core.units import format_memory, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of shared memory."""

    kind: str
    """`file` in /dev/shm, or `sysv`."""
    name: str
    id: int
    """Inode, or number of the segment."""
    size_bytes: int
    uid: int
    users: tuple[int, ...]
    """Who has it mapped or open; of System V only how many, as zeros."""
    is_removed: bool = False
    why_kept: str = ""
    """Why it was not removed where that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One port on which an ended family served."""

    port: int
    listening: int
    """Sockets that still listen on it: somebody else has it."""
    ended: int
    """Connections that the kernel keeps for a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leavings:
    """All that is left of some processes."""

    id: int
    """Of the command."""
    segments: tuple[Segment, ...] = ()
    unread: int = 0
    ports: tuple[Port, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is left."""
        return not (self.segments or self.ports)


def leavings_of(value: object) -> Leavings:
    """Return what a line of type `leavings` says. Raises InvalidLine."""
    line = an_object(value)
    return Leavings(
        id=a_count(line.get("id"), "id"),
        segments=tuple(_segment(row) for row in a_list(line.get("rows"), "rows")),
        unread=a_count(line.get("unread"), "unread"),
        ports=tuple(_port(row) for row in a_list(line.get("ports", []), "ports")),
    )


def _segment(value: object) -> Segment:
    row = an_object(value)
    kind = a_text(row.get("kind"), "kind")
    if kind not in ("file", "sysv"):
        raise InvalidLine("a segment is of no known kind")
    return Segment(
        kind=kind,
        name=a_text(row.get("name"), "name"),
        id=a_count(row.get("id"), "id"),
        size_bytes=a_count(row.get("size"), "size"),
        uid=a_count(row.get("uid"), "uid"),
        users=tuple(a_count(pid, "a user") for pid in a_list(row.get("users"), "users")),
        is_removed=row.get("removed") is True,
        why_kept=a_text(row.get("why", ""), "why"),
    )


def _port(value: object) -> Port:
    row = a_list(value, "a port")
    if len(row) != 3:
        raise InvalidLine("a port has not 3 items")
    port, listening, ended = (a_count(item, "a port") for item in row)
    return Port(port=port, listening=listening, ended=ended)


def leavings_document(leavings: Leavings) -> dict[str, object]:
    """Return them for JSON and the record."""
    return {
        "segments": [
            {
                "kind": one.kind,
                "name": clean_text(one.name),
                "id": one.id,
                "size_bytes": one.size_bytes,
                "uid": one.uid,
                "users": list(one.users),
                "removed": one.is_removed,
                "why_kept": clean_text(one.why_kept) or None,
            }
            for one in leavings.segments
        ],
        "unread": leavings.unread,
        "ports": [
            {"port": one.port, "listening": one.listening, "ended": one.ended}
            for one in leavings.ports
        ],
    }


def leavings_words(leavings: Leavings, *, was_asked: bool) -> tuple[str, ...]:
    """Return one sentence for each kind of thing that is left; `was_asked` by --shm."""
    said = []
    removed = [one for one in leavings.segments if one.is_removed]
    if removed:
        said.append(f"removed {_sum(removed)}")
    kept = [one for one in leavings.segments if not one.is_removed]
    if kept and was_asked:
        why = kept[0].why_kept or "mapped or open"
        said.append(f"{_sum(kept)} not removed: {why}")
    elif kept:
        said.append(f"{_sum(kept)} left behind: --shm removes what nobody maps")
    for one in leavings.ports:
        if one.listening:
            said.append(f"port {one.port} is taken by somebody else")
        else:
            said.append(f"port {one.port} has {plural(one.ended, 'connection')} that just ended")
    return tuple(said)


def _sum(segments: Iterable[Segment]) -> str:
    found = tuple(segments)
    size = format_memory(sum(one.size_bytes for one in found))
    return f"{plural(len(found), 'shared-memory segment')} ({size})"
