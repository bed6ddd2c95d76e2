"""Values that every room shares. `None` is "the driver didn't say", never 0; units end names.

Nothing here is a colour, a formatted string or a live object.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.problem import Problem as Problem
from gpudash.core.processes import Ancestor as Ancestor
from gpudash.core.processes import ProcessInfo as ProcessInfo

TYPE_CHECKING = False  # typing takes 5 ms to import; a scan is seldom looked at
if TYPE_CHECKING:
    from gpudash.core.holding import Scan


class Kind(Enum):
    """How a process uses a GPU, in NVML's own letters."""

    COMPUTE = "C"
    GRAPHICS = "G"
    MPS = "M"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """One line of a GPU's process list."""

    pid: int
    """As the driver lists it: in a pid namespace that is not the host's, a host pid."""
    used_bytes: int | None
    """Device memory of this process on this GPU; None where the driver doesn't say."""
    kinds: frozenset[Kind]
    """Empty where the source doesn't tell."""
    name: str | None = None
    """As the driver names it; None where only the pid is known. Untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigReading:
    """One MIG device; memory belongs to the GPU instance and repeats for each compute instance."""

    gpu_instance: int
    compute_instance: int
    uuid: str | None
    profile: str | None
    """As in `3g.71gb`."""
    used_bytes: int | None
    total_bytes: int | None
    fault_code: int | None = None
    """NVML code that stood in the way of memory."""
    processes: tuple[GpuProcess, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuInfo:
    """What a GPU is; changes seldom."""

    index: int
    """Display only: it can change at each boot."""
    uuid: str | None
    """Identity; None where not even that could be read."""
    bus_id: str | None = None
    name: str | None = None
    total_bytes: int | None = None
    reserved_bytes: int | None = None
    """The driver's own reserve, apart from `used`."""
    power_limit_mw: int | None = None
    is_mig: bool = False
    is_remap_pending: bool = False
    """A broken memory row is to be replaced, which the next reset does."""
    has_remap_failed: bool = False
    """A broken memory row could not be replaced."""
    doubt: str = ""
    """Why 0 can't be proven whatever is read, as a clause: its health can't be told."""

    @property
    def key(self) -> str:
        """Identity within a host: the UUID, else the bus id, else the index."""
        return self.uuid or self.bus_id or f"index-{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """One GPU in one tick."""

    used_bytes: int | None = None
    """Allocated device memory as NVML v2 counts it."""
    utilisation_pct: int | None = None
    power_mw: int | None = None
    temperature_c: int | None = None
    sm_clock_mhz: int | None = None
    throttle_bits: int | None = None
    """nvmlClocksEventReasons bit mask."""
    pstate: int | None = None
    recovery_action: int | None = None
    processes: tuple[GpuProcess, ...] | None = None
    """None when the list could not be read or can't be trusted; empty when nobody is listed."""
    hidden_processes: int = 0
    """Processes that the driver lists without a pid: they exist and may not be named here."""
    mig: tuple[MigReading, ...] = ()
    memory_code: int | None = None
    """NVML code that stood in the way of `used_bytes`."""
    processes_code: int | None = None
    """NVML code that stood in the way of `processes`."""
    codes: frozenset[int] = frozenset()
    """Every NVML code met while this GPU was read."""
    doubt: str = ""
    """Why a 0 in this reading proves nothing, as a clause; empty when nothing is odd."""


class GpuState(Enum):
    """What can be said of a GPU in one tick, apart from how much is used. UNREAD: nothing yet."""

    READ = "read"
    LOST = "lost"
    NEEDS_RESET = "needs_reset"
    NEEDS_ATTENTION = "needs_attention"
    NO_PERMISSION = "no_permission"
    UNIFIED = "unified"
    UNREADABLE = "unreadable"
    MISSING = "missing"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU of the roster with its newest reading."""

    info: GpuInfo
    reading: GpuReading | None
    state: GpuState


class Owner(Enum):
    """Whose a holder is; colour on screen says this."""

    MINE = "mine"
    LEFTOVER = "leftover"
    """The user's own, with evidence that its purpose is gone (see core.cleanup.leftovers)."""
    FOREIGN = "foreign"
    UNKNOWN = "unknown"


