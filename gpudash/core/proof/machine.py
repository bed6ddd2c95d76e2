"""Steps of a proof: read an event as a sign, move along the table, ask for what is needed."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.errors import UsageError
from gpudash.core.holding import Scan
from gpudash.core.model import Fleet, Host
from gpudash.core.proof.evidence import Tick, speaks_for
from gpudash.core.proof.moves import MOVES, Case, Moved, ask_scan, slow_down
from gpudash.core.proof.naming import NAMING_S, explained, named
from gpudash.core.proof.phases import TABLE, Phase, Sign
from gpudash.core.proof.signs import Reading, quickest_after, sign_of
from gpudash.core.proof.talk import (
    Effects,
    Input,
    Moment,
    Observed,
    Restart,
    Scanned,
    Settle,
    Stop,
    Tell,
)
from gpudash.core.proof.values import HostProof, Policy, Proof


class IllegalEvent(Exception):
    """Input that can't be: a proof that was stopped, an unknown host, time that runs back."""


def begin(fleet: Fleet, policy: Policy, at_s: float) -> Proof:
    """Return the proof before its first event: NONE on every host in scope.

    Raises UsageError for a scope that names an unknown host, or for a hold of no time.
    """
    if policy.hold_s <= 0:
        raise UsageError("a hold of no time proves nothing", hint="Example: --hold 10s")
    names = tuple(host.name for host in fleet.hosts)
    if policy.scope is not None:
        policy.scope.check_hosts(names)
        names = tuple(name for name in names if policy.scope.concerns(name))
    hosts = (fleet.host(name) for name in names)
    return Proof(policy=policy, hosts=tuple(_unproven(host) for host in hosts), at_s=at_s)


def _unproven(host: Host) -> HostProof:
    """Return the proof on a host before its first event; what was heard before is not new."""
    if host.seq < 0 or host.host_monotonic_s is None or host.received_s is None:
        return HostProof(name=host.name)
    seen = Tick(seq=host.seq, host_s=host.host_monotonic_s, at_s=host.received_s)
    return HostProof(name=host.name, seen=seen)


def step(proof: Proof, told: Input, at_s: float) -> tuple[Proof, Effects]:
    """Return the proof after one input at `at_s` of the viewer's clock, and what it asks for.

    Raises IllegalEvent, with nothing changed, for input that can't be; UsageError for a scope
    that names a GPU which the host does not have.
    """
    if proof.is_stopped:
        raise IllegalEvent("the proof was stopped")
    if at_s < proof.at_s:
        raise IllegalEvent(f"time runs back from {proof.at_s} to {at_s}")
    match told:
        case Observed():
            host = _host(proof, told.host.name)
            return _with(proof, at_s, _observe(host, proof.policy, told, at_s))
        case Scanned():
            return _with(proof, at_s, _scanned(_host(proof, told.host), told.scan))
        case Restart():
            names = told.hosts or tuple(host.name for host in proof.hosts)
            moves = [_restarted(_host(proof, name)) for name in names]
            return _with(proof, at_s, *moves)
        case Settle():
            return _with(proof, at_s, *(_settled(host) for host in proof.hosts))
        case Stop():
            stopped = replace(proof, is_stopped=True)
            return _with(stopped, at_s, *(slow_down(host) for host in proof.hosts))


def _host(proof: Proof, name: str) -> HostProof:
    try:
        return proof.host(name)
    except KeyError:
        raise IllegalEvent(f"no proof is about {name!r}") from None


def _with(proof: Proof, at_s: float, *moves: Moved) -> tuple[Proof, Effects]:
    moved = {host.name: host for host, _ in moves}
    hosts = tuple(moved.get(host.name, host) for host in proof.hosts)
    effects = tuple(effect for _, some in moves for effect in some)
    return replace(proof, hosts=hosts, at_s=at_s), effects


def _restarted(proof: HostProof) -> Moved:
    anew = replace(
        proof,
        phase=TABLE[proof.phase, Sign.RESTARTED],
        evidence=None,
        broken=None,
        delay="",
        unwatched_since_s=None,
        quickest=None,
    )
    return slow_down(anew)


