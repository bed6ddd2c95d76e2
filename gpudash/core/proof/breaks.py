"""What broke a proof or a hold, named: which GPU, how much, who, and since when it was clear.

Who it was is often known a moment later: the driver lists a pid when its context is ready, and
the hand then says whose it is. Until then a break is not settled, and nobody is alarmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.errors import ExitCode
from gpudash.core.model import GpuState, Host, Link, Owner
from gpudash.core.proof.evidence import Evidence
from gpudash.core.readings import held_bytes
from gpudash.core.units import format_duration, format_memory, index_list
from gpudash.core.verify import GpuVerdict, HostVerdict


class BreakKind(Enum):
    """Why a proof ended."""

    CLAIM = "claim"
    """Memory is held; whose it is isn't known yet."""
    LAUNCH = "launch"
    """A process of the user's own that started after the hold began: no alarm."""
    MINE = "mine"
    """A process of the user's own that ran before."""
    FOREIGN = "foreign"
    """Another user's."""
    UNEXPLAINED = "unexplained"
    """Memory is held and nobody can be named for it."""
    GPU_LOST = "gpu lost"
    RESET = "reset"
    """A reset or another recovery action is recommended."""
    UNKNOWN = "unknown"
    """A reading is missing, partial or garbled, or can't prove zero."""
    STALE = "stale"
    """Readings are missing that never came, or came with a gap."""
    LINK = "link"
    """The host is not read any more."""
    RESTARTED = "restarted"
    """The probe began anew."""
    REBOOTED = "rebooted"
    ROSTER = "roster"
    """The host has other GPUs than when the hold began."""


