"""What the slow calls of one GPU answered, in words, each with its tone.

What a GPU does not have reads `–`, what could not be read reads `?` with the reason, what was not
answered yet reads `…`: none of them is a 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpudash.core import nvml
from gpudash.core.gpudetail import Fact, GpuDetail
from gpudash.core.units import format_memory, grouped

ABSENT = "–"
FAILED = "?"
WAITING = "…"
WARN = "warn"
MUTED = "muted"


class FactLine(NamedTuple):
    """One line of the facts."""

    label: str
    words: str
    tone: str = ""
    """`warn` for what a person should see, `muted` for what says nothing."""


class Detailed(NamedTuple):
    """The newest detail of a GPU and the one before, for what is a rate."""

    now: GpuDetail | None = None
    before: GpuDetail | None = None
    error: str = ""
    """Why there is none, as a sentence."""


NOT_DETAILED = Detailed()
Words = Callable[[tuple[int | None, ...]], str]


def told(told: Detailed, name: str, words: Words) -> tuple[str, str]:
    """Return the words and the tone of one answer."""
    if told.now is None:
        return (FAILED, MUTED) if told.error else (WAITING, MUTED)
    fact = told.now.fact(name)
    if fact is None or fact.is_absent:
        return ABSENT, MUTED
    if fact.code is not None:
        return f"{FAILED} {nvml.meaning(fact.code).words}", WARN
    if fact.text:
        return fact.text, ""
    if not fact.numbers or all(number is None for number in fact.numbers):
        return FAILED, WARN
    return words(fact.numbers), ""


def _n(value: int | None) -> str:
    return FAILED if value is None else grouped(value)


def pcie(detail: Detailed) -> FactLine:
    words, tone = told(detail, "pcie", _pcie_words)
    fact = detail.now.fact("pcie") if detail.now else None
    if fact is not None and len(fact.numbers) == 4 and not tone:
        width, widest = fact.numbers[1], fact.numbers[3]
        # The generation falls while a GPU idles and comes back by itself; lanes don't.
        if width is not None and widest is not None and width < widest:
            tone = WARN
    return FactLine("PCIe", words, tone)


def _pcie_words(of: tuple[int | None, ...]) -> str:
    if len(of) != 4:
        return FAILED
    now = f"gen {_n(of[0])} ×{_n(of[1])}"
    most = f"gen {_n(of[2])} ×{_n(of[3])}"
    return now if now == most else f"{now} of {most}"


def traffic(detail: Detailed) -> tuple[str, str]:
    words, tone = told(detail, "pcie_bytes", lambda _: "")
    if words or tone:
        return words, tone
    sent, received = (rate_of(detail, "pcie_bytes", place) for place in (0, 1))
    if sent is None or received is None:
        return WAITING, MUTED
    return f"in {_speed(received)}, out {_speed(sent)}", ""


def rate_of(detail: Detailed, name: str, place: int) -> float | None:
    """Return how fast a counter goes, a second; None before two looks and after it began anew."""
    if detail.now is None or detail.before is None:
        return None
    now, before = at(detail.now.fact(name), place), at(detail.before.fact(name), place)
    took_s = detail.now.host_monotonic_s - detail.before.host_monotonic_s
    if now is None or before is None or took_s <= 0 or now < before:
        return None
    return (now - before) / took_s


def at(fact: Fact | None, place: int) -> int | None:
    return fact.numbers[place] if fact is not None and place < len(fact.numbers) else None


def _speed(bytes_a_second: float) -> str:
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_a_second >= size:
            return f"{bytes_a_second / size:.1f} {unit}"
    return f"{round(bytes_a_second)} B/s"


def ecc(detail: Detailed) -> FactLine:
    words, tone = told(detail, "ecc_volatile", _pair_words)
    ever, _ = told(detail, "ecc_aggregate", lambda of: f"{_n(of[0])} and {_n(of[1])}")
    fact = detail.now.fact("ecc_volatile") if detail.now else None
    if (at(fact, 1) or 0) > 0:
        tone = WARN
    is_counted = fact is not None and fact.code is None and ever not in (ABSENT, WAITING, FAILED)
    return FactLine("errors", f"{words}; ever {ever}" if is_counted else words, tone)


def _pair_words(of: tuple[int | None, ...]) -> str:
    return f"{_n(of[0])} corrected, {_n(of[1])} not" if len(of) == 2 else FAILED


def pages(detail: Detailed) -> tuple[str, str]:
    def words(of: tuple[int | None, ...]) -> str:
        return f"{_n(of[0])} and {_n(of[1])} retired" + (", one waits" if of[2] else "")

    return told(detail, "retired", lambda of: words(of) if len(of) == 3 else FAILED)


_COMPUTE = ("compute shared", "one thread", "compute prohibited", "one process")
"""nvmlComputeMode_t."""


def mode(detail: Detailed) -> tuple[str, str]:
    keeps, tone = told(detail, "persistence", lambda of: f"persistence {'on' if of[0] else 'off'}")
    shares, other = told(
        detail,
        "compute_mode",
        lambda of: _COMPUTE[of[0]] if (of[0] or 0) < 4 else FAILED,  # type: ignore[index]
    )
    return (keeps, tone) if keeps == shares else (f"{keeps}, {shares}", tone or other)


def bar1(of: tuple[int | None, ...]) -> str:
    if len(of) != 2 or of[0] is None or of[1] is None:
        return FAILED
    return f"{format_memory(of[0])} of {format_memory(of[1])}"


def coders(detail: Detailed) -> tuple[str, str]:
    into, tone = told(detail, "encoder", lambda of: f"{_n(of[0])}%")
    out, other = told(detail, "decoder", lambda of: f"{_n(of[0])}%")
    if into == out and not into.endswith("%"):
        return into, tone
    return f"encoder {into}, decoder {out}", tone or other


def nvlinks(detail: Detailed) -> tuple[str, str]:
    fact = detail.now.fact("nvlinks") if detail.now else None
    if fact is not None and fact.code is None and not fact.numbers:
        return ABSENT, MUTED
    words, tone = told(
        detail, "nvlinks", lambda of: f"{sum(one == 1 for one in of)} of {len(of)} links up"
    )
    is_down = fact is not None and any(number == 0 for number in fact.numbers)
    return words, WARN if is_down else tone