class Link(Enum):
    """How a host's stream stands. STALE: no line for three intervals. HUNG: a driver call hangs."""

    CONNECTING = "connecting"
    LIVE = "live"
    STALE = "stale"
    HUNG = "hung"
    DOWN = "down"
    PAUSED = "paused"
    """The user released the driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What a probe said of its host when it began."""

    protocol: int
    source: str
    """`nvml`, `nvidia-smi` or `demo`."""
    python: str | None
    driver: str | None
    nvml: str | None
    boot_id: str | None
    uid: int | None
    pid_namespace: int | None
    is_simulated: bool = False
    lists_host_pids: bool = False
    """The driver's pids are known not to be those of the sampler's own pid namespace."""
    unsupported: tuple[str, ...] = ()
    """What this source can't tell, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """Who belongs together on a host, and what a cleanup would do to them; from a whole scan."""

    root_pid: int
    root_start_ticks: int
    members: frozenset[tuple[int, int]]
    """Pid and start of each."""
    dead: frozenset[int]
    """Dead pids whose memory they keep."""
    is_leftover: bool
    verb: str
    """`stop`, `ask` or `leave`."""
    words: str
    """Why, in two or three words: `7 leftovers`, `2 clients`."""
    evidence: str
    """What says that it is left over, as a clause; empty for one that is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host as known now."""

    name: str
    link: Link = Link.CONNECTING
    link_since_s: float = 0.0
    """Viewer's clock: when the link came to stand so."""
    facts: HostFacts | None = None
    gpus: tuple[Gpu, ...] = ()
    """In roster order; one that was known and is gone, or is expected, stays as MISSING."""
    expected_gpus: int | None = None
    """How many the configuration says there are; None where it says nothing."""
    processes: tuple[ProcessInfo, ...] = ()
    """What the hand knows, by ascending pid; a listed pid without one is not known."""
    listed: frozenset[int] = frozenset()
    """Pids on any process list of the newest tick; kept by the reducer."""
    gone_pids: frozenset[int] = frozenset()
    """Pids that the driver lists and the host does not know any more."""
    scan: Scan | None = None
    """The newest one of this boot."""
    scanned_s: float = 0.0
    """Viewer's clock when it came."""
    kin: tuple[Kin, ...] = ()
    """Families as the newest plan saw them; who is in none is judged by its ancestors."""
    problem: Problem | None = None
    interval_s: float = 1.0
    seq: int = -1
    """Of the newest sample."""
    host_monotonic_s: float | None = None
    received_s: float | None = None
    """Viewer's clock: arrival of the newest sample."""
    samples: int = 0
    """Complete ticks so far; the data version for caches."""
    retry: int = 0
    """How many attempts in a row failed."""
    is_invented: bool = False
    """Its source makes it up: known before it says a word."""
    transport: str = ""
    """How the host is reached: empty for this machine, `ssh`, `openssh: REASON`, a command."""
    link_notes: tuple[str, ...] = ()
    """What must be seen as long as the link lasts: `host key not checked …`."""
    round_trip_s: float | None = None
    """Of the newest ping over this link; None before the first, and where nothing answers one."""
    clock_offset_s: float | None = None
    """The host's wall clock minus the viewer's, known to half a round trip; kept for records."""

    @property
    def is_simulated(self) -> bool:
        """Tell whether what this host shows is invented, by its source or its own greeting."""
        return self.is_invented or (self.facts is not None and self.facts.is_simulated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One line of `what happened`."""

    at_s: float
    """Viewer's clock."""
    host: str
    words: str
    letter: str = ""
    """Of the family it is about."""
    owner: Owner | None = None
    tone: str = ""  # good, bad, warn, going, zero, proven or nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All hosts, in the order given by the user."""

    hosts: tuple[Host, ...] = ()
    happenings: tuple[Happening, ...] = ()
    """Newest first, bounded."""
    letters: tuple[tuple[tuple[str, int, int], str], ...] = ()
    """Family key (host, root pid, root start) to its letter, kept until the family is gone."""

    @property
    def is_simulated(self) -> bool:
        """Tell whether any host here is made up."""
        return any(host.is_simulated for host in self.hosts)

    def host(self, name: str) -> Host:
        """Return the host of that name. Raises KeyError."""
        for host in self.hosts:
            if host.name == name:
                return host
        raise KeyError(name)
