"""Real readings with their right answers: held over a hold, only what is clear is a proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpudash.core.events import Sample
from gpudash.core.model import Fleet
from gpudash.core.proof import Observed, Policy, begin, step
from tests.core.test_reading_cases import read_case, text_cases


@pytest.mark.parametrize("case", text_cases())
def test_a_reading_that_stays_is_proven_only_where_it_is_clear(case: dict[str, Any]) -> None:
    host = read_case(case)
    proof = begin(Fleet(hosts=(replace(host, seq=-1),)), Policy(hold_s=1.0, restarts=True), 0.0)
    was_proven = False
    for seq in range(1, 8):
        at_s = seq * 0.25
        now = replace(host, seq=seq, host_monotonic_s=at_s, received_s=at_s)
        readings = tuple(gpu.reading for gpu in host.gpus if gpu.reading is not None)
        event = Sample(seq=seq, host_monotonic_s=at_s, readings=readings)
        proof, _ = step(proof, Observed(event=event, host=now), at_s)
        was_proven |= proof.is_proven
    assert was_proven is (case["expected"]["clear"] == "yes")
