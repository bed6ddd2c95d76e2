"""Runs a trace through the product's verifier and lets the judge look at what it claimed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from gpudash.core import fleet as reducer
from gpudash.core.model import Fleet, Host
from gpudash.core.proof import (
    CLAIMS,
    Basis,
    Moment,
    Observed,
    Policy,
    Proof,
    Tell,
    begin,
    step,
)
from gpudash.core.scope import Scope, parse_scope
from tests.core.making import HOST
from tests.proof.judge import Claim, complaints
from tests.proof.traces import HOLD_S, Trace, clean_tail, make_trace

TAIL = 7
"""So many clean samples at the end must have made a proof: a hold has five."""


@dataclass(slots=True)
class Outcome:
    """What became of one trace."""

    said: list[str]
    """What the judge has to complain of; nothing when all is well."""
    is_proven: bool = False
    """It was, at some time."""
    is_broken: bool = False
    """A hold or a proof was broken by memory."""
    is_unknown: bool = False
    """A reading, a link, a boot or a roster stood in the way at some time."""


def try_seed(seed: int) -> tuple[Trace, Outcome]:
    """Make the trace of a seed and try it."""
    trace = make_trace(Random(seed))
    return trace, try_trace(trace)


def try_trace(trace: Trace) -> Outcome:
    """Run a trace through the verifier, then judge it."""
    claims: list[Claim] = []
    outcome = Outcome([])
    host = Host(name=HOST)
    proof = begin(Fleet(hosts=(host,)), _policy(trace), 0.0)
    for index, (at_s, event) in enumerate(trace.events):
        host = reducer.step(host, event, at_s)
        proof, effects = step(proof, Observed(event=event, host=host), at_s)
        for effect in effects:
            if isinstance(effect, Tell) and effect.broken and effect.moment is Moment.BROKE:
                is_claim = effect.broken.kind in CLAIMS
                outcome.is_broken |= is_claim
                outcome.is_unknown |= not is_claim
        if proof.is_proven:
            claims.append(_claim(proof, index))
    outcome.is_proven = bool(claims)
    outcome.said = complaints(trace, claims)
    if clean_tail(trace) >= TAIL and not proof.is_proven:
        outcome.said.append("not proven after a clean hold")
    return outcome


def _policy(trace: Trace) -> Policy:
    scope: Scope | None = None
    if trace.scope is not None:
        scope = parse_scope(",".join(f"GPU-{index}" for index in trace.scope))
    return Policy(hold_s=HOLD_S, scope=scope, baselines=trace.baselines, restarts=True)


def _claim(proof: Proof, index: int) -> Claim:
    (evidence,) = proof.evidence
    proven = evidence.proven
    return Claim(
        index=index,
        first_seq=evidence.first.seq,
        last_seq=evidence.last.seq,
        proven_seq=proven.seq if proven else -1,
        samples=evidence.samples,
        is_zero=proof.basis is Basis.ZERO,
        uuids=evidence.uuids,
    )
