"""What a query says of one GPU: it matches, it does not, or that is not known.

What is not known matches neither a comparison nor its opposite: only what is known to match is
shown. `state=unknown` finds the rest.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from gpudash.core.families import Holder, unexplained_bytes
from gpudash.core.model import Gpu, GpuState, Host, Link, Owner
from gpudash.core.query.language import All, Compared, Not, Query, Same, Some, Word
from gpudash.core.verify import GpuVerdict, HostVerdict, Verdict

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_GONE = (GpuState.LOST, GpuState.MISSING)
_OWN = (Owner.MINE, Owner.LEFTOVER)
ME = "me"


class Subject(NamedTuple):
    """A GPU, or a host without any; and who holds what on it."""

    host: Host
    gpu: Gpu | None
    judged: GpuVerdict | None
    holders: tuple[Holder, ...]
    """With memory on this GPU, or a handle; of its host."""
    now_s: float

    @property
    def is_listed(self) -> bool:
        """Tell whether it is known who is on it: an unread list may hide anybody."""
        gpu = self.gpu
        if gpu is None or gpu.reading is None or gpu.state in _GONE:
            return False
        lists = [one.processes for one in gpu.reading.mig] or [gpu.reading.processes]
        return None not in lists and not gpu.reading.hidden_processes


def subjects(judged: HostVerdict, holders: tuple[Holder, ...], now_s: float) -> tuple[Subject, ...]:
    """Return one subject for each GPU of a host, in roster order; one without GPU where none is."""
    host = judged.host
    if not host.gpus:
        return (Subject(host, None, None, (), now_s),)
    return tuple(
        Subject(
            host,
            one.gpu,
            one,
            tuple(h for h in holders if any(i == one.gpu.info.index for i, _ in h.gpu_bytes)),
            now_s,
        )
        for one in judged.gpus
    )


def matches(query: Query, subject: Subject) -> bool | None:
    """Tell whether a query matches; None where that is not known."""
    match query:
        case Word():
            return _word(query.text, subject)
        case Same():
            found = _state(query.text, subject) if query.field == "state" else _text(query, subject)
            return found if query.is_equal or found is None else not found
        case Compared():
            return _number(query, subject)
        case Not():
            inner = matches(query.query, subject)
            return None if inner is None else not inner
        case All():
            return _every(matches(part, subject) for part in query.parts)
        case Some():
            inverse = (matches(part, subject) for part in query.parts)
            none = _every(None if one is None else not one for one in inverse)
            return None if none is None else not none


def _every(answers: Iterable[bool | None]) -> bool | None:
    result: bool | None = True
    for one in answers:
        if one is False:
            return False
        if one is None:
            result = None
    return result


def _any(found: bool, subject: Subject) -> bool | None:
    """Return what was found; nothing found among those who are not all known is not known."""
    return True if found else (False if subject.is_listed else None)


@lru_cache(maxsize=256)
def _pattern(text: str, *, is_whole: bool) -> re.Pattern[str]:
    """Return a glob without regard to case; a word without `*` and `?` may stand anywhere."""
    has_glob = any(char in text for char in "*?")
    body = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in text)
    body = rf"(?s:{body})\Z" if has_glob or is_whole else f"(?s:{body})"
    return re.compile(body, re.IGNORECASE)


def _fits(text: str, names: Iterable[str | None], *, is_whole: bool) -> bool:
    has_anchor = is_whole or any(char in text for char in "*?")
    pattern = _pattern(text, is_whole=is_whole)
    look = pattern.match if has_anchor else pattern.search
    return any(name is not None and look(name) is not None for name in names)


def _host_names(host: Host) -> tuple[str, ...]:
    return (host.name, host.name.rpartition("@")[2])


def _labels(holder: Holder) -> tuple[str, ...]:
    label = holder.label
    return (label.name, label.detail, f"{label.name} {label.detail}".strip())


def _word(text: str, subject: Subject) -> bool | None:
    if _fits(text, _host_names(subject.host), is_whole=False):
        return True
    names = [name for one in subject.holders for name in _labels(one)]
    return _any(_fits(text, names, is_whole=False), subject)


def _text(query: Same, subject: Subject) -> bool | None:
    text = query.text
    match query.field:
        case "host":
            return _fits(text, _host_names(subject.host), is_whole=True)
        case "model":
            name = subject.gpu.info.name if subject.gpu else None
            return None if name is None else _fits(text, (name,), is_whole=True)
        case "user":
            return _user(text, subject)
        case _:
            names = [name for one in subject.holders for name in _labels(one)]
            return _any(_fits(text, names, is_whole=True), subject)


def _user(text: str, subject: Subject) -> bool | None:
    if text.lower() == ME:
        found = any(one.owner in _OWN for one in subject.holders)
    else:
        found = _fits(text, [one.user for one in subject.holders], is_whole=True)
    if not found and any(one.user is None for one in subject.holders):
        return None
    return _any(found, subject)


def _number(query: Compared, subject: Subject) -> bool | None:
    compare, wanted = _COMPARE[query.operator], query.value
    if query.field in ("pid", "age"):
        return _of_holders(query, subject)
    value = _measured(query, subject)
    return None if value is None else compare(value, wanted)


def _of_holders(query: Compared, subject: Subject) -> bool | None:
    compare, wanted = _COMPARE[query.operator], query.value
    if query.field == "pid":
        if query.operator == "!=":
            found = any(pid == wanted for one in subject.holders for pid in one.pids)
            known = _any(found, subject)
            return None if known is None else not known
        found = any(compare(pid, wanted) for one in subject.holders for pid in one.pids)
        return _any(found, subject)
    ages = [one.age(subject.now_s) for one in subject.holders]
    if any(age is not None and compare(age, wanted) for age in ages):
        return True
    return None if None in ages else _any(False, subject)


def _measured(query: Compared, subject: Subject) -> float | None:
    gpu = subject.gpu
    if gpu is None:
        return None
    if query.field == "gpu":
        return gpu.info.index
    reading = gpu.reading
    is_read = subject.host.link is Link.LIVE and reading is not None and gpu.state not in _GONE
    if not is_read or reading is None:
        return None
    match query.field:
        case "mem" | "free":
            return _memory(query, gpu, reading.used_bytes)
        case "util":
            return reading.utilisation_pct
        case "temp":
            return reading.temperature_c
        case "power":
            return None if reading.power_mw is None else reading.power_mw / 1000
        case _:
            return reading.sm_clock_mhz


def _memory(query: Compared, gpu: Gpu, used_bytes: int | None) -> float | None:
    total_bytes = gpu.info.total_bytes
    if used_bytes is None or (total_bytes is None and not query.is_plain_memory):
        return None
    amount = used_bytes
    if query.field == "free":
        amount = max(0, (total_bytes or 0) - used_bytes - (gpu.info.reserved_bytes or 0))
    return amount if query.unit != "%" else 100 * amount / (total_bytes or 1)


def _state(word: str, subject: Subject) -> bool | None:
    host, gpu, judged = subject.host, subject.gpu, subject.judged
    match word:
        case "paused":
            return host.link is Link.PAUSED
        case "silent":
            return host.link is not Link.LIVE
    if gpu is None or judged is None:
        return True if word == "unknown" else None
    if word in ("lost", "reset"):
        return gpu.state in _GONE if word == "lost" else gpu.state is GpuState.NEEDS_RESET
    if word == "unknown":
        return judged.verdict is Verdict.UNKNOWN and not judged.is_certainly_held
    if host.link is not Link.LIVE:
        return None
    match word:
        case "held":
            return True if judged.is_certainly_held else _unless_unknown(judged, Verdict.HELD)
        case "zero":
            return _unless_unknown(judged, Verdict.ZERO)
        case "baseline":
            return _unless_unknown(judged, Verdict.BASELINE)
        case "unexplained":
            return bool(unexplained_bytes(gpu))
        case _:
            return _owned(word, subject)


def _unless_unknown(judged: GpuVerdict, wanted: Verdict) -> bool | None:
    if judged.verdict is Verdict.UNKNOWN:
        return False if judged.is_certainly_held else None
    return judged.verdict is wanted


def _owned(word: str, subject: Subject) -> bool | None:
    owner = {"leftover": Owner.LEFTOVER, "alive": Owner.MINE, "others": Owner.FOREIGN}[word]
    if any(one.owner is owner for one in subject.holders):
        return True
    if any(one.owner is Owner.UNKNOWN for one in subject.holders):
        return None
    return _any(False, subject)
