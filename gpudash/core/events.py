"""What a source can tell: the decoded wire plus the state of the link.

Every event is a value; `match` with `assert_never` keeps readers complete.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.model import GpuInfo, GpuReading, HostFacts, Kin, Problem, ProcessInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpudash.core.cleanup.leavings import Leavings
    from gpudash.core.cleanup.reports import Report
    from gpudash.core.gpudetail import GpuDetail
    from gpudash.core.holding import Scan
    from gpudash.core.kinship import Kindred
    from gpudash.core.startup.loglines import LogPiece, UrlAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The probe begins, or its roster changed."""

    seq: int
    host_monotonic_s: float
    facts: HostFacts
    roster: tuple[GpuInfo, ...]
    interval_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One complete tick: one reading for each GPU of the roster, in its order."""

    seq: int
    host_monotonic_s: float
    readings: tuple[GpuReading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """The answer to a command."""

    id: int
    is_ok: bool
    error: str = ""
    """A sentence; empty when ok."""
    processes: tuple[ProcessInfo, ...] = ()
    """Of `process`."""
    gone: frozenset[int] = frozenset()
    """Of `process`: pids that do not exist there."""
    is_last: bool = True
    """False when more lines with this id follow."""
    answers: tuple[tuple[int, int | None, str], ...] = ()
    """Of `managers`: place of the question, exit code (None: no answer in time), text."""
    variables: tuple[tuple[str, str], ...] = ()
    """Of `environment`: name and value, secrets masked on the host."""
    wall_s: float | None = None
    """Of `ping`: the host's wall clock, seconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A call failed for the whole host, or hangs."""

    call: str
    code: int | None
    """NVML code; None when the call does not return."""
    gpu_index: int | None = None
    hung_s: float | None = None
    """How long it has not returned."""
    text: str = ""
    is_fatal: bool = False
    """The probe ends after this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bye:
    """The probe ends on its own account."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbled:
    """A line that is none of the wire's; never a reading."""

    reason: str
    excerpt: str
    """First characters of what came, printable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """The whole result of one scan; the ack of its command follows."""

    id: int
    """Of the command."""
    scan: Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTold:
    """One report of an order on a host, by the process that carries it."""

    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class HandTold:
    """What a hand tells whoever asked: nothing of it changes the host's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingsTold(HandTold):
    """What processes have left behind; the ack of its command follows."""

    leavings: Leavings


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched(HandTold):
    """A program was started; the ack of its command follows."""

    id: int
    pid: int
    start_ticks: int
    log: str
    """Path of the file that takes its output."""
    inode: int
    offset: int
    """Where in that file its own output begins."""
    cwd: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited(HandTold):
    """A program that was started by this hand has ended."""

    id: int
    """Of the command that started it."""
    pid: int
    code: int | None
    """Negative: by that signal; None where nobody was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflighted(HandTold):
    """What checks before a launch found, in the order asked; the ack of the command follows."""

    id: int
    results: tuple[tuple[bool, str], ...]
    """Whether it holds, and one clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTold(HandTold):
    """A piece of a log that is followed, or what happened to it."""

    id: int
    """Of the command."""
    told: LogPiece


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTold(HandTold):
    """What a URL answered on its host; the ack of its command follows."""

    id: int
    """Of the command."""
    answer: UrlAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailTold(HandTold):
    """What the slow calls of one GPU answered; the ack of their command follows."""

    detail: GpuDetail


@dataclass(frozen=True, slots=True, kw_only=True)
class KindredTold(HandTold):
    """One look at the processes of families; the ack of its command follows."""

    kindred: Kindred


ProbeEvent = (
    Hello | Sample | Ack | Scanned | OrderTold | LeavingsTold | HandTold | Fault | Bye | Garbled
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkConnecting:
    """An attempt to reach the probe begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkUp:
    """The host is reached; its probe may still be starting."""

    transport: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMeasured:
    """A ping came back."""

    round_trip_s: float
    clock_offset_s: float
    """The host's wall clock minus the viewer's; known to half a round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStale:
    """No line came for three intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSlept:
    """This machine slept: what was read before is old, whatever the link says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown:
    """The stream ended or was never there."""

    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPaused:
    """The user paused this host."""

    is_released: bool
    """The sampler has ended: no handle of ours is open any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """A plan was made for the screen: who belongs together, and what a cleanup would do."""

    kin: tuple[Kin, ...]


LinkEvent = LinkConnecting | LinkUp | LinkMeasured | LinkStale | LinkSlept | LinkDown | LinkPaused
Event = ProbeEvent | LinkEvent | Foreseen
