"""What is worth a line in `what happened`, from two states of one host."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.families import Holder, Key, family_key, holders, listed_pids
from gpudash.core.model import Gpu, GpuState, Happening, Host, Link, Owner
from gpudash.core.units import format_duration, index_list


def noticed(
    before: Host,
    after: Host,
    letters: tuple[tuple[Key, str], ...],
    at_s: float,
    *,
    has_new_families: bool,
) -> tuple[Happening, ...]:
    """Return what happened between two states of a host, newest first."""
    news: list[Happening] = []
    news += _link_news(before, after, at_s)
    if before.gpus is not after.gpus:
        news += _gpu_news(before, after, at_s)
    if has_new_families:
        news += _family_news(before, after, dict(letters), at_s)
    return tuple(reversed(news))


def _link_news(before: Host, after: Host, at_s: float) -> list[Happening]:
    if before.link is after.link:
        return _release_news(before, after, at_s)
    silent_s = at_s - before.link_since_s
    was_read = before.samples > 0
    match after.link:
        case Link.STALE if was_read:
            return [_line(after, at_s, "is silent: no line for three intervals", tone="warn")]
        case Link.HUNG:
            return [_line(after, at_s, "the driver hangs", tone="bad")]
        case Link.DOWN if after.problem and not _same_trouble(before, after):
            return [_line(after, at_s, after.problem.title, tone="bad")]
        case Link.PAUSED:
            return [_line(after, at_s, "paused", tone="warn")]
        case Link.LIVE if was_read and before.link is not Link.CONNECTING:
            words = f"answers again, after {format_duration(silent_s)}"
            return [_line(after, at_s, words, tone="good")]
        case Link.LIVE if was_read:
            return [_line(after, at_s, "is read again", tone="good")]
        case _:
            return []


def _release_news(before: Host, after: Host, at_s: float) -> list[Happening]:
    if after.link is not Link.PAUSED or after.problem is None or before.problem == after.problem:
        return []
    return [_line(after, at_s, after.problem.title, tone="warn")]


def _same_trouble(before: Host, after: Host) -> bool:
    return before.retry > 0 and before.problem is not None and before.problem == after.problem


def _line(host: Host, at_s: float, words: str, *, tone: str = "") -> Happening:
    return Happening(at_s=at_s, host=host.name, words=words, tone=tone)


def _gpu_news(before: Host, after: Host, at_s: float) -> list[Happening]:
    known = {gpu.info.key: gpu for gpu in before.gpus}
    news: list[Happening] = []
    for gpu in after.gpus:
        old = known.get(gpu.info.key)
        if old is not None:
            news += _one_gpu_news(old, gpu, after, at_s)
    return news


_STATE_WORDS = {
    GpuState.LOST: "lost: the driver says it fell off the bus",
    GpuState.NEEDS_RESET: "needs a reset",
    GpuState.NEEDS_ATTENTION: "the driver recommends a recovery action",
    GpuState.MISSING: "was here and is gone",
    GpuState.UNREADABLE: "its memory can't be read any more",
}


def _one_gpu_news(old: Gpu, new: Gpu, host: Host, at_s: float) -> list[Happening]:
    name = f"GPU {new.info.index}"
    if old.state is not new.state and GpuState.UNREAD not in (old.state, new.state):
        words = _STATE_WORDS.get(new.state)
        if words:
            return [_line(host, at_s, f"{name}  {words}", tone="bad")]
        return [_line(host, at_s, f"{name}  is read again", tone="good")]
    return []


def _family_news(
    before: Host, after: Host, letters: dict[Key, str], at_s: float
) -> list[Happening]:
    old = {holder.key: holder for holder in holders(before, ())}
    news = [
        _departure(holder, after.name, at_s)
        for holder in old.values()
        if not after.listed.intersection(holder.pids)
    ]
    if before.samples == 0:
        return news
    for holder in holders(after, tuple(letters.items())):
        if holder.letter and holder.key not in old and not _was_named(before, holder.pids):
            news.append(_arrival(holder, after.name, at_s))
    return news


def _departure(holder: Holder, host: str, at_s: float) -> Happening:
    what = f", {_gpus(holder)} given back" if holder.has_memory else f" from {_gpus(holder)}"
    words = f"{holder.label.name} is gone{what}"
    return Happening(at_s=at_s, host=host, words=words, owner=holder.owner)


def _arrival(holder: Holder, host: str, at_s: float) -> Happening:
    who = f"{holder.user}'s " if holder.owner is Owner.FOREIGN and holder.user else ""
    words = f"{who}{holder.label.name} is on {_gpus(holder)}"
    if holder.is_dead and holder.kept:
        words = f"{holder.label.name} keeps memory of a dead pid on {_gpus(holder)}"
    elif holder.is_dead:
        words = f"{holder.label.name} is dead and still listed on {_gpus(holder)}"
    return Happening(at_s=at_s, host=host, words=words, letter=holder.letter, owner=holder.owner)


def _gpus(holder: Holder) -> str:
    indices = [index for index, _ in holder.gpu_bytes]
    return f"GPU{'s' if len(indices) > 1 else ''} {index_list(indices)}"


def _was_named(host: Host, pids: tuple[int, ...]) -> bool:
    return any(family_key(host, pid)[2] for pid in pids)


def retold(
    past: tuple[Happening, ...],
    host: Host,
    *,
    before_letters: tuple[tuple[Key, str], ...],
    letters: tuple[tuple[Key, str], ...],
) -> tuple[Happening, ...]:
    """Return what happened on a host with the letters that its families have now."""
    old = {key: letter for key, letter in before_letters if key[0] == host.name}
    new = dict(letters)
    by_pid = {pid: new.get(family_key(host, pid), "") for pid in listed_pids(host)}
    renamed = {letter: new.get(key) or by_pid.get(key[1], "") for key, letter in old.items()}
    return tuple(
        replace(one, letter=renamed.get(one.letter, one.letter))
        if one.host == host.name and one.letter
        else one
        for one in past
    )
