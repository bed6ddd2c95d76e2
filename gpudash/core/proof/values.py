"""The values of a proof: what it is about and where each host stands."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.errors import ExitCode, worst
from gpudash.core.holding import Reach
from gpudash.core.proof.breaks import Break
from gpudash.core.proof.evidence import Basis, Evidence, Tick
from gpudash.core.proof.phases import Phase, State
from gpudash.core.scope import Scope
from gpudash.core.verify import HostVerdict

HOLD_S = 10.0
INTERVAL_S = 0.25
"""Four samples a second, while holding."""
GAP_INTERVALS = 3
RATE_TICKS = 2
"""So many samples may still come at the slower rate after the faster one was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is to be proven, and how."""

    hold_s: float = HOLD_S
    scope: Scope | None = None
    """None: every GPU of every host."""
    baselines: Baselines = NO_BASELINES
    free_bytes: int | None = None
    """Prove that each GPU in scope has so much free, instead of zero."""
    restarts: bool = False
    """After a break the next clear sample begins a new hold (`wait`, the dashboard)."""
    interval_s: float = INTERVAL_S
    """Wanted between samples while holding."""

    @property
    def most_gap_s(self) -> float:
        """Between two samples of a hold, on the host's clock."""
        return GAP_INTERVALS * self.interval_s

    @property
    def least_samples(self) -> int:
        """So many samples carry a hold at least."""
        return max(2, -int(-self.hold_s // self.interval_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProof:
    """The proof on one host."""

    name: str
    phase: Phase = Phase.NONE
    evidence: Evidence | None = None
    """Of the hold under way or the proof; after a break, of what broke; None before the first."""
    broken: Break | None = None
    """The newest break; it stays while a new hold begins."""
    judged: HostVerdict | None = None
    """The newest verdict; None before the first event."""
    delay: str = ""
    """Why the hold began anew or stands still, as a clause; empty while all is well."""
    unwatched_since_s: float | None = None
    """Viewer's clock, of the newest sample, while SUSPENDED, UNWATCHED or LAPSED."""
    seen: Tick | None = None
    """The newest sample of this probe, clear or not."""
    quickest: Tick | None = None
    """The greeting or sample of this probe that came soonest after it was read."""
    is_fast: bool = False
    """The faster rate was asked for and not given back."""
    patience: int = 0
    """So many gaps right after the faster rate was asked for are no failure of the hold."""
    scans_for: str = ""
    """What a scan was asked for: `start`, `end`, `break`; empty when none is under way."""

    @property
    def state(self) -> State:
        """Return the state in the words of design §2."""
        return self.phase.state

    @property
    def is_proven(self) -> bool:
        """Tell whether it is proven and watched right now."""
        return self.phase is Phase.PROVEN

    @property
    def held_s(self) -> float:
        """Seconds of the hold or proof so far, on the host's clock; 0 without one."""
        running = self.phase not in (Phase.NONE, Phase.BROKEN)
        return self.evidence.held_s if running and self.evidence else 0.0

    @property
    def exit_code(self) -> ExitCode:
        """Return 0 when proven, else what stands in the way; a hold that runs is UNKNOWN."""
        if self.is_proven:
            return ExitCode.OK
        if self.phase is Phase.BROKEN and self.broken is not None:
            return self.broken.exit_code
        if self.judged is not None and self.judged.exit_code is not ExitCode.OK:
            return self.judged.exit_code
        return ExitCode.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The proof over all hosts in scope; each holds on its own clock."""

    policy: Policy
    hosts: tuple[HostProof, ...]
    at_s: float
    """Viewer's clock, of the newest event."""
    is_stopped: bool = False

    def host(self, name: str) -> HostProof:
        """Return the proof on a host. Raises KeyError."""
        for host in self.hosts:
            if host.name == name:
                return host
        raise KeyError(name)

    @property
    def state(self) -> State:
        """The first of BROKEN, NONE, HOLDING, PROVEN that any host is in; no host is NONE."""
        states = {host.state for host in self.hosts}
        order = (State.BROKEN, State.NONE, State.HOLDING, State.PROVEN)
        return next((state for state in order if state in states), State.NONE)

    @property
    def is_proven(self) -> bool:
        """Tell whether every host is proven and watched right now."""
        return bool(self.hosts) and all(host.is_proven for host in self.hosts)

    @property
    def is_over(self) -> bool:
        """Tell whether a proof that is tried once is decided on every host."""
        if self.policy.restarts:
            return False
        return all(host.state in (State.PROVEN, State.BROKEN) for host in self.hosts)

    @property
    def is_explained(self) -> bool:
        """Tell whether no scan that was asked for is still under way."""
        return not any(host.scans_for for host in self.hosts)

    @property
    def exit_code(self) -> ExitCode:
        """Return the worst over all hosts; `wait` makes 5 of a hold that ran out of time."""
        return worst(host.exit_code for host in self.hosts)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Return what carries the proof, host by host."""
        return tuple(host.evidence for host in self.hosts if host.evidence is not None)

    @property
    def basis(self) -> Basis | None:
        """Return what is held on all hosts together; None while nothing is."""
        found = {evidence.basis for evidence in self.evidence}
        return next((basis for basis in reversed(Basis) if basis in found), None)

    @property
    def reach(self) -> Reach:
        """Return how far it sees; with several hosts each clause names its host."""
        if len(self.hosts) == 1:
            return next((one.reach for one in self.evidence), Reach(why=("not read yet",)))
        whys = ((one.host, clause) for one in self.evidence for clause in one.reach.why)
        return Reach(why=tuple(f"{host}: {clause}" for host, clause in whys))

    @property
    def is_simulated(self) -> bool:
        """Tell whether any reading in it is made up."""
        return any(
            evidence.is_simulated or (evidence.scan is not None and evidence.scan.is_simulated)
            for evidence in self.evidence
        )
