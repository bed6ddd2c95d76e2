"""One run as it is being read: the working state behind the frozen values.

`tracker.step` copies it before it changes anything, so an older state stays what it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gpudash.core.startup.catalog import Marker
from gpudash.core.startup.logtime import LogClock
from gpudash.core.startup.model import Failure, Moment, Number, Phase

RECENT_LINES = 12
_NOWHERE = Moment(1, None, 0.0)
KEPT_HITS = 200
"""Of suspicious lines; the first ones count, so later ones are let go."""


class Record(NamedTuple):
    """One message with what its prefix told."""

    line: int
    text: str
    rank: str
    """Empty where nothing told it."""
    level: str
    writer: str
    at_s: float


class Frame(NamedTuple):
    """One place of a traceback."""

    path: str
    number: int
    function: str
    line: int
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A line that looks like a failure."""

    kind: str
    tier: int
    line: int
    text: str
    groups: Mapping[str, str]
    rank: str
    phase: str | None
    after: str | None = None
    """The phase that ended last, where none runs; `serving` once it was ready."""
    bar: str = ""
    """How far the phase's bar was, in words: `19/62`."""
    doing: str = ""
    """What the bar named: `bs=480`."""
    now_s: float | None = None
    is_weak: bool = False
    is_terminal: bool = False
    """Nothing goes on after it."""
    is_exception: bool = False
    frames: tuple[Frame, ...] = ()
    context: tuple[str, ...] = ()
    is_after_ready: bool = False


class Traceback(NamedTuple):
    """A traceback that is being read."""

    rank: str
    frames: tuple[Frame, ...] = ()
    is_weak: bool = False
    is_open: bool = True
    """Its exception is still to come."""
    is_chained: bool = False
    """The next traceback belongs to it."""
    closed_line: int = 0


@dataclass(kw_only=True)
class Run:
    """All that is known of the current run."""

    first_line: int = 1
    line: int = 0
    at_s: float = 0.0
    engine: str | None = None
    version: str = ""
    variant: str = ""
    """`v0` or `v1` where the engine says so."""
    clock: LogClock = field(default_factory=LogClock)
    phases: list[Phase] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)
    """Where the newest phase of each name is."""
    numbers: dict[str, Number] = field(default_factory=dict)
    kept_by_first_rank: set[str] = field(default_factory=set)
    arguments: dict[str, str] = field(default_factory=dict)
    sequence: tuple[str, ...] = ()
    bar_zeros: dict[tuple[str, str, float | None], tuple[float, float]] = field(
        default_factory=dict
    )
    """When each bar began by the log's time, and how long it had run when it was last seen."""
    said: tuple[str, str] = ("", "")
    """The last message and who wrote it, and what it fitted."""
    matched: list[tuple[Marker, re.Match[str]]] = field(default_factory=list)
    line_rank: str = ""
    last_rank: str = ""
    before: Moment = _NOWHERE
    """The line before this one."""
    prelude: Moment | None = None
    """The first line before an anchor that belongs to its run."""
    opening: str = ""
    """The pattern that the run's first line fitted."""
    anchors: set[str] = field(default_factory=set)
    hits: list[Hit] = field(default_factory=list)
    traceback: Traceback | None = None
    last_exception_line: int | None = None
    ready_line: int | None = None
    ready_s: float | None = None
    ready_at_s: float | None = None
    recent: tuple[str, ...] = ()
    told_s: float | None = None
    """When a line last came that is no trace of somebody who asks a health URL."""
    exit_code: int | None = None
    has_ended: bool = False
    is_doubted: bool = False
    """Something changed that the choice of the cause depends on."""
    failure: Failure | None = None
    health: int | None = None
    was_probed: bool = False
    was_ready: bool = False
    memory: dict[str, int] = field(default_factory=dict)
    restarts: int = 0

    def copy(self) -> Run:
        """Return a copy that may be changed."""
        copied = object.__new__(Run)
        # In one go: a log in small pieces is a copy a line.
        copied.__dict__.update(self.__dict__)
        copied.phases = self.phases.copy()
        copied.newest = self.newest.copy()
        copied.numbers = self.numbers.copy()
        copied.kept_by_first_rank = self.kept_by_first_rank.copy()
        copied.arguments = self.arguments.copy()
        copied.bar_zeros = self.bar_zeros.copy()
        copied.anchors = self.anchors.copy()
        copied.hits = self.hits.copy()
        copied.memory = self.memory.copy()
        return copied

    def add(self, phase: Phase) -> None:
        """Add a phase."""
        self.newest[phase.name] = len(self.phases)
        self.phases.append(phase)

    def last(self, name: str) -> int | None:
        """Return where the newest phase of this name is."""
        return self.newest.get(name)

    def is_open(self, name: str) -> bool:
        """Return whether a phase of this name runs."""
        at = self.newest.get(name)
        return at is not None and self.phases[at].end is None

    def current(self) -> Phase | None:
        """Return the phase that was opened last and still runs."""
        for phase in reversed(self.phases):
            if phase.is_open:
                return phase
        return None
