"""Sums over hosts, counted anew only where something changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.model import Link
from gpudash.ui.paint.tally import Ledger, all_holders, tally
from tests.ui import fleets

FLEETS = [fleets.busy(), fleets.three_hosts(), fleets.errors(), fleets.paused(), fleets.many(9)]


@pytest.mark.parametrize("fleet", FLEETS)
def test_a_ledger_counts_what_a_fresh_tally_counts(fleet: fleets.Fleet) -> None:
    ledger = Ledger()
    for _ in range(2):
        assert ledger.all_holders(fleet) == all_holders(fleet)
        assert ledger.tally(fleet) == tally(fleet, all_holders(fleet))


def test_a_changed_host_is_counted_again() -> None:
    ledger = Ledger()
    fleet = fleets.three_hosts()
    before = ledger.tally(fleet)
    first = ledger.holders_of(fleet, fleet.hosts[0])
    assert ledger.holders_of(fleet, fleet.hosts[0]) is first
    quiet = replace(fleet.hosts[0], link=Link.STALE)
    after = ledger.tally(replace(fleet, hosts=(quiet, *fleet.hosts[1:])))
    assert before.gpus_read - after.gpus_read == 8
    assert quiet in after.silent


def test_what_is_not_read_counts_as_nothing() -> None:
    count = tally(fleets.paused(), all_holders(fleets.paused()))
    assert (count.gpus, count.gpus_read, count.used_bytes, count.holders) == (8, 0, 0, ())
