"""Who claims the memory of one GPU, ready to be drawn: letters, colours, words.

Colour says who: yours, someone else's, unknown. Dead and unexplained are hatched, so that they
show without colour.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gpudash.core.families import Holder, gpu_processes, heirs_of, unexplained_bytes
from gpudash.core.model import Ancestor, Gpu, GpuReading, Host, MigReading, Owner, ProcessInfo
from gpudash.core.names import Label, process_label
from gpudash.core.units import format_memory
from gpudash.ui.paint.bars import Part
from gpudash.ui.paint.spans import outside

TEXT_OF = {
    Owner.MINE: "alive",
    Owner.LEFTOVER: "leftover",
    Owner.FOREIGN: "foreign",
    Owner.UNKNOWN: "unknown",
}
NO_MEMORY = "no memory"
BAR_OF = {
    Owner.MINE: "alive-bar",
    Owner.LEFTOVER: "leftover-bar",
    Owner.FOREIGN: "foreign-bar",
    Owner.UNKNOWN: "unknown-bar",
}


class Claim(NamedTuple):
    """One family on one GPU, or memory that nobody is listed for."""

    letter: str
    text: str
    """Theme variable of letter and words."""
    bar: str
    is_hatched: bool
    used_bytes: int | None
    name: str
    detail: str
    user: str
    pids: tuple[int, ...]
    age_s: float | None
    is_foreign: bool
    is_family: bool
    """False: unexplained memory."""
    is_dead: bool
    keeper: str = ""
    """Who keeps a dead pid's memory, as a clause; empty where nobody was found."""
    has_ended: bool = False
    """One of its processes here is no more than an entry: the main thread ended."""


class Book:
    """A host's holders and processes by pid: built once for each state of the host."""

    def __init__(self, host: Host, holders: tuple[Holder, ...]) -> None:
        self.holder_of: dict[int, Holder] = {
            pid: holder for holder in holders for pid in holder.pids
        }
        self._info_of: dict[int, ProcessInfo] = {info.pid: info for info in host.processes}
        self._host = host

    def claims(self, gpu: Gpu, now_s: float) -> tuple[Claim, ...]:
        """Return who is on a GPU, most memory first, unexplained memory last."""
        found = self._families(gpu_processes(gpu), now_s)
        gap = unexplained_bytes(gpu)
        if gap:
            found.append(unexplained(gap, is_listed=has_list(gpu.reading)))
        return tuple(found)

    def slice_claims(self, slice_: MigReading, now_s: float) -> tuple[Claim, ...]:
        """Return who is on one MIG slice."""
        listed = [(one.pid, one.used_bytes) for one in slice_.processes or ()]
        found = self._families(tuple(listed), now_s)
        if slice_.used_bytes and not found:
            is_listed = slice_.processes is not None
            found.append(unexplained(slice_.used_bytes, is_listed=is_listed))
        return tuple(found)

    def _families(self, listed: tuple[tuple[int, int | None], ...], now_s: float) -> list[Claim]:
        members: dict[object, list[tuple[int, int | None]]] = {}
        for pid, used in listed:
            holder = self.holder_of.get(pid)
            members.setdefault(holder.key if holder else pid, []).append((pid, used))
        claims = [self._claim(rows, now_s) for rows in members.values()]
        if len(claims) > 1:
            claims.sort(key=lambda claim: -(claim.used_bytes or 0))
            claims = _told_apart(claims)
        return claims

    def _claim(self, rows: list[tuple[int, int | None]], now_s: float) -> Claim:
        pids = tuple(pid for pid, _ in rows)
        known = [used for _, used in rows if used is not None]
        used = sum(known) if known else None
        holder = self.holder_of.get(pids[0])
        info = self._info_of.get(pids[0])
        if holder is None or (not holder.letter and info is None):
            return _unasked(pids, used)
        name, detail = _words(holder, info)
        kept = [pid for pid, _ in holder.kept if pid in pids]
        is_dead = holder.is_dead or len(kept) == len(pids)
        if is_dead:
            name, detail = f"pid {pids[0]}", ""
        has_ended = any(pid in self._info_of and self._info_of[pid].has_ended for pid in pids)
        if has_ended:
            detail = "main thread ended"
        elif used == 0:
            detail = NO_MEMORY
        return Claim(
            letter=holder.letter,
            text=TEXT_OF[holder.owner],
            bar=BAR_OF[holder.owner],
            is_hatched=is_dead,
            used_bytes=used,
            name=name,
            detail=detail,
            user=outside(holder.user or "", 32),
            pids=pids,
            age_s=info.age(now_s) if info else holder.age(now_s),
            is_foreign=holder.owner is Owner.FOREIGN,
            is_family=True,
            is_dead=is_dead,
            keeper=self._keeper(kept[0]) if kept else "",
            has_ended=has_ended,
        )

    def _keeper(self, pid: int) -> str:
        from gpudash.core.attribution import keeper_words

        return keeper_words(self._host, pid, heirs_of(self._host, pid))


def _unasked(pids: tuple[int, ...], used: int | None) -> Claim:
    """Describe a listed pid that the host was not asked about yet: grey, not amber."""
    name = f"pid {pids[0]}"
    return Claim(
        "", "text-muted", "stale-bar", False, used, name, "", "", pids, None, False, True, False
    )


def unexplained(used: int, *, is_listed: bool) -> Claim:
    """Describe memory that no listed process accounts for."""
    detail = "no process found" if is_listed else "the process list can't be read"
    words = f"{format_memory(used)} unexplained" if is_listed else "holder not readable"
    return Claim(
        "", "unknown", "unknown-bar", True, used, words, detail, "", (), None, False, False, False
    )


def has_list(reading: GpuReading | None) -> bool:
    """Tell whether the driver said who is on a GPU, be it nobody."""
    return reading is not None and (
        reading.processes is not None or any(one.processes is not None for one in reading.mig)
    )


def _words(holder: Holder, info: ProcessInfo | None) -> tuple[str, str]:
    """Name a process as a member of its family: `sglang` + `scheduler TP0`."""
    name, detail = holder.label.name, holder.label.detail
    if info is not None and len(holder.pids) > 1:
        own = _own_label(info.argv, info.comm)
        same = own.name == name
        detail = own.detail if same else " ".join(word for word in (own.name, own.detail) if word)
    return outside(name, 40), outside(detail, 80)


@lru_cache(maxsize=4096)
def _own_label(argv: tuple[str, ...], comm: str) -> Label:
    return process_label(Ancestor(pid=0, start_ticks=0, uid=0, comm=comm, argv=argv))


def _told_apart(claims: list[Claim]) -> list[Claim]:
    """Give the second family of yours on a GPU the second blue."""
    seen = False
    for position, claim in enumerate(claims):
        if claim.bar == "alive-bar":
            if seen:
                claims[position] = claim._replace(bar="alive-bar-2")
            seen = not seen
    return claims


def parts_of(claims: tuple[Claim, ...], used: int | None) -> tuple[Part, ...]:
    """Return the bar's parts; where no size is known, the first is drawn as holding all."""
    sized = [one for one in claims if one.used_bytes]
    if claims and len(sized) < 2 and used:
        one = sized[0] if sized else claims[0]
        return ((one.bar, one.is_hatched, used),)
    return tuple((one.bar, one.is_hatched, one.used_bytes or 0) for one in sized)
