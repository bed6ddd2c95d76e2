"""What a scan of one host's processes says: who has a GPU open, beside what the driver lists.

The driver attributes memory; a scan attributes handles. Neither alone is proof: a handle without
memory is an observer, memory of a dead pid is kept by whoever inherited its handle. A scan is one
pass over /proc by the hand; what it could not read is counted, never taken for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.processes import PROBE_MARK as PROBE_MARK
from gpudash.core.processes import is_probes_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which process is meant; a pid alone is none, for pids are used again (design §3)."""

    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat: clock ticks after boot."""
    uid: int
    exe: tuple[int, int] | None
    """Device and inode of the executable; None where it can't be read: another user's, a zombie."""


class Device(Enum):
    """What kind of device node a handle is for."""

    GPU = "gpu"
    CONTROL = "control"
    UVM = "uvm"
    MODESET = "modeset"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """One device that a process has open, or mapped; several descriptors of it are one."""

    device: Device
    gpu: str | None
    """Bus id of the GPU, as in its GpuInfo; `index-N` for a stand-in device; else None."""
    count: int = 1
    """Open descriptors; 0 for a device that is only mapped."""
    is_thread_only: bool = False
    """Seen only in /proc/PID/task/TID/fd: the main thread has ended."""
    is_path_only: bool = False
    """A mapping known by its path alone: nobody could ask for its device number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of a scan. Text in it is untrusted and cut to a few hundred characters."""

    identity: Identity
    parent: int
    group: int
    session: int
    terminal: int
    """Device number of the controlling terminal; 0 for none."""
    user: str
    comm: str
    argv: tuple[str, ...]
    exe_path: str | None
    cwd: str | None
    state: str
    """One letter of /proc/PID/stat; `Z` with living threads is a holder like any other."""
    threads: int
    """Living threads."""
    age_s: float
    cpu_ticks: int
    """User and system time of all its threads."""
    rss_bytes: int | None
    cgroup: str
    """Path in the unified hierarchy, else in systemd's or the first named one; empty if unknown."""
    pid_namespace: int | None
    """Inode; None where it can't be read."""
    namespace_pids: tuple[int, ...]
    """NSpid, outermost first, as seen from the scanner's namespace."""
    login_session: int | None
    """/proc/PID/sessionid; None where unset or unreadable."""
    hints: tuple[tuple[str, str], ...]
    """Picked variables of its environment (never one that may hold a secret); () if unreadable."""
    ports: tuple[int, ...]
    """TCP ports that it listens on, ascending."""
    clients: int
    """Established TCP connections to those ports."""
    handles: tuple[Handle, ...]
    is_readable: bool
    """Whether its descriptors could be read; otherwise it counts as not seen."""
    has_cuda: bool | None = None
    """Whether libcuda is loaded; None where that was not looked at or can't be read."""
    is_kernel: bool = False
    """A kernel thread."""
    tracer: int = 0
    """Pid of the debugger that it is attached to; 0 for none."""
    blocked: int = 0
    """Threads in uninterruptible sleep."""
    locked_bytes: int | None = None
    """VmLck; what CUDA pins shows in `rss_bytes` alone (measured on an H200)."""
    cpu_share: float | None = None
    """Cores that it used between two looks; None where one alone was taken: then it may work."""
    log_age_s: float | None = None
    """Seconds since it wrote to its output or a log that it has open; None for no such file."""
    recent_clients: int = 0
    """Connections to its ports that ended within the last minute (TIME_WAIT)."""
    is_saving: bool = False
    """Has a checkpoint open for writing, and it grows."""
    links: tuple[str, ...] = ()
    """What it shares with others beyond its first three descriptors, as `socket:INODE`,
    `pipe:INODE`, `shm:INODE`."""

    @property
    def pid(self) -> int:
        """Its pid in the scanner's namespace."""
        return self.identity.pid


class ManagerKind(Enum):
    """Who keeps a process running, and is to be asked before it is ended."""

    UNIT = "systemd unit"
    USER_UNIT = "systemd user unit"
    DOCKER = "docker container"
    PODMAN = "podman container"
    KUBERNETES = "Kubernetes pod"
    SLURM = "Slurm job"
    SUPERVISOR = "supervised program"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerFacts:
    """What a manager answered about one of its own; one that can't be asked has no such line."""

    kind: ManagerKind
    id: str
    """Unit, container id, pod uid, job, or program, as the planner named it in its question."""
    is_known: bool
    """False: the manager answers and knows no such thing any more."""
    restarts: bool | None = None
    """Whether it starts again what ends by itself."""
    stop_timeout_s: float | None = None
    """How long it waits before it forces."""
    name: str = ""
    """What people call it: a container's name, `NAMESPACE/POD`."""


class Existence(Enum):
    """What became of a pid that the driver lists and /proc does not show."""

    HIDDEN = "hidden"
    """Alive: kill(pid, 0) was refused; /proc hides it (hidepid)."""
    DEAD = "dead"
    """No such process, or a main thread that ended with no other living."""
    FOREIGN = "foreign"
    """A pid of the host's namespace, seen from inside another one: not looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One pass over the processes of a host."""

    host_monotonic_s: float
    """When it began, by the host's clock."""
    took_s: float
    boot_id: str | None
    processes: tuple[Process, ...]
    """By ascending pid: whoever has a handle, and their ancestors; all, if that was asked for."""
    is_whole: bool
    """Whether `processes` has all that could be seen."""
    seen: int
    """Processes whose descriptors were read."""
    unreadable: int
    """Processes that exist and whose descriptors could not be read."""
    listed: tuple[tuple[int, Existence], ...]
    """What became of each listed pid that /proc does not show as a living process."""
    own: tuple[int, ...]
    """The hand's own pid and its ancestors, then all other probes: never a target."""
    pid_namespace: int | None
    is_initial_namespace: bool
    """Whether the scanner sees the host's own pids."""
    is_simulated: bool = False
    """Device numbers came from a stand-in map."""
    has_maps: bool = False
    """Whether it also looked at what is mapped and not open."""
    notes: tuple[str, ...] = ()
    """What limited it, as sentences: hidepid, a container, maps that were not readable."""

    def process(self, pid: int) -> Process | None:
        """Return the process of that pid, if the scan has it."""
        return next((process for process in self.processes if process.pid == pid), None)


def is_probe(process: Process) -> bool:
    """Tell whether a process is a probe of gpudash, this one's or another's.

    By its words alone: NVML opens the node of unified memory too (driver 580), so a sampler's
    handles look like a tenant's. What the driver lists with memory is held all the same.
    """
    return is_probes_line(process.argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a verdict sees."""

    why: tuple[str, ...] = ()
    """What was not visible, as clauses; empty when all was."""

    @property
    def is_full(self) -> bool:
        """Tell whether nothing was hidden from the scan."""
        return not self.why

    @property
    def word(self) -> str:
        """Return `full` or `partial`, as in JSON."""
        return "full" if self.is_full else "partial"


def reach_of(scan: Scan | None) -> Reach:
    """Return how far a scan saw; without one nothing is known but the memory."""
    if scan is None:
        return Reach(why=("processes not scanned",))
    why = list(scan.notes)
    if not scan.is_initial_namespace:
        why.append("processes outside this container not visible")
    if scan.unreadable:
        few = scan.unreadable == 1
        why.append(f"{scan.unreadable} process{'' if few else 'es'} not readable")
    return Reach(why=tuple(why))
