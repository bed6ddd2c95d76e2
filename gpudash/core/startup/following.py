"""A start-up that is being followed, as screens, reports and records take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudash.core.scope import Scope
from gpudash.core.startup.history import Delta, Eta, PastRun
from gpudash.core.startup.model import Startup

Curve = tuple[tuple[float, int], ...]
"""Seconds since the start-up began and bytes used, oldest first."""

_WORDS = {
    "path": "{}",
    "pid": "output of pid {}",
    "unit": "journal of {}",
    "container": "docker logs {}",
    "podman": "podman logs {}",
    "pod": "kubectl logs {}",
    "pane": "tmux pane {}",
    "argv": "{}",
    "stdin": "standard input",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """Where a log comes from, on its host."""

    kind: str
    """`path`, `pid`, `unit`, `container`, `podman`, `pod`, `pane`, `argv` or `stdin`."""
    value: str
    """A path, a number, a name; a pod may be `NAMESPACE/NAME`."""
    argv: tuple[str, ...] = ()
    """Of kind `argv`: the command that prints the log."""

    @property
    def words(self) -> str:
        """Return what to call it."""
        return _WORDS[self.kind].format(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowSpec:
    """What is to be followed."""

    host: str
    source: LogSource
    name: str = ""
    """What is started, short; found from the command or the source where it is empty."""
    command: str = ""
    """Masked; empty where nobody knows it."""
    url: str | None = None
    """The health URL, seen from the host; READY needs its answer then."""
    pid: int | None = None
    """The root of what is started, where it is known."""
    gpus: tuple[str, ...] | None = None
    """UUIDs; None: those that the process tree holds."""
    scope: Scope | None = None
    """GPUs as the user named them."""
    start: str = "anchor"
    """Where to begin: `anchor` (the newest start in the log), `start` or `end`."""
    place: tuple[int, int] | None = None
    """Inode and offset where its own output begins, if that is known: nothing before it counts."""
    outlives_writer: bool = False
    """Who writes the log may end and another go on: only the log tells of an end."""
    stays: bool = False
    """Go on after READY."""
    is_finished: bool = False
    """The log is read to its end and no further (`--once`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What is seen of a process beside its log; None is not known."""

    silent_s: float = 0.0
    """Since the last byte of the log or move of a bar."""
    read_bps: float | None = None
    """From disk or network, over the whole tree."""
    cpu_pct: float | None = None
    """Of one core, over the whole tree."""
    gpu_pct: float | None = None
    """The busiest of its GPUs."""
    processes: int | None = None
    """Of the tree that are alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One start-up as it is known now."""

    name: str
    """What is started, short: `launch_server`, a unit's or a container's name."""
    host: str
    command: str
    """Masked; empty where nobody knows it."""
    source: LogSource
    startup: Startup
    started_s: float
    """Viewer's clock: when it began, or when it was first seen."""
    now_s: float
    gpus: tuple[str, ...] = ()
    """UUIDs watched."""
    memory: Mapping[str, Curve] = field(default_factory=dict)
    """Per GPU."""
    life: Life = Life()
    stall: str = ""
    """What is observed in a silence; empty while there is none."""
    stall_hint: str = ""
    eta: Eta | None = None
    deltas: tuple[Delta, ...] = ()
    """Beside the earlier start-up of the same command."""
    earlier: PastRun | None = None
    previous: Startup | None = None
    """The run before in the same log, where it was restarted."""
    health: str = ""
    """The newest answer of the health URL in words."""
    url: str | None = None
    pid: int | None = None
    has_exited: bool = False
    exit_code: int | None = None
    """None while it runs, or where nobody can tell."""
    ending: str = ""
    """Why it is followed no further, in words; empty while it is."""
    log: str = ""
    """What happened to its log since it last said something; empty while all is well."""
    link: str = ""
    """Why nothing is heard of the host now; empty while all is well."""
    is_simulated: bool = False

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more is to come."""
        return bool(self.ending)
