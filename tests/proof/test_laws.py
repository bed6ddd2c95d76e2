"""What must hold for every trace: no proof that was not so, and a judge that would notice."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudash.core import fleet as reducer
from gpudash.core.events import Event, Sample
from gpudash.core.model import Fleet, Host
from gpudash.core.proof import Observed, Policy, State, begin, step
from tests.core.making import HOST, events, hello, reading, roster
from tests.proof.mutants import MUTANTS, Mutant
from tests.proof.traces import Trace, make_trace
from tests.proof.trial import try_seed, try_trace

TRACES = 4_000
MOST_TRACES = 10_000
LEAST_SHARE = 0.10


def test_no_proof_is_false_and_every_kind_of_end_is_common(
    capsys: pytest.CaptureFixture[str],
) -> None:
    proofs = breaks = unknowns = 0
    for seed in range(TRACES):
        trace, outcome = try_seed(seed)
        assert outcome.said == [], f"seed {seed}: {trace.what}"
        proofs += outcome.is_proven
        breaks += outcome.is_broken
        unknowns += outcome.is_unknown
    shares = [count / TRACES for count in (proofs, breaks, unknowns)]
    with capsys.disabled():
        words = zip(("proofs", "breaks", "unknowns"), shares, strict=True)
        print(" " + ", ".join(f"{word} {share:.0%}" for word, share in words), end=" ")
    assert min(shares) >= LEAST_SHARE


def test_there_are_enough_broken_verifiers() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 20


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_verifier_is_caught(mutant: Mutant) -> None:
    with mutant.at_work():
        caught = any(try_seed(seed)[1].said for seed in range(MOST_TRACES))
    assert caught


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_no_proof_is_false_wherever_one_looks(chance: Random) -> None:
    trace = make_trace(chance)
    assert try_trace(trace).said == [], trace.what


@settings(max_examples=200, deadline=None)
@given(st.lists(events, max_size=12), st.integers(0, 12), st.integers(1, 3))
def test_no_proof_is_false_among_arbitrary_events(
    noise: list[Event], place: int, gpus: int
) -> None:
    """Put what hypothesis finds into the middle of a hold, or before it, or after it."""
    clean = [
        Sample(
            seq=seq,
            host_monotonic_s=100 + seq * 0.25,
            readings=(reading(0),) * gpus,
        )
        for seq in range(10, 22)
    ]
    heard = [hello(*roster(gpus)), *clean[:place], *noise, *clean[place:]]
    trace = Trace(events=[(100 + number * 0.25, event) for number, event in enumerate(heard)])
    assert try_trace(trace).said == []


@settings(max_examples=200, deadline=None)
@given(st.lists(events, max_size=20), st.booleans())
def test_any_events_leave_a_proof_in_a_legal_state(heard: list[Event], restarts: bool) -> None:
    host = Host(name=HOST)
    proof = begin(Fleet(hosts=(host,)), Policy(hold_s=1.0, restarts=restarts), 0.0)
    for number, event in enumerate([hello(*roster(1)), *heard]):
        host = reducer.step(host, event, float(number))
        proof, _ = step(proof, Observed(event=event, host=host), float(number))
        (one,) = proof.hosts
        assert (one.evidence is not None) or one.state in (State.NONE, State.BROKEN)
        assert (one.broken is not None) or one.state is not State.BROKEN
        assert not one.is_proven or proof.exit_code == 0
