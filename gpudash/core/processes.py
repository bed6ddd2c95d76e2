"""What /proc says of one process and of those above it."""

from __future__ import annotations

from dataclasses import dataclass

PROBE_MARK = "import sys,zlib;sys.version_info"
"""How the program on a probe's command line begins, wherever it runs."""


def is_probes_line(argv: tuple[str, ...]) -> bool:
    """Tell whether a command line is one of gpudash's probes."""
    return any(word.startswith(PROBE_MARK) for word in argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """One step up from a process."""

    pid: int
    start_ticks: int
    uid: int
    comm: str
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessInfo:
    """What /proc says of a process; from the hand."""

    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat: clock ticks after boot. With the pid it is an identity."""
    uid: int
    user: str
    comm: str
    argv: tuple[str, ...]
    """Cut to a few hundred bytes; empty for a zombie."""
    state: str
    """One letter, as in /proc/PID/stat."""
    age_s: float
    """Seconds since start on the host's clock, at `known_at_s`."""
    known_at_s: float = 0.0
    """Viewer's clock when the answer came."""
    ancestors: tuple[Ancestor, ...] = ()
    """From the parent upwards, without pid 1."""

    @property
    def has_ended(self) -> bool:
        """Tell whether its main thread ended and nobody took note: it is not called alive."""
        return self.state == "Z"

    def age(self, now_s: float) -> float:
        """Return seconds since start at a time of the viewer's clock."""
        return self.age_s + max(0.0, now_s - self.known_at_s)
