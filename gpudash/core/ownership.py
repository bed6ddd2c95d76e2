"""Whose the memory of each GPU was, over the last hour: noted only when it becomes another's.

The rings of the history know how much; this knows whose. Before the first note nobody knows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from gpudash.core.families import Key, gpu_processes, holders
from gpudash.core.model import Gpu, Host, Owner

MOST = 400
"""Notes of one GPU; while a model loads there may be one a second."""
ASKED_S = 10
"""So long it takes at most until a host has said who somebody is."""
_COARSE_BITS = 28
"""Amounts count as changed by steps of 256 MiB."""


class Share(NamedTuple):
    """One family on one GPU."""

    family: Key
    owner: Owner
    used_bytes: int


class Note(NamedTuple):
    """From this second on."""

    second: int
    shares: tuple[Share, ...]
    """Most memory first."""


class Ownership:
    """The notes of all GPUs, by host name and GPU key."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, str], deque[Note]] = {}
        self._seen: dict[str, tuple[object, ...]] = {}

    def note(self, host: Host, second: int) -> None:
        """Take down who holds a host's GPUs where that is news."""
        seen = _signature(host)
        before = self._seen.get(host.name)
        if before is not None and _is_same(before, seen):
            return
        self._seen[host.name] = seen
        shares: dict[int, list[Share]] = {}
        ages: dict[int, list[float]] = {}
        for one in holders(host, ()):
            age_s = one.age(one.known_at_s) or 0.0
            for index, used in one.gpu_bytes:
                if used:
                    shares.setdefault(index, []).append(Share(one.key, one.owner, used))
                    ages.setdefault(index, []).append(age_s)
        for gpu in host.gpus:
            index = gpu.info.index
            found = sorted(shares.get(index, ()), key=lambda one: -one.used_bytes)
            note = Note(second, tuple(found))
            self._put(host.name, gpu, note, round(min(ages.get(index, [0.0]))))

    def _put(self, host: str, gpu: Gpu, note: Note, age_s: int) -> None:
        """Add a note; the first that names everybody counts since the youngest of them began.

        Not so for leftovers: since when they are left over nobody saw.
        """
        notes = self._notes.setdefault((host, gpu.info.key), deque(maxlen=MOST))
        if not _is_vague(note):
            note = note._replace(second=_without_vague(notes, note.second))
            is_left = any(one.owner is Owner.LEFTOVER for one in note.shares)
            if not notes and not is_left:
                note = note._replace(second=note.second - age_s)
        if notes and notes[-1].shares == note.shares:
            return
        if notes and notes[-1].second == note.second:
            notes.pop()
        notes.append(note)

    def seed(self, host: str, gpu: str, notes: Iterable[Note]) -> None:
        """Put in what is known of before."""
        self._notes[host, gpu] = deque(notes, maxlen=MOST)

    def notes(self, host: str, gpu: str) -> tuple[Note, ...]:
        """Return the notes of a GPU, oldest first."""
        return tuple(self._notes.get((host, gpu), ()))

    def forget(self, host: str) -> None:
        """Drop all of a host: it rebooted."""
        self._seen.pop(host, None)
        for key in [key for key in self._notes if key[0] == host]:
            del self._notes[key]


def note_at(notes: tuple[Note, ...], second: int) -> Note | None:
    """Return what counted at a second; None where nobody had looked yet."""
    place = bisect_right(notes, second, key=lambda note: note.second)
    return notes[place - 1] if place else None


def _is_vague(note: Note) -> bool:
    return any(one.owner is Owner.UNKNOWN for one in note.shares)


def _without_vague(notes: deque[Note], second: int) -> int:
    """Drop the newest notes that name not everybody yet; return since when another one counts."""
    while notes and _is_vague(notes[-1]) and second - notes[-1].second <= ASKED_S:
        second = notes.pop().second
    return second


def _signature(host: Host) -> tuple[object, ...]:
    listed = tuple(
        tuple((pid, (used or 0) >> _COARSE_BITS) for pid, used in gpu_processes(gpu))
        for gpu in host.gpus
    )
    return host.processes, host.scan, host.kin, host.gone_pids, listed


def _is_same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    """Compare the large ones by identity: the reducer keeps what did not change."""
    return all(one is other for one, other in zip(before[:3], now[:3], strict=True)) and (
        before[3:] == now[3:]
    )
