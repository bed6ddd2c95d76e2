"""What stands between GPUs and zero, one line each: what votes, and what does not."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.families import Holder, gpu_processes, unexplained_bytes
from gpudash.core.model import Gpu, GpuState, Host, Link, Owner
from gpudash.core.names import clean_text
from gpudash.core.reasons import why_unproven, why_zero_is_open
from gpudash.core.units import format_duration, format_memory, plural
from gpudash.core.verify import judge_host

MOST_HOLDERS = 12
_OWNERS = {
    Owner.MINE: "yours, alive",
    Owner.LEFTOVER: "yours, leftover",
    Owner.FOREIGN: "alive",
    Owner.UNKNOWN: "not known from here",
}


class Obstacle(NamedTuple):
    """One thing that was looked at."""

    stands: bool | None
    """It stands in the way; False: it does not; None: it can't be told, or does not vote."""
    words: str


def obstacles(
    host: Host, gpus: tuple[Gpu, ...], found: tuple[Holder, ...], now_s: float
) -> tuple[Obstacle, ...]:
    """Return what stands in the way of zero on these GPUs of a host, the worst first.

    What is good counts only as long as the reading does: an old one clears nothing.
    """
    if not gpus:
        return (Obstacle(True, "no GPU is known here: a fault, not zero"), _age(host, now_s))
    found_here = (
        *_holders(found, gpus),
        _explained(gpus),
        _age(host, now_s),
        *_states(gpus),
        _handles(host, gpus),
    )
    if host.link is Link.LIVE:
        return found_here
    return tuple(
        Obstacle(None, f"{one.words}, when last read") if one.stands is False else one
        for one in found_here
    )


def verdict_words(host: Host, gpus: tuple[Gpu, ...]) -> str:
    """Say in a clause what the reading says of these GPUs together."""
    judged = judge_host(host)
    if judged.reason:
        return judged.reason
    keys = {gpu.info.key for gpu in gpus}
    said = [one.reason or one.note for one in judged.gpus if one.gpu.info.key in keys]
    named = [words for words in dict.fromkeys(said) if words]
    if not named:
        return "nothing: memory reads 0"
    return named[0] if len(gpus) == 1 else f"{plural(len([w for w in said if w]), 'GPU')}, not zero"


def _holders(found: tuple[Holder, ...], gpus: tuple[Gpu, ...]) -> list[Obstacle]:
    indices = {gpu.info.index for gpu in gpus}
    listed = dict.fromkeys(pid for gpu in gpus for pid, _ in gpu_processes(gpu))
    lines = []
    for one in found:
        rows = [used for index, used in one.gpu_bytes if index in indices]
        if not rows:
            continue
        known = [used for used in rows if used is not None]
        amount = format_memory(sum(known)) if known else "memory not told"
        here = [pid for pid in listed if pid in one.pids]
        who = f"pid {here[0]}" if len(here) == 1 else plural(len(here), "process", "processes")
        state = "dead" if one.is_dead else _OWNERS[one.owner]
        user = f"{clean_text(one.user, 32)}, " if one.user and one.owner is Owner.FOREIGN else ""
        label = clean_text(one.label.name, 40)
        words = f"{amount}: {one.letter} {label}, {who}, {user}{state}"
        lines.append(Obstacle(True if sum(known) or not known else None, words.replace("  ", " ")))
    more = len(lines) - MOST_HOLDERS
    return [*lines[:MOST_HOLDERS], *([Obstacle(True, f"and {more} more")] if more > 0 else [])]


def _explained(gpus: tuple[Gpu, ...]) -> Obstacle:
    gap = sum(unexplained_bytes(gpu) for gpu in gpus)
    if gap:
        return Obstacle(True, f"{format_memory(gap)} that no listed process explains")
    if any(gpu.reading is None or gpu.reading.used_bytes is None for gpu in gpus):
        return Obstacle(None, "not all memory can be read")
    held = any(gpu_processes(gpu) for gpu in gpus)
    used = any(gpu.reading and gpu.reading.used_bytes for gpu in gpus)
    return Obstacle(False, "all memory explained" if held or used else "memory reads 0")


def _age(host: Host, now_s: float) -> Obstacle:
    if host.received_s is None:
        return Obstacle(True, "nothing was read yet")
    age = format_duration(now_s - host.received_s, tenths=True)
    if host.link is Link.PAUSED:
        return Obstacle(True, f"paused: the reading is {age} old")
    if host.link is not Link.LIVE:
        return Obstacle(True, f"the reading is {age} old and the link is {host.link.value}")
    return Obstacle(False, f"reading is {age} old")


def _states(gpus: tuple[Gpu, ...]) -> list[Obstacle]:
    odd = [gpu for gpu in gpus if gpu.state is not GpuState.READ]
    lines = [Obstacle(True, f"GPU {gpu.info.index}: {why_unproven(gpu)}") for gpu in odd]
    for gpu in gpus:
        if gpu.state is GpuState.READ and gpu.reading and (why := why_zero_is_open(gpu.reading)):
            lines.append(Obstacle(True, f"GPU {gpu.info.index}: {why}"))
    return lines or [Obstacle(False, "no reset pending")]


def _handles(host: Host, gpus: tuple[Gpu, ...]) -> Obstacle:
    if host.scan is None:
        return Obstacle(None, "open handles were not looked at")
    from gpudash.core.attribution import Basis, attributions, handle_words

    indices = {gpu.info.index for gpu in gpus}
    rows = tuple(
        row
        for row in attributions(host)
        if row.basis is Basis.HANDLES and indices & {index for index, _ in row.gpus}
    )
    words = clean_text(handle_words(rows), 300)
    if words:
        return Obstacle(None, f"{words}: blocks a reset, not zero")
    return Obstacle(False, "no handles without memory")