# -- one host ----------------------------------------------------------------------------------


def _observe(proof: HostProof, policy: Policy, observed: Observed, at_s: float) -> Moved:
    reading = sign_of(proof, policy, observed, at_s)
    effects: Effects = ()
    if reading is not None:
        proof, effects = _read(proof, policy, reading, observed.host, at_s)
    return _named(proof, observed.host, at_s, effects)


def _read(proof: HostProof, policy: Policy, reading: Reading, host: Host, at_s: float) -> Moved:
    sign = reading.sign
    if not policy.restarts:
        if sign is Sign.CLEAR and proof.phase is not Phase.NONE:
            # It was tried once, and that is over.
            return _noted(proof, reading, host), ()
        if reading.decides and proof.phase is Phase.NONE:
            sign = Sign.REFUSED
    after = _next(proof.phase, sign)
    case = Case(policy=policy, reading=reading, host=host, at_s=at_s, after=after)
    moved, effects = MOVES[sign](proof, case)
    if sign is Sign.INTERRUPTED and after is Phase.BROKEN and policy.restarts:
        # The same sample that broke a proof by what is missing before it is clear itself.
        clear = replace(reading, sign=Sign.CLEAR)
        again = replace(case, reading=clear, after=_next(after, Sign.CLEAR))
        moved, more = MOVES[Sign.CLEAR](moved, again)
        effects += more
    return _noted(moved, reading, host), effects


def _next(phase: Phase, sign: Sign) -> Phase:
    try:
        return TABLE[phase, sign]
    except KeyError:
        raise IllegalEvent(f"{sign} in {phase}") from None


def _noted(proof: HostProof, reading: Reading, host: Host) -> HostProof:
    """Keep what the event says beside where the proof stands."""
    judged = reading.judged or proof.judged
    tick = reading.tick
    if tick is not None:
        return replace(proof, judged=judged, seen=tick, quickest=quickest_after(proof, tick))
    return replace(
        proof,
        judged=judged,
        seen=proof.seen if host.seq >= 0 else None,
        quickest=reading.greeted or proof.quickest,
    )


def _named(proof: HostProof, host: Host, at_s: float, effects: Effects) -> Moved:
    """Try to say who broke it, while that is open."""
    broken = proof.broken
    if broken is None or broken.is_settled:
        return proof, effects
    now = named(broken, host, at_s)
    if now is broken:
        return proof, effects
    proof = replace(proof, broken=now)
    if now.is_settled:
        effects += (Tell(host=proof.name, moment=Moment.NAMED, broken=now),)
    return proof, effects


def _settled(proof: HostProof) -> Moved:
    """Ask nobody any more: what has no name by now is unexplained."""
    if proof.broken is None or proof.judged is None:
        return proof, ()
    return _named(proof, proof.judged.host, proof.broken.at_s + NAMING_S, ())


# -- scans -------------------------------------------------------------------------------------


def _scanned(proof: HostProof, scan: Scan | None) -> Moved:
    moment, proof = proof.scans_for, replace(proof, scans_for="")
    if scan is None:
        return proof, ()
    effects: Effects = ()
    if moment == "break" and proof.broken is not None and proof.judged is not None:
        now = explained(proof.broken, scan, proof.judged.host)
        is_news = now is not proof.broken and now.is_settled
        proof = replace(proof, broken=now)
        if is_news:
            effects += (Tell(host=proof.name, moment=Moment.NAMED, broken=now),)
    evidence = proof.evidence
    if evidence is None or not speaks_for(scan, evidence):
        return proof, effects
    if evidence.proven is not None and scan.host_monotonic_s >= evidence.proven.host_s:
        evidence = replace(evidence, last_scan=scan)
    elif evidence.first_scan is None:
        evidence = replace(evidence, first_scan=scan)
    proof = replace(proof, evidence=evidence)
    if evidence.proven is not None and evidence.last_scan is None and not proof.scans_for:
        proof, asked = ask_scan(proof, "end")
        effects += asked
    return proof, (*effects, Tell(host=proof.name, moment=Moment.SCANNED, evidence=evidence))
