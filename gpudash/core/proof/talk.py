"""What a proof is told, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.events import Event
from gpudash.core.holding import Scan
from gpudash.core.model import Host
from gpudash.core.proof.breaks import Break
from gpudash.core.proof.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One event of a host, and the host after it."""

    event: Event
    host: Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A scan of a host's processes came; None when it failed."""

    host: str
    scan: Scan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """The user wants the proof anew."""

    hosts: tuple[str, ...] = ()
    """On these; empty: on all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The proof isn't wanted any more; nothing may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """Nobody asks any more who broke it: what is known by now is all."""


Input = Observed | Scanned | Restart | Settle | Stop


# -- what a proof asks for ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRate:
    """Let a host's sampler tick at this interval; None gives the rate back."""

    host: str
    interval_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestScan:
    """Scan a host's processes and tell the result (`Scanned`)."""

    host: str
    moment: str
    """`start`, `end` or `break`."""


class Moment(Enum):
    """What is told and recorded."""

    BEGAN = "began"
    ANEW = "began anew"
    """A gap: the hold under way begins again with this sample."""
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    PROVEN = "proven"
    """This host; `Proof.is_proven` says whether it was the last one."""
    BROKE = "broke"
    NAMED = "named"
    """Who broke it is known now, or will never be."""
    LAPSED = "lapsed"
    SCANNED = "scanned"
    """A scan came: reach and handles are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Show and record that something happened on one host."""

    host: str
    moment: Moment
    broken: Break | None = None
    """Of BROKE and NAMED."""
    evidence: Evidence | None = None
    """As it stood then; of BROKE, what had been held."""


Effect = SetRate | RequestScan | Tell
Effects = tuple[Effect, ...]
