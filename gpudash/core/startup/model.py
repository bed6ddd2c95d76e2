"""What a start-up is, as values: phases, progress, READY, failure; and what happens to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

Number = int | float | str | list[int] | dict[str, int | float | str]


class Moment(NamedTuple):
    """A place in a log, with its times."""

    line: int
    log_s: float | None
    """Seconds since the run's first line by the log's own time; None where it tells none."""
    at_s: float
    """When it arrived, by our clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a bar is."""

    done: float
    total: float | None
    unit: str
    desc: str = ""
    detail: str = ""
    """What is being done: `bs=480`, a file's name."""
    elapsed_s: float | None = None
    """As the bar says."""


class Phase(NamedTuple):
    """One interval of a start-up. Phases repeat and nest."""

    name: str
    start: Moment
    end: Moment | None = None
    """None while it runs."""
    heard: Moment | None = None
    """When a rank last told its end; the phase is over only with the last one's."""
    moved: Moment | None = None
    """When a bar last moved."""
    progress: Progress | None = None
    bars: tuple[Progress, ...] = ()
    """Each bar's last state, where there were several."""
    full_s: float | None = None
    """When the bar reached its total; the phase may go on for long after it."""
    told_by: str = ""
    """The pattern that opened it: a late rank prints the same line, another pass another one."""
    begun: frozenset[str] = frozenset()
    """Ranks that began it."""
    ended: frozenset[str] = frozenset()
    """Ranks that ended it; begun but not ended are the laggards."""

    @property
    def is_open(self) -> bool:
        return self.end is None

    @property
    def laggards(self) -> tuple[str, ...]:
        """Ranks that began and did not end, once another one has ended."""
        return tuple(sorted(self.begun - self.ended)) if self.ended else ()

    @property
    def seconds(self) -> float | None:
        """By the log's own time, else by ours; None while it runs."""
        if self.end is None:
            return None
        if self.start.log_s is not None and self.end.log_s is not None:
            return max(0.0, self.end.log_s - self.start.log_s)
        return self.end.at_s - self.start.at_s if self.end.at_s > self.start.at_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a start-up failed: one sentence and where it comes from."""

    kind: str
    line: int | None
    """None where no line says it: the process just ended."""
    message: str
    hint: str = ""
    rank: str | None = None
    phase: str | None = None
    others: int = 0
    """So many more ranks with the same error."""
    after_ready_s: float | None = None
    context: tuple[str, ...] = ()
    """The line and up to three before it."""
    details: Mapping[str, Number] = field(default_factory=dict)


class Outcome(Enum):
    """What became of it so far."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """One start-up as it is known now."""

    engine: str | None
    version: str
    phases: tuple[Phase, ...]
    ready_line: int | None
    ready_s: float | None
    ready_basis: str
    """`log`, `url`, `log+url`, or nothing."""
    failure: Failure | None
    numbers: Mapping[str, Number]
    notes: tuple[str, ...]
    """Signals that disagree, in words."""
    recent: tuple[str, ...]
    """The last lines, cleaned."""
    line: int
    """Lines read so far."""
    first_line: int
    """Where this run begins; runs before it are in the same file."""
    restarts: int
    now_s: float | None
    port: int | None = None
    model: str = ""
    """As the engine's arguments name it."""
    told_s: float | None = None
    """When a line last came, by our clock; what asks a health URL leaves there is none."""
    ready_at_s: float | None = None
    """When its READY arrived, by our clock."""

    @property
    def outcome(self) -> Outcome:
        if self.failure is not None:
            return Outcome.FAILED
        return Outcome.READY if self.ready_basis else Outcome.STARTING

    @property
    def current(self) -> Phase | None:
        """The phase that was opened last and still runs."""
        running = [phase for phase in self.phases if phase.is_open]
        return running[-1] if running else None


# -- events ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """Bytes of the log."""

    data: bytes
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The process that was launched has ended."""

    code: int
    """Negative: by that signal."""
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRead:
    """GPU memory of the ranks' GPUs, in bytes."""

    used_bytes: Mapping[str, int]
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What the health URL answered."""

    status: int | None
    """None: refused, or no answer in time."""
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """Time has passed; an unfinished line may be looked at."""

    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnded:
    """Nothing more will come: a finished log."""

    at_s: float


StartupEvent = Arrived | Exited | MemoryRead | Probed | Ticked | LogEnded


class IllegalEvent(ValueError):
    """Our own mistake: this event can't come now. Nothing was changed."""


# -- effects ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncePhase:
    """A phase began."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeHealth:
    """The server listens: ask its health URL from now on."""

    paths: tuple[str, ...]
    port: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnounceReady:
    """The start-up is ready."""

    line: int | None
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnounceFailure:
    """The start-up failed, or its cause is known better now."""

    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnounceRestart:
    """The log begins a new run: what was before belongs to an earlier one."""

    line: int
    previous: Startup


StartupEffect = AnnouncePhase | ProbeHealth | AnnounceReady | AnnounceFailure | AnnounceRestart
