"""Looks at the processes of families, one after the other: who is there, at work, and gone.

A look names every living process below the asked pids. Who was in a family at one look and is not
there at the next has ended; CPU in use is what the kernel counted between two looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpudash.core.families import Key, Letters, holders
from gpudash.core.holding import Process, is_probe
from gpudash.core.listed import pids_are_local
from gpudash.core.members import Identity, Member, member_of
from gpudash.core.model import Host

TICKS_A_SECOND = 100
"""USER_HZ of every Linux that NVIDIA's driver runs on."""
MOST_ENDED = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Kindred:
    """One look at the processes of families."""

    id: int
    """Of the command."""
    host_monotonic_s: float
    processes: tuple[Process, ...]


@dataclass(frozen=True, slots=True)
class Roll:
    """What the looks so far have shown."""

    at_s: float = float("-inf")
    """Viewer's clock, of the newest look."""
    members: Mapping[int, Member] = field(default_factory=dict)
    """Living, by pid."""
    ticks: Mapping[Identity, tuple[float, int]] = field(default_factory=dict)
    """When, on the host's clock, how much CPU each had used."""
    family_of: Mapping[Identity, Key] = field(default_factory=dict)
    ended: Mapping[Key, tuple[Member, ...]] = field(default_factory=dict)

    def over(self, scanned: Mapping[int, Member], scanned_s: float) -> Mapping[int, Member]:
        """Return what is known of processes: the newer of both looks counts."""
        if scanned_s > self.at_s:
            return {**self.members, **scanned}
        return {**scanned, **self.members}


def roots_of(host: Host, letters: Letters) -> dict[int, Key]:
    """Return the pids below which families hang, and those that hold memory, with their family."""
    found: dict[int, Key] = {}
    if not pids_are_local(host):
        return found  # the same numbers are other processes here
    for one in holders(host, letters):
        kept = [pid for _, pids in one.kept for pid in pids]
        for pid in (one.key[1], *one.pids, *kept):
            found.setdefault(pid, one.key)
    return found


def looked(before: Roll, look: Kindred, families: Mapping[int, Key], at_s: float) -> Roll:
    """Return what is known after one more look."""
    members: dict[int, Member] = {}
    ticks: dict[Identity, tuple[float, int]] = {}
    for process in look.processes:
        if is_probe(process):
            continue  # who watches is no member, even where a family started it
        identity = process.pid, process.identity.start_ticks
        ticks[identity] = (look.host_monotonic_s, process.cpu_ticks)
        share = _share(before.ticks.get(identity), ticks[identity])
        members[process.pid] = member_of(process, at_s, cpu_share=share)
    parents = {one.pid: one.parent for one in members.values()}
    family_of = {
        one.identity: key
        for one in members.values()
        if (key := _family(one.pid, parents, families)) is not None
    }
    ended = _ended(before, members, set(families.values()), family_of, at_s)
    return Roll(at_s, members, ticks, family_of, ended)


def _share(before: tuple[float, int] | None, now: tuple[float, int]) -> float | None:
    if before is None or now[0] - before[0] < 0.2:
        return None
    return max(0, now[1] - before[1]) / TICKS_A_SECOND / (now[0] - before[0])


def _family(pid: int, parents: Mapping[int, int], families: Mapping[int, Key]) -> Key | None:
    seen: set[int] = set()
    step: int | None = pid
    while step is not None and step not in seen:
        if step in families:
            return families[step]
        seen.add(step)
        step = parents.get(step)
    return None


def _ended(
    before: Roll,
    members: Mapping[int, Member],
    present: set[Key],
    family_of: Mapping[Identity, Key],
    at_s: float,
) -> Mapping[Key, tuple[Member, ...]]:
    """Add who was there before; families that nobody is left of are forgotten.

    A family whose root ended goes by another key: its former members tell which.
    """
    alive = {one.identity for one in members.values()}
    now = {key: key for key in present}
    for identity, key in before.family_of.items():
        if identity in family_of:
            now.setdefault(key, family_of[identity])
    ended: dict[Key, list[Member]] = {}
    for key, past in before.ended.items():
        if key in now:
            ended.setdefault(now[key], []).extend(past)
    for one in before.members.values():
        old = before.family_of.get(one.identity)
        if old is not None and old in now and one.identity not in alive:
            ended.setdefault(now[old], []).append(replace(one, ended_s=at_s))
    return {key: tuple(past[-MOST_ENDED:]) for key, past in ended.items()}
