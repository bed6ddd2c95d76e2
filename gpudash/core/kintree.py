"""The processes behind a host's or a GPU's memory, as trees: who started whom, and what each has.

A family stands under its own line. Who ended while somebody watched stays there, as dead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gpudash.core.families import Holder
from gpudash.core.listed import gpu_processes
from gpudash.core.members import Member, members
from gpudash.core.model import Host, Owner
from gpudash.core.names import clean_text

Number = TypeVar("Number", int, float)
MOST_ROWS = 400
Lasts = tuple[bool, ...]
"""For each step down to a row, whether it is the last of its siblings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """One line: a family, or a process in it."""

    letter: str
    owner: Owner
    is_family: bool
    name: str
    pid: int | None
    """None for the line of a family of several."""
    start_ticks: int = 0
    user: str = ""
    gpu_bytes: tuple[tuple[int, int | None], ...] = ()
    """Index and memory on each GPU; None where the driver does not say."""
    state: str = ""
    age_s: float | None = None
    command: str = ""
    rss_bytes: int | None = None
    cpu_share: float | None = None
    threads: int | None = None
    handles: int | None = None
    room: str = ""
    is_dead: bool = False
    lasts: Lasts = ()

    def bytes_on(self, index: int | None) -> tuple[int | None, bool]:
        """Return what it holds on a GPU, or on all, and whether it is on any of them."""
        rows = [used for one, used in self.gpu_bytes if index in (None, one)]
        known = [used for used in rows if used is not None]
        return (sum(known) if known else None), bool(rows)


def tree_rows(
    host: Host,
    found: Iterable[Holder],
    known: Mapping[int, Member],
    ended: Mapping[tuple[str, int, int], tuple[Member, ...]],
    *,
    gpu: int | None,
    now_s: float,
) -> tuple[TreeRow, ...]:
    """Return the rows of all families on a GPU, or on the host, in the order of their letters.

    `ended` has, by family, those who were seen alive and are no more.
    """
    used = memory_of(host)
    chosen = [
        one for one in found if gpu is None or any(gpu == index for index, _ in one.gpu_bytes)
    ]
    chosen.sort(key=lambda one: (len(one.letter), one.letter, one.key))
    rows: list[TreeRow] = []
    for holder in chosen:
        alive = members(host, holder, known)
        gone = [one for one in ended.get(holder.key, ()) if one.pid not in {a.pid for a in alive}]
        rows += _family(holder, alive, gone, used, now_s)
    return tuple(rows[:MOST_ROWS])


def memory_of(host: Host) -> dict[int, dict[int, int | None]]:
    """Return what the driver lists: by pid, by index of the GPU."""
    used: dict[int, dict[int, int | None]] = {}
    for gpu in host.gpus:
        for pid, amount in gpu_processes(gpu):
            used.setdefault(pid, {})[gpu.info.index] = amount
    return used


def _family(
    holder: Holder,
    alive: tuple[Member, ...],
    gone: list[Member],
    used: dict[int, dict[int, int | None]],
    now_s: float,
) -> list[TreeRow]:
    listed = {one.pid for one in (*alive, *gone)}
    gone = [*gone, *(_unnamed(pid, now_s) for pid in holder.pids if pid not in listed)]
    head = TreeRow(
        letter=holder.letter,
        owner=holder.owner,
        is_family=True,
        name=clean_text(f"{holder.label.name} {holder.label.detail}", 120).strip(),
        pid=None,
        user=clean_text(holder.user or "", 32),
        gpu_bytes=holder.gpu_bytes,
        state=_family_state(holder),
        age_s=holder.age(now_s),
        command=_headline(alive, holder),
        room=next((one.room for one in alive if one.room), ""),
        rss_bytes=_sum([one.rss_bytes for one in alive]),
        cpu_share=_sum([one.cpu_share for one in alive]),
        threads=_sum([one.threads for one in alive]),
        handles=_sum([one.handles for one in alive]),
        is_dead=holder.is_dead,
    )
    kept = dict(holder.kept)
    below = _nested([*alive, *gone])
    if len(below) == 1 and alive:
        only = _row(holder, below[0][0], (), used, kept, now_s)
        return [replace(only, is_family=True, name=head.name, state=head.state)]
    return [head, *(_row(holder, one, lasts, used, kept, now_s) for one, lasts in below)]


