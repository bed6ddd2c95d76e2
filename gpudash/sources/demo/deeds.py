"""What was done to a simulated host: who was ended when, by which order.

The machine stays a pure function of time and of this. An order is played in full when it comes;
what lies beyond an abort or other steps is cut off again, so that reports and memory always agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpudash.sources.demo.playing import Dying, Fate, Said, play
from gpudash.sources.demo.tasks import Task

MIB_A_SECOND = 115_000
"""So much memory the driver takes back from a process that ends, before it has ended."""
HAND_PID = 3
"""Of the simulated hand: pid 2 is the kernel's, and it has no parent but pid 1."""


@dataclass(slots=True)
class _Run:
    order: dict[str, Any]
    said: list[Said]


@dataclass(slots=True, eq=False)
class Deeds:
    """The orders of one host, and what became of whom."""

    orders: list[dict[str, Any]] = field(default_factory=list)
    """Every order that was taken, as it came."""
    _runs: dict[str, _Run] = field(default_factory=dict)
    _fates: list[Fate] = field(default_factory=list)

    def ended_s(self, pid: int) -> float:
        """Return when a process ended, or will by what it was sent; infinity for never."""
        return min((fate.ends_s for fate in self._fates if fate.pid == pid), default=float("inf"))

    def is_gone(self, task: Task, at_s: float) -> bool:
        """Tell whether a process was ended by an order."""
        return at_s >= self.ended_s(task.pid)

    def left_mib(self, task: Task, mib: int, at_s: float) -> int:
        """Return what is left of its memory; a dead one's is kept until its keeper ends."""
        if not self._fates:
            return mib
        left_s = self.ended_s(task.keeper if task.is_dead else task.pid) - at_s
        return max(0, round(left_s * MIB_A_SECOND)) if left_s * MIB_A_SECOND < mib else mib

    def leave(self, pid: int, at_s: float) -> None:
        """Let a process end by itself."""
        self._fates.append(Fate(pid=pid, sent_s=at_s, ends_s=at_s))

    # -- orders ------------------------------------------------------------------------------

    def take(
        self, order: dict[str, Any], at_s: float, known: Mapping[int, Dying], up_s: float
    ) -> str:
        """Carry out an order; return why not, or nothing. `up_s` is the host's clock at time 0."""
        run = str(order["run"])
        if order["by"] <= at_s + up_s:
            return "the order came after its deadline; nothing was done"
        busy = [name for name, one in self._runs.items() if name != run and not _is_over(one, at_s)]
        if busy:
            return f"locked by pid {HAND_PID}"
        self.orders.append(order)
        before = self._runs.get(run)
        asked: frozenset[int] = frozenset()
        if before is not None:
            if _is_over(before, at_s):
                return "it is over already"
            asked = frozenset(
                said.pid for said in before.said if said.is_term and said.at_s <= at_s
            )
            self._cut(before, at_s)
        said, fates = play(order, at_s, known, self.ended_s, asked, up_s=up_s)
        first = before.said if before else [Said(at_s=at_s, what="begun", more={"polled": 0})]
        self._runs[run] = _Run(order, [*first, *said])
        self._fates += fates
        return ""

    def abort(self, run: str, at_s: float) -> str:
        """Begin no further step of an order."""
        one = self._runs.get(run)
        if one is None:
            return f"nothing of {run} is kept here"
        if not _is_over(one, at_s):
            self._cut(one, at_s)
            one.said.append(Said(at_s=at_s, what="done", more={"why": "aborted"}))
        return ""

    def _cut(self, run: _Run, at_s: float) -> None:
        run.said = [said for said in run.said if said.at_s <= at_s]
        pids = {member[0] for one in run.order["families"] for member in one.get("members", ())}
        self._fates = [fate for fate in self._fates if fate.pid not in pids or fate.sent_s <= at_s]

    # -- reports -----------------------------------------------------------------------------

    def knows(self, run: str) -> bool:
        """Tell whether an order's reports are kept."""
        return run in self._runs

    def reports(self, run: str, first: int, at_s: float) -> list[tuple[int, Said]]:
        """Return the reports from a number on that were made until now."""
        said = self._runs[run].said
        until = bisect_right(said, at_s, key=lambda one: one.at_s)
        return [(number, said[number]) for number in range(first, until)]

    def due_s(self, run: str, first: int) -> float | None:
        """Return when the report of that number is made; None where none follows."""
        said = self._runs[run].said if run in self._runs else []
        return said[first].at_s if first < len(said) else None

    def drop(self, run: str) -> None:
        """Forget an order's reports."""
        self._runs.pop(run, None)


def _is_over(run: _Run, at_s: float) -> bool:
    return bool(run.said) and run.said[-1].what == "done" and run.said[-1].at_s <= at_s
