"""What stands in each row of the holders panel, and where its columns stand."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gpudash.core.families import Holder, pids_are_local, unexplained_bytes
from gpudash.core.model import Fleet, Host, Owner
from gpudash.core.units import plural
from gpudash.ui.paint.claims import BAR_OF, TEXT_OF, has_list
from gpudash.ui.paint.spans import cell_width, outside
from gpudash.ui.paint.tally import is_read

MAP_MOST = 10
_HOST_MOST = 20
_STATES = {"T": "stopped", "t": "stopped", "Z": "main thread ended"}


class HolderRow(NamedTuple):
    """One family, or memory on one host that nobody is listed for."""

    rank: int
    """Where it stands: what is wrong first, someone else's last."""
    letter: str
    text: str
    bar: str
    is_hatched: bool
    name: str
    detail: str
    user: str
    host: str
    gpus: tuple[int, ...]
    """Indices held."""
    roster: tuple[int, ...]
    """All indices of the host."""
    used_bytes: int | None
    is_whole: bool
    """That is all; False where the driver did not say of every GPU."""
    age_s: float | None
    state: str
    is_old: bool
    verb: str = ""
    """What a cleanup would do to it."""
    would: str = ""


def holder_table(fleet: Fleet, found: tuple[Holder, ...], now_s: float) -> tuple[HolderRow, ...]:
    """Return the rows of all hosts, sorted by what is wrong, then by letter."""
    hosts = {host.name: host for host in fleet.hosts}
    table = [_row(one, hosts[one.key[0]], now_s) for one in found]
    table += [row for host in fleet.hosts if (row := _unexplained(host)) is not None]
    order = {host.name: number for number, host in enumerate(fleet.hosts)}
    table.sort(key=lambda row: (row.rank, len(row.letter), row.letter, order[row.host], row.gpus))
    return tuple(table)


def _row(holder: Holder, host: Host, now_s: float) -> HolderRow:
    is_unasked = not holder.letter and holder.user is None
    is_old = not is_read(host)
    used, is_whole = holder.known_bytes
    text = "text-muted" if is_unasked or is_old else TEXT_OF[holder.owner]
    return HolderRow(
        rank=_rank(holder),
        letter=holder.letter,
        text=text,
        bar="stale-bar" if is_unasked or is_old else BAR_OF[holder.owner],
        is_hatched=holder.is_dead,
        name=outside(holder.label.name, 40),
        detail=outside(holder.label.detail, 100),
        user=outside(holder.user or "", 32),
        host=host.name,
        gpus=tuple(index for index, _ in holder.gpu_bytes),
        roster=tuple(gpu.info.index for gpu in host.gpus),
        used_bytes=used if used or is_whole else None,
        is_whole=is_whole,
        age_s=holder.age(now_s),
        state=_state(holder, host),
        is_old=is_old,
        verb=holder.verb,
        would=outside(holder.would, 40),
    )


def _rank(holder: Holder) -> int:
    if holder.is_dead or holder.owner is Owner.LEFTOVER:
        return 0
    if holder.owner is Owner.UNKNOWN:
        return 2
    return 3 if holder.owner is Owner.MINE else 4


def _state(holder: Holder, host: Host) -> str:
    if holder.is_dead:
        heirs = [pid for _, pids in holder.kept for pid in pids]
        return f"kept by {heirs[0]}" if heirs else "still listed"
    if holder.is_hidden:
        return "hidden"
    if holder.user is None:
        return "asking who" if pids_are_local(host) else "no name from here"
    members = [info for info in host.processes if info.pid in holder.pids]
    odd = [_STATES[info.state] for info in members if info.state in _STATES]
    if odd:
        number = f"{len(odd)} " if len(holder.pids) > 1 else ""
        return f"{number}{odd[0]}"
    if len(holder.pids) == 1:
        return f"pid {holder.pids[0]}"
    return plural(len(holder.pids), "process", "processes")


def _unexplained(host: Host) -> HolderRow | None:
    if not is_read(host):
        return None
    gaps = [(gpu.info.index, gap) for gpu in host.gpus if (gap := unexplained_bytes(gpu))]
    if not gaps:
        return None
    readable = all(has_list(gpu.reading) for gpu in host.gpus if unexplained_bytes(gpu))
    return HolderRow(
        rank=1,
        letter="",
        text="unknown",
        bar="unknown-bar",
        is_hatched=True,
        name="unexplained",
        detail=_open_there(host)
        or ("no process found" if readable else "process list not readable"),
        user="",
        host=host.name,
        gpus=tuple(index for index, _ in gaps),
        roster=tuple(gpu.info.index for gpu in host.gpus),
        used_bytes=sum(gap for _, gap in gaps),
        is_whole=True,
        age_s=None,
        state="",
        is_old=False,
    )


def _open_there(host: Host) -> str:
    """Name who has a GPU with unexplained memory open, as far as a scan saw any."""
    if host.scan is None:
        return ""
    from gpudash.core.holders import suspects

    gaps = [gpu for gpu in host.gpus if unexplained_bytes(gpu)]
    pids = sorted({one.pid for gpu in gaps for one in suspects(host, gpu)})
    return f"open by pid {', '.join(map(str, pids[:3]))}" if pids else ""


class HolderColumns(NamedTuple):
    """Widths of the panel's columns; 0 where one is dropped."""

    who: int
    user: int
    host: int
    gpus: int
    memory: int
    since: int
    """19 with the time of day, 8 without."""
    state: int


@lru_cache(maxsize=64)
def holder_columns(width: int, host_width: int, gpu_width: int) -> HolderColumns:
    """Return the columns; `host_width` is 0 on a single host, `gpu_width` that of the map."""
    inner = width - 2
    # Where several hosts leave little room, who and where come before how many.
    state = 22 if width >= 120 else 15 if width >= (100 if host_width else 72) else 0
    since = 19 if width >= 120 else 7
    memory = 10 if width >= 100 else 6
    user = 8 if width >= 120 else 6 if width >= 60 else 0
    if host_width and width < 120:
        # Where is more than whose: the letter's colour says whose.
        user = 0
    host = host_width + 2 if host_width else 0
    # Swatch and letter before; blanks: 1 after the map, 3 before since, 2 before the state.
    fixed = 5 + user + host + gpu_width + 1 + memory + (2 if since == 19 else 1) + since
    fixed += state + 2 if state else 1
    who = max(0, min(inner - fixed, 56))
    state += max(0, inner - fixed - who) if state else 0
    return HolderColumns(who, user, host, gpu_width, memory, since, state)


def map_width(table: tuple[HolderRow, ...]) -> int:
    """Return the width of the GPU map: one cell a GPU, at least 8."""
    return max([8, *(len(row.roster) for row in table if len(row.roster) <= MAP_MOST)])


def host_width(table: tuple[HolderRow, ...]) -> int:
    """Return the width of the host column."""
    longest = max((cell_width(outside(row.host, 64)) for row in table), default=4)
    return max(4, min(longest, _HOST_MOST))