def _unnamed(pid: int, now_s: float) -> Member:
    """Stand in for a pid that the driver lists and nobody can name any more."""
    return Member(
        pid=pid,
        start_ticks=0,
        parent=0,
        name="",
        user="",
        state="",
        age_s=None,
        known_at_s=now_s,
        command="",
    )


def _row(
    holder: Holder,
    one: Member,
    lasts: Lasts,
    used: dict[int, dict[int, int | None]],
    kept: dict[int, tuple[int, ...]],
    now_s: float,
) -> TreeRow:
    is_dead = one.ended_s is not None or (not one.name and holder.user is not None)
    is_dead = is_dead or one.pid in kept or (holder.is_dead and one.pid in holder.pids)
    age = None if one.age_s is None else one.age_s + max(0.0, now_s - one.known_at_s)
    return TreeRow(
        letter=holder.letter,
        owner=holder.owner,
        is_family=False,
        name=_name(one, is_dead=is_dead),
        pid=one.pid,
        start_ticks=one.start_ticks,
        user=one.user,
        gpu_bytes=tuple(sorted(used.get(one.pid, {}).items())),
        state=_state(holder, one, kept, is_dead=is_dead),
        age_s=now_s - one.ended_s if one.ended_s is not None else None if is_dead else age,
        command=_remark(one, kept) or one.command,
        rss_bytes=None if is_dead else one.rss_bytes,
        cpu_share=None if is_dead else one.cpu_share,
        threads=None if is_dead else one.threads,
        handles=None if is_dead else one.handles,
        room=one.room,
        is_dead=is_dead,
        lasts=lasts,
    )


def _name(one: Member, *, is_dead: bool) -> str:
    if is_dead:
        return f"{one.name}, gone" if one.name else "gone"
    return one.name or f"pid {one.pid}"


def _remark(one: Member, kept: dict[int, tuple[int, ...]]) -> str:
    """Say who keeps the memory of a dead one."""
    heirs = kept.get(one.pid, ())
    return f"memory kept by {', '.join(map(str, heirs[:3]))}" if heirs else ""


def _nested(every: list[Member]) -> list[tuple[Member, Lasts]]:
    """Order processes as a tree: parents before children, siblings by pid."""
    here = {one.pid: one for one in every}
    below: dict[int, list[Member]] = {}
    tops: list[Member] = []
    for one in sorted(every, key=lambda one: one.pid):
        is_top = one.parent not in here or one.parent == one.pid
        (tops if is_top else below.setdefault(one.parent, [])).append(one)
    rows: list[tuple[Member, Lasts]] = []
    todo: list[tuple[Member, Lasts]] = []
    for place, one in enumerate(tops):
        todo.insert(0, (one, (place == len(tops) - 1,)))
    while todo:
        one, lasts = todo.pop()
        rows.append((one, lasts))
        children = below.pop(one.pid, [])
        steps = [
            (child, (*lasts, place == len(children) - 1)) for place, child in enumerate(children)
        ]
        todo += steps[::-1]
    return rows


_STATES = {"T": "stopped", "t": "traced", "Z": "main ended", "D": "in the kernel"}


def _state(holder: Holder, one: Member, kept: dict[int, tuple[int, ...]], *, is_dead: bool) -> str:
    if is_dead:
        return "dead"
    if one.pid in {pid for pids in kept.values() for pid in pids}:
        return "holds on"
    if one.state in _STATES:
        return _STATES[one.state]
    if not one.name:
        return "hidden" if holder.is_hidden else "not known"
    if holder.owner is Owner.LEFTOVER and one.parent in (0, 1):
        return "orphan"
    return "alive"


def _family_state(holder: Holder) -> str:
    if holder.owner is Owner.LEFTOVER:
        return "leftover"
    if holder.is_dead:
        return "dead"
    if holder.is_hidden:
        return "hidden"
    return "alive" if holder.user is not None else "not known"


def _headline(alive: tuple[Member, ...], holder: Holder) -> str:
    root = next((one for one in alive if one.pid == holder.key[1]), None)
    return root.command if root else ""


def _sum(values: Sequence[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known, start=type(known[0])()) if known else None
