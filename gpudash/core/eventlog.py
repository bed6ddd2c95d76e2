"""The event log: what is wrong now, which alerts are raised, then everything that happened.

Lines are values without clocks, so that the same line is found again when others came before it.
All text of hosts is made printable here: what is shown, searched, copied and saved is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from gpudash.core.alert_levels import Kind, Place
from gpudash.core.alerts import Alert, Raised
from gpudash.core.model import Fleet, GpuState, Happening, Host, Owner
from gpudash.core.names import clean_text, printable_lines
from gpudash.core.units import plural
from gpudash.core.verify import judge_gpu

BAD = ("bad", "warn")
"""Tones of what went wrong."""


class Part(Enum):
    """What a line is."""

    HEAD = "head"
    BLANK = "blank"
    PROBLEM = "problem"
    DETAIL = "detail"
    """Of the problem above it."""
    ALERT = "alert"
    PAST = "past"
    NOTE = "note"
    """Says that there is nothing."""


class EventLine(NamedTuple):
    """One line of the log."""

    part: Part
    words: str = ""
    host: str = ""
    at_s: float | None = None
    """Viewer's clock; None for what has no time."""
    tone: str = ""
    letter: str = ""
    owner: Owner | None = None


class Count(NamedTuple):
    """How much there is."""

    problems: int
    alerts: int
    past: int


def event_lines(fleet: Fleet, raised: Raised, *, is_bad_only: bool) -> tuple[EventLine, ...]:
    """Return the log of a fleet."""
    problems = [line for host in fleet.hosts for line in _problems(host)]
    alerts = [_alert(*one) for one in raised]
    past = [_past(one) for one in fleet.happenings if not is_bad_only or one.tone in BAD]
    title = "what went wrong, newest first" if is_bad_only else "what happened, newest first"
    empty = "nothing went wrong yet" if is_bad_only else "nothing yet"
    return (
        EventLine(Part.HEAD, "open problems"),
        *(problems or [EventLine(Part.NOTE, "no open problem")]),
        EventLine(Part.BLANK),
        EventLine(Part.HEAD, "raised alerts"),
        *(alerts or [EventLine(Part.NOTE, "no alert is raised")]),
        EventLine(Part.BLANK),
        EventLine(Part.HEAD, title),
        *(past or [EventLine(Part.NOTE, empty)]),
    )


def counted(lines: tuple[EventLine, ...]) -> Count:
    """Return how many of each there are."""
    parts = [line.part for line in lines]
    return Count(parts.count(Part.PROBLEM), parts.count(Part.ALERT), parts.count(Part.PAST))


def line_text(line: EventLine, wall_of: Callable[[float], str]) -> str:
    """Return a line as plain text, with its time where it has one."""
    if line.part in (Part.HEAD, Part.BLANK, Part.NOTE):
        return line.words
    if line.part is Part.DETAIL:
        return f"  {line.words}"
    time = f"{wall_of(line.at_s)}  " if line.at_s is not None else ""
    return f"{time}{line.host}  {line.words}"


def log_text(
    lines: tuple[EventLine, ...], wall_of: Callable[[float], str], *, mark: str = ""
) -> str:
    """Return all lines as plain text; `mark` says first what is made up."""
    texts = [line_text(line, wall_of) for line in lines]
    return "\n".join([mark, "", *texts] if mark else texts)


def found_in(
    lines: tuple[EventLine, ...], words: str, wall_of: Callable[[float], str]
) -> tuple[int, ...]:
    """Return where these words stand; capitals count only where the words have some."""
    if not words:
        return ()
    is_exact = words != words.lower()
    texts = (line_text(line, wall_of) for line in lines)
    return tuple(
        at for at, text in enumerate(texts) if words in (text if is_exact else text.lower())
    )


def simulated_line(fleet: Fleet) -> str:
    """Say which hosts are made up; empty where none is."""
    names = [clean_text(host.name) for host in fleet.hosts if host.is_simulated]
    if not names:
        return ""
    who = "every host here" if len(names) == len(fleet.hosts) else ", ".join(names)
    return f"SIMULATED: {who} is made up"


def alerts_counted(raised: int) -> str:
    """Say how many alerts are raised; empty for none."""
    return plural(raised, "alert") if raised else ""


def _alert(host: str, place: Place, alert: Alert) -> EventLine:
    tone = "bad" if place[1] in (Kind.ECC, Kind.LOST) else "warn"
    words, name = clean_text(alert.words, 400), clean_text(host)
    return EventLine(Part.ALERT, words, name, alert.raised_s, tone)


def _past(one: Happening) -> EventLine:
    words, host = clean_text(one.words, 400), clean_text(one.host)
    return EventLine(Part.PAST, words, host, one.at_s, one.tone, one.letter, one.owner)


def _problems(host: Host) -> Iterator[EventLine]:
    name = clean_text(host.name)
    if (problem := host.problem) is not None:
        yield EventLine(
            Part.PROBLEM, clean_text(problem.title), name, host.link_since_s, tone="bad"
        )
        for text in (problem.sentence, problem.advice, problem.detail):
            yield from _details(text)
    if host.facts is not None and host.facts.source == "nvidia-smi":
        yield EventLine(Part.PROBLEM, "read through nvidia-smi, which lacks:", name, tone="warn")
        yield from _details("\n".join(host.facts.unsupported))
    for gpu in host.gpus:
        if gpu.state not in (GpuState.READ, GpuState.UNREAD):
            reason = f"GPU {gpu.info.index}  {judge_gpu(gpu).reason}"
            yield EventLine(Part.PROBLEM, clean_text(reason, 400), name, tone="bad")
            known = (gpu.info.name or "GPU", gpu.info.bus_id, gpu.info.uuid)
            yield from _details("  ".join(text for text in known if text))


def _details(text: str) -> Iterator[EventLine]:
    for line in printable_lines(text).splitlines():
        yield EventLine(Part.DETAIL, line.strip())
