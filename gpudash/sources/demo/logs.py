"""What simulated programs write into their logs: our own made text in the shape of the real one.

A script says when and who; writing it out is a pure function of the launch and of demo time, so a
log can be read from any place at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

RANKS = 8
LATE_RANK = 5
_BAR_STEP_S = 0.9
_GRAPH_SIZES = (160, 144, 128, 112, 96, 80, 64, 56, 48, 40, 32, 24, 16, 12, 8, 4, 2, 1)
_STEP_S = 3.05


class Written(NamedTuple):
    """One piece of a log and when it is there, in seconds since the launch."""

    at_s: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One log. `unix_s` is the wall clock at its launch, `pid` who writes it."""

    name: str
    pid: int
    unix_s: float

    def written(self) -> tuple[Written, ...]:
        """Return the whole log in order."""
        return _written(self.name, self.pid, self.unix_s)

    def text(self, after_s: float) -> bytes:
        """Return what is in the log so long after the launch."""
        return b"".join(one.data for one in self.written() if one.at_s <= after_s)

    def due_s(self, after_s: float) -> float | None:
        """Return when more is written; None for never."""
        return next((one.at_s for one in self.written() if one.at_s > after_s), None)

    @property
    def last_s(self) -> float:
        """Return when its last line is written."""
        return self.written()[-1].at_s


@lru_cache(maxsize=16)
def _written(name: str, pid: int, unix_s: float) -> tuple[Written, ...]:
    text = resources.files("gpudash.sources.demo").joinpath(f"logs/{name}.txt").read_text("utf-8")
    pieces: list[tuple[float, str]] = []
    for line in text.splitlines():
        if not line.startswith("#") and line:
            when, who, said = line.split("\t", 2)
            pieces += _pieces(when, who, said, unix_s)
    pieces.sort(key=lambda one: one[0])
    # A bar has no end of line; whoever writes next ends it.
    written, is_open = [], False
    for at_s, piece in pieces:
        if is_open and not piece.startswith("\r"):
            piece = "\n" + piece
        is_open = not piece.endswith("\n")
        filled = _filled(piece, pid, unix_s + at_s)
        written.append(Written(at_s, filled.encode()))
    return tuple(written)


def _filled(piece: str, pid: int, unix_s: float) -> str:
    stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(unix_s)) + ".603780 140446678845248"
    piece = piece.replace("{pid}", str(pid)).replace("{torch}", stamp)
    for rank in range(RANKS):
        piece = piece.replace(f"{{rank{rank}}}", str(pid + 111 + rank))
    return piece


def _pieces(when: str, who: str, said: str, unix_s: float) -> Iterator[tuple[float, str]]:
    start, _, stop = when.partition("-")
    begin_s = float(start)
    if stop:
        kind, count = who.split()
        count, _, until = count.partition("/")
        yield from _bar(kind, int(count), said, begin_s, float(stop), int(until or 0))
        return
    if who == "-":
        yield begin_s, f"{said}\n"
        return
    if who.startswith("TP*"):
        late_s = float(who.partition("+")[2] or 0)
        for rank in range(RANKS):
            at_s = begin_s + 0.04 * (rank * 3 % RANKS) + (late_s if rank == LATE_RANK else 0)
            yield at_s, f"[{_clock(unix_s + at_s)} TP{rank}] {said}\n"
        return
    rank_words = "" if who == "." else f" {who}"
    yield begin_s, f"[{_clock(unix_s + begin_s)}{rank_words}] {said}\n"


def _clock(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(unix_s))


def _bar(
    kind: str, count: int, said: str, begin_s: float, end_s: float, until: int
) -> Iterator[tuple[float, str]]:
    if kind == "graphs":
        yield from _graphs(count, float(said), begin_s, end_s, until)
        return
    length_s = end_s - begin_s
    step_s = _STEP_S if kind == "steps" else max(_BAR_STEP_S, length_s / 60)
    looks = max(1, round(length_s / step_s))
    yield begin_s, _state(kind, said, 0, count, 0.0)
    seen = 0
    for look in range(1, looks + 1):
        done = look if kind == "steps" else round(count * look / looks)
        if done > seen:
            seen = min(done, count)
            spent_s = length_s * look / looks
            yield begin_s + spent_s, _state(kind, said, seen, count, spent_s)


def _state(kind: str, said: str, done: int, count: int, spent_s: float) -> str:
    percent = 100 * done // count
    spent, left = _short(spent_s), _short(spent_s * (count - done) / done) if done else "?"
    pace = f"{spent_s / done:.2f}s/it" if done else "?it/s"
    if kind == "bar":
        times = f"[{spent}<{left}, {pace}]"
        return f"{said}: {percent:3d}% Completed | {done}/{count} {times}" + "\n"
    blocks = "█" * (percent // 10) + " " * (10 - percent // 10)
    head = f"{said}: " if said else ""
    tail = f"| {done}/{count} [{spent}<{left}, {pace}]"
    return f"\r{head}{percent:3d}%|{blocks}{tail}"


def _graphs(
    largest: int, free_gb: float, begin_s: float, end_s: float, until: int
) -> Iterator[tuple[float, str]]:
    sizes = [size for size in _GRAPH_SIZES if size <= largest]
    for done in range((until or len(sizes)) + 1):
        spent_s = (end_s - begin_s) * done / len(sizes)
        size = sizes[min(done, len(sizes) - 1)]
        left = _short((end_s - begin_s) - spent_s)
        percent = 100 * done // len(sizes)
        blocks = "█" * (percent // 10) + " " * (10 - percent // 10)
        pace = f"{(end_s - begin_s) / len(sizes):.2f}s/it"
        head = f"\rCapturing batches (bs={size} avail_mem={free_gb - 0.05 * done:.2f} GB)"
        times = f"[{_short(spent_s)}<{left}, {pace}]"
        yield begin_s + spent_s, f"{head}: {percent:3d}%|{blocks}| {done}/{len(sizes)} {times}"


def _short(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
