"""How simulated processes take an order: who ends when, and what the hand tells of it.

A pure function. Steps, waits and reports are those of `core.cleanup.orders`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpudash.sources.demo.tasks import Task

KILL_S = 0.06
FOLLOW_S = 0.2
"""So long after its parent a child ends that its parent takes along."""
WATCH_S = 0.5
TICKS_A_SECOND = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One report, before it has its number."""

    at_s: float
    what: str
    more: dict[str, object] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        """Return whom it is about; 0 for nobody."""
        pid = self.more.get("pid", 0)
        return pid if isinstance(pid, int) else 0

    @property
    def is_term(self) -> bool:
        """Tell whether somebody was asked to end."""
        return self.more.get("sig") == "TERM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """That a process ends by what it was sent."""

    pid: int
    sent_s: float
    ends_s: float


class Dying(NamedTuple):
    """A process, and how long its memory takes to come back when it ends."""

    task: Task
    drain_s: float


def play(
    order: dict[str, Any],
    at_s: float,
    known: Mapping[int, Dying],
    ended_s: Callable[[int], float],
    asked: frozenset[int],
    *,
    up_s: float,
) -> tuple[list[Said], list[Fate]]:
    """Return all that follows from an order that begins now, if nothing else comes.

    `known` are the living by pid, `ended_s` what earlier orders did to them, `asked` who got
    SIGTERM already, `up_s` the host's clock at demo time 0.
    """
    plays = [
        _Play(family, at_s, known, ended_s, asked, up_s)
        for family in order["families"]
        if "run" not in family
    ]
    for one in plays:
        one.run()
    over_s = max([at_s, *(one.at_s for one in plays)])
    said = [said for one in plays for said in one.said]
    said += _watched(plays, at_s, over_s)
    said.sort(key=lambda one: one.at_s)
    said.append(Said(at_s=over_s, what="done", more={"why": "finished"}))
    return said, [fate for one in plays for fate in one.fates]


class _Play:
    """One family's steps."""

    def __init__(
        self,
        family: dict[str, Any],
        at_s: float,
        known: Mapping[int, Dying],
        ended_s: Callable[[int], float],
        asked: frozenset[int],
        up_s: float,
    ) -> None:
        self.number: int = family["f"]
        self.at_s = at_s
        self.said: list[Said] = []
        self.fates: list[Fate] = []
        self._steps = family["steps"]
        self._known = known
        self._asked = set(asked)
        self._ends: dict[int, float] = {}
        self.members: list[int] = []
        for pid, start, uid, _exe in family["members"]:
            task = known[pid].task if pid in known else None
            ticks = round((task.started_s + up_s) * TICKS_A_SECOND) if task else None
            if task is None:
                self._tell("refused", pid=pid, why="gone")
            elif ticks != start or task.person.uid != uid:
                self._tell("refused", pid=pid, why="changed")
            else:
                self.members.append(pid)
                self._ends[pid] = ended_s(pid)

    def living(self, at_s: float) -> list[int]:
        """Return who of it is there at a time."""
        return [pid for pid in self.members if self._ends[pid] > at_s]

    def run(self) -> None:
        """Play its steps; afterwards `at_s` is when it is over."""
        is_gone = True
        for place, step in enumerate(self._steps):
            if step["after"] == "gone" and not is_gone:
                continue
            self.at_s += step["settle"]
            targets = self._targets(step)
            if not targets:
                continue
            for pid in targets:
                self._send(pid, step["send"])
            ends_s = max(self._ends[pid] for pid in targets)
            is_gone = ends_s <= self.at_s + step["wait"]
            self.at_s = ends_s if is_gone else self.at_s + step["wait"]
            left = sum(self._ends[pid] > self.at_s for pid in targets)
            self._tell("step", s=place, left=left)
        for pid in self.members:
            if math.isfinite(self._ends[pid]):
                more: dict[str, object] = {"f": self.number, "pid": pid}
                self.said.append(Said(at_s=self._ends[pid], what="exited", more=more))

    def _targets(self, step: dict[str, Any]) -> list[int]:
        there = self.living(self.at_s)
        match step["to"]:
            case "roots":
                return [pid for pid in there if pid in self.members[: step["roots"]]]
            case "rest":
                return [pid for pid in there if pid not in self._asked]
            case "all":
                return there
            case places:
                return [pid for pid in there if self.members.index(pid) in places]

    def _send(self, pid: int, signal: str) -> None:
        if signal == "TERM":
            if pid in self._asked:
                return
            self._asked.add(pid)
        self._tell("sent", pid=pid, sig=signal)
        task, drain_s = self._known[pid]
        after_s = KILL_S if signal == "KILL" else task.exit_s
        if after_s is None:
            return
        self._ends_at(pid, self.at_s + after_s + drain_s)
        for child in self.members:
            below, drain_s = self._known[child]
            is_below = pid in [task.pid for task in below.ancestors()]
            if is_below and below.exit_s is not None:
                self._ends_at(child, self.at_s + after_s + FOLLOW_S + drain_s)

    def _ends_at(self, pid: int, ends_s: float) -> None:
        self._ends[pid] = min(self._ends[pid], ends_s)
        self.fates.append(Fate(pid=pid, sent_s=self.at_s, ends_s=ends_s))

    def _tell(self, what: str, **more: object) -> None:
        self.said.append(Said(at_s=self.at_s, what=what, more={"f": self.number, **more}))


def _watched(plays: list[_Play], from_s: float, until_s: float) -> list[Said]:
    """Return who was still there, twice a second."""
    said = []
    for look in range(1, int((until_s - from_s) / WATCH_S) + 1):
        at_s = from_s + look * WATCH_S
        left = [[one.number, len(one.living(at_s))] for one in plays if one.living(at_s)]
        if left:
            said.append(Said(at_s=at_s, what="waiting", more={"left": left, "survivors": []}))
    return said