CLAIMS = frozenset(
    {
        BreakKind.CLAIM,
        BreakKind.LAUNCH,
        BreakKind.MINE,
        BreakKind.FOREIGN,
        BreakKind.UNEXPLAINED,
    }
)
ALARMS = frozenset({BreakKind.FOREIGN, BreakKind.UNEXPLAINED})
"""Kinds that ring a bell; the user's own start is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who took memory. Text in it is cleaned and cut."""

    pid: int
    """As the driver lists it."""
    command: str = ""
    """Its command line; empty where nothing is known but the pid."""
    user: str = ""
    owner: Owner = Owner.UNKNOWN
    used_bytes: int | None = None
    """On the GPU of the break; None where the driver doesn't say."""
    is_host_pid: bool = False
    """A pid of the host's namespace, seen from inside another one: never looked up."""
    is_gone: bool = False
    """It had ended before anybody could say who it was."""
    is_hidden: bool = False
    """It lives, and /proc does not show it: another user's."""

    @property
    def is_known(self) -> bool:
        """Tell whether no more will be known of it."""
        return bool(self.command) or self.is_host_pid or self.is_hidden

    @property
    def words(self) -> str:
        """Return `pid 4711 python train.py (ana)` as far as it is known."""
        pid = f"host pid {self.pid}" if self.is_host_pid else f"pid {self.pid}"
        command = f" {self.command}" if self.command else ""
        user = f" ({self.user})" if self.user else ""
        if self.is_hidden:
            return f"{pid}, another user's, hidden by hidepid"
        return f"{pid}{command}{user}{' is dead' if self.is_gone else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """The end of a hold or a proof on one host."""

    kind: BreakKind
    host: str
    at_s: float
    """Viewer's clock."""
    host_s: float | None
    """Host's clock, of the sample that showed it; None where none did."""
    clear_s: float | None
    """How long it was clear until then, on the host's clock; None where it never was."""
    was_proven: bool
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that it is about."""
    gpu_uuid: str | None = None
    """Of the first of them."""
    delta_bytes: int | None = None
    """How much more the first of them holds than in the last clear reading."""
    before_bytes: int = 0
    """What it held then."""
    who: Claimant | None = None
    suspects: tuple[Claimant, ...] = ()
    """Who has that GPU open by a scan, where nobody is listed for its memory."""
    reason: str = ""
    """A clause: what stands in the way, in the words of the verdict or the link."""
    exit_code: ExitCode
    is_settled: bool = True
    """No more will be known about it."""

    @property
    def is_alarm(self) -> bool:
        """Tell whether somebody should be told with a bell."""
        return self.is_settled and self.was_proven and self.kind in ALARMS


def break_sentence(broken: Break, at: str = "") -> str:
    """Return the one sentence that names a break; `at` is its time as the viewer reads it.

    `was clear for 4m 12s; GPU 3: +512 MiB, pid 4711 python train.py (ana) at 12:07:23`
    """
    before = ""
    if broken.clear_s is not None:
        before = f"was clear for {format_duration(broken.clear_s, tenths=True)}; "
    return f"{before}{_what(broken)}{f' at {at}' if at else ''}"


def _what(broken: Break) -> str:
    many = len(broken.gpus) > 1
    where = f"GPU{'s' if many else ''} {index_list(list(broken.gpus))}: " if broken.gpus else ""
    if broken.kind not in CLAIMS:
        return f"{where}{broken.reason}"
    amount = broken.reason
    if broken.delta_bytes:
        sign = "" if broken.clear_s is None else "+"
        amount = f"{'first ' if many else ''}{sign}{format_memory(broken.delta_bytes)}"
    names = ", ".join(suspect.words for suspect in broken.suspects[:3])
    if broken.who is not None:
        kept = f", its memory kept by {names}" if names and broken.who.is_gone else ""
        return f"{where}{amount}, {broken.who.words}{kept}"
    if names:
        return f"{where}{amount}, nobody listed; open by {names}"
    return f"{where}{amount}, {'nobody listed' if broken.is_settled else 'by whom is asked'}"


# -- how a break comes about -------------------------------------------------------------------


def break_of_verdict(
    judged: HostVerdict,
    at_s: float,
    evidence: Evidence | None,
    *,
    is_partial: bool = False,
    was_proven: bool,
) -> Break:
    """Return the break that a sample without a clear verdict is."""
    host = judged.host
    bad = tuple(gpu for gpu in judged.gpus if gpu.exit_code is not ExitCode.OK)
    held = tuple(gpu for gpu in bad if gpu.is_certainly_held)
    about = held or bad
    first = about[0] if about else None
    before = min(_before(first, evidence), _held(first)) if first else 0
    kind = BreakKind.UNKNOWN if is_partial else _kind(judged, first)
    return Break(
        kind=kind,
        host=host.name,
        at_s=at_s,
        host_s=host.host_monotonic_s,
        clear_s=evidence.held_s if evidence else None,
        was_proven=was_proven,
        gpus=tuple(gpu.gpu.info.index for gpu in about if not judged.reason),
        gpu_uuid=first.gpu.info.uuid if first else None,
        delta_bytes=_held(first) - before if first and held else None,
        before_bytes=before,
        reason=judged.reason or (first.reason if first else "not clear"),
        exit_code=judged.exit_code,
        is_settled=kind is not BreakKind.CLAIM,
    )


def break_of_link(
    kind: BreakKind,
    reason: str,
    host: Host,
    at_s: float,
    evidence: Evidence | None,
    *,
    was_proven: bool,
) -> Break:
    """Return the break that a change of the link, the probe or the roster is."""
    problem = host.problem
    return Break(
        kind=kind,
        host=host.name,
        at_s=at_s,
        host_s=None,
        clear_s=evidence.held_s if evidence else None,
        was_proven=was_proven,
        reason=reason,
        exit_code=problem.exit_code if problem else ExitCode.UNKNOWN,
    )


def _kind(judged: HostVerdict, first: GpuVerdict | None) -> BreakKind:
    if first is None or judged.host.link is not Link.LIVE:
        return BreakKind.UNKNOWN
    if first.is_certainly_held:
        return BreakKind.CLAIM
    match first.gpu.state:
        case GpuState.LOST | GpuState.MISSING:
            return BreakKind.GPU_LOST
        case GpuState.NEEDS_RESET | GpuState.NEEDS_ATTENTION:
            return BreakKind.RESET
        case _:
            return BreakKind.UNKNOWN


def _held(gpu: GpuVerdict) -> int:
    return held_bytes(gpu.gpu.reading)[0]


def _before(gpu: GpuVerdict, evidence: Evidence | None) -> int:
    """Return what a GPU held in the last clear reading."""
    gpus = evidence.gpus if evidence else ()
    return next((old.last_bytes for old in gpus if old.info.key == gpu.gpu.info.key), 0)
