"""What the hand tells of an order under way: its report lines as values.

The protocol stands in `orders`. Each line has `"t": "order"`, `run`, `n`, `at`, and by `what`:

    begun      polled N               lock taken; N members without a pidfd, looked at every 20 ms
    refused    f, pid, why            gone | changed | forbidden | denied
    sent       f, pid, sig, by        TERM | KILL | CONT, taken by the kernel; by `pid` where there
                                      was no pidfd: looked at right before, microseconds remain
    joined     f, who IDENTITY, parent, comm
    exited     f, pid                 its last thread is gone
    step       f, s, left             step number s is over, with so many targets still there
    waiting    left [[f, N], …], survivors [SURVIVOR, …]
               SURVIVOR = {f, pid, state, where, cpu, rss|null, pending, blocked}
    ran        f, c, code|null, words command number c is over: exit code (128 + signal), last line
    done       why                    finished | deadline | aborted

A line that is none of these is an error, never a default; texts in it are outside text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from gpudash.core.checked import (
    InvalidLine,
    a_count,
    a_list,
    a_number,
    a_text,
    an_object,
    maybe_count,
)
from gpudash.core.holding import Identity

_Word = TypeVar("_Word", bound=Enum)


class Refusal(Enum):
    """Why a member got no signal."""

    GONE = "gone"
    """It had ended by itself."""
    CHANGED = "changed"
    """The pid is another process now, or it runs another program."""
    FORBIDDEN = "forbidden"
    """Never to be signalled, whatever an order says."""
    DENIED = "denied"
    """The kernel did not allow it: another user's."""


class Close(Enum):
    """Why an order ended."""

    FINISHED = "finished"
    DEADLINE = "deadline"
    ABORTED = "aborted"
    FAILED = "failed"
    """The hand broke: what was done stands before it, and no more will be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The lock is taken, members are bound."""

    polled: int
    """Members without a pidfd: looked at every 20 ms instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A member that got no signal and gets none any more."""

    family: int
    pid: int
    why: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A signal that the kernel took."""

    family: int
    pid: int
    signal: str
    is_by_pid: bool = False
    """Sent without a pidfd: between the last look and the signal were some microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """An heir: born after the plan, taken in."""

    family: int
    identity: Identity
    parent: int
    comm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """A member or heir whose last thread is gone."""

    family: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """A step of one family is over."""

    family: int
    step: int
    left: int
    """How many of its targets are still there; above 0 its time was over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """What /proc says of a process that should be gone."""

    family: int
    pid: int
    state: str
    where: str
    """Kernel function that it sleeps in; empty where unreadable."""
    cpu_ticks: int
    rss_bytes: int | None
    is_kill_pending: bool
    blocked: int
    """Threads in uninterruptible sleep."""

    @property
    def trace(self) -> tuple[object, ...]:
        """Return what moves while it still dies."""
        return self.where, self.cpu_ticks, self.rss_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Who is still there; after a KILL with the facts about each."""

    left: tuple[tuple[int, int], ...]
    """Number of the family and how many of it."""
    survivors: tuple[Survivor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A manager's command ended."""

    family: int
    command: int
    code: int | None
    """Its exit code; None where it was not there or its time was over."""
    words: str
    """The last line that it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The order is over."""

    why: Close


Told = Began | Refused | Sent | Joined | Exited | StepEnded | Waiting | Ran | Done


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report line."""

    run: str
    number: int
    """From 0 without gaps."""
    host_s: float
    """By the host's clock."""
    told: Told


def report_of(value: object) -> Report:
    """Return what a line of type `order` says. Raises InvalidLine."""
    line = an_object(value)
    return Report(
        run=a_text(line.get("run"), "run"),
        number=a_count(line.get("n"), "n"),
        host_s=a_number(line.get("at"), "at"),
        told=_told(line),
    )


def _told(line: dict[str, Any]) -> Told:
    what = line.get("what")
    match what:
        case "begun":
            return Began(polled=a_count(line.get("polled", 0), "polled"))
        case "waiting":
            return _waiting(line)
        case "done":
            return Done(why=_word(Close, line.get("why"), "why"))
    family = a_count(line.get("f"), "f")
    match what:
        case "refused":
            why = _word(Refusal, line.get("why"), "why")
            return Refused(family=family, pid=_pid(line), why=why)
        case "sent":
            return Sent(
                family=family,
                pid=_pid(line),
                signal=a_text(line.get("sig"), "sig"),
                is_by_pid=line.get("by") == "pid",
            )
        case "joined":
            return Joined(
                family=family,
                identity=identity_of(line.get("who")),
                parent=a_count(line.get("parent"), "parent"),
                comm=a_text(line.get("comm"), "comm"),
            )
        case "exited":
            return Exited(family=family, pid=_pid(line))
        case "step":
            step, left = a_count(line.get("s"), "s"), a_count(line.get("left"), "left")
            return StepEnded(family=family, step=step, left=left)
        case "ran":
            return Ran(
                family=family,
                command=a_count(line.get("c"), "c"),
                code=maybe_count(line.get("code"), "code"),
                words=a_text(line.get("words", ""), "words"),
            )
    raise InvalidLine(f"unknown report {str(what)[:40]!r}")


def _word(kind: type[_Word], value: object, what: str) -> _Word:
    try:
        return kind(value)
    except ValueError:
        raise InvalidLine(f"{what} is none of its words") from None


def _pid(line: dict[str, Any]) -> int:
    return a_count(line.get("pid"), "pid", least=1)


def identity_of(value: object) -> Identity:
    """Return an identity from `[pid, start, uid, [dev, ino]|null]`. Raises InvalidLine."""
    row = a_list(value, "an identity")
    if len(row) != 4:
        raise InvalidLine("an identity has not 4 items")
    exe = None if row[3] is None else a_list(row[3], "an executable")
    if exe is not None and len(exe) != 2:
        raise InvalidLine("an executable has not 2 items")
    return Identity(
        pid=a_count(row[0], "pid", least=1),
        start_ticks=a_count(row[1], "start"),
        uid=a_count(row[2], "uid"),
        exe=(a_count(exe[0], "device"), a_count(exe[1], "inode")) if exe else None,
    )


def _waiting(line: dict[str, Any]) -> Waiting:
    left = []
    for row in a_list(line.get("left", []), "left"):
        items = a_list(row, "a count")
        if len(items) != 2:
            raise InvalidLine("a count has not 2 items")
        left.append((a_count(items[0], "f"), a_count(items[1], "count")))
    survivors = a_list(line.get("survivors", []), "survivors")
    return Waiting(left=tuple(left), survivors=tuple(_survivor(row) for row in survivors))


def _survivor(value: object) -> Survivor:
    row = an_object(value)
    return Survivor(
        family=a_count(row.get("f"), "f"),
        pid=_pid(row),
        state=a_text(row.get("state"), "state"),
        where=a_text(row.get("where", ""), "where"),
        cpu_ticks=a_count(row.get("cpu"), "cpu"),
        rss_bytes=maybe_count(row.get("rss"), "rss"),
        is_kill_pending=row.get("pending") is True,
        blocked=a_count(row.get("blocked", 0), "blocked"),
    )
