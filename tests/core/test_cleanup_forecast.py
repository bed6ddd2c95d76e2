"""What keys on a plan agree to, and what it would leave."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.cleanup.consent import chosen
from gpudash.core.cleanup.forecast import can_be_keyed, forecast, given_for
from gpudash.core.cleanup.outcomes import Ending, Outcome
from gpudash.core.cleanup.plan import Action, Consent, Plan
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Owner
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines


def demo_plan() -> Plan:
    """Return the plan of the demo's leftovers: one to stop, one to ask for, one of ana's."""
    (machine,) = machines(parse_scenario("leftovers"), 1)
    fleet = new_fleet(("gpu-a",), 0.0)
    sampler, hand = Sampler(machine, 1.0), Hand(machine)
    for event in LineDecoder(TOKEN).feed(sampler.greeting(0.0) + sampler.tick(1.0)):
        fleet = apply(fleet, "gpu-a", event, 1.0)
    pids = sorted(fleet.hosts[0].listed)
    command = encode_command(1, "scan", pids=pids, all=True)
    for event in LineDecoder(TOKEN).feed(hand.greeting(1.0) + hand.answer(command, 1.0)):
        fleet = apply(fleet, "gpu-a", event, 1.0)
    host = fleet.hosts[0]
    assert host.scan is not None
    return plan_host(host, host.scan, Request(), at_s=1.0)


PLAN = demo_plan()
STOP, ASK, LEAVE = PLAN.families


def test_the_demo_has_one_of_each() -> None:
    assert [one.action for one in PLAN.families] == [Action.STOP, Action.ASK, Action.LEAVE]
    assert STOP.dead == (48220,)
    assert [one.name for one in PLAN.kept if one.action is Action.NEVER] == [
        "nv-fabricmanager",
        "nv-hostengine",
        "nvidia-persistenced",
    ]


@pytest.mark.parametrize(
    ("toggled", "picked"),
    [
        ((), (STOP,)),
        ((ASK,), (STOP, ASK)),
        ((STOP,), ()),
        ((STOP, ASK), (ASK,)),
        ((LEAVE,), (STOP,)),
        ((STOP, ASK, LEAVE), (ASK,)),
    ],
)
def test_what_y_agrees_to(toggled: tuple, picked: tuple) -> None:  # type: ignore[type-arg]
    agreed = given_for(PLAN, frozenset(one.id for one in toggled))
    assert chosen(PLAN, agreed) == {one.id for one in picked}
    assert agreed.is_confirmed == bool(picked)


NEEDS = st.frozensets(st.sampled_from(tuple(Consent)))


@given(needs=st.tuples(NEEDS, NEEDS, NEEDS), turned=st.frozensets(st.integers(0, 2)))
def test_no_key_agrees_to_what_needs_more_than_a_key(
    needs: tuple[frozenset[Consent], ...], turned: frozenset[int]
) -> None:
    families = tuple(
        replace(
            family,
            needs=tuple(need for need in Consent if need in wanted),
            action=_action(wanted),
        )
        for family, wanted in zip(PLAN.families, needs, strict=True)
    )
    plan = replace(PLAN, families=families)
    toggled = frozenset(families[place].id for place in turned)
    picked = chosen(plan, given_for(plan, toggled))
    for family in families:
        is_wanted = can_be_keyed(family) and (
            (family.action is Action.STOP) != (family.id in toggled)
        )
        assert (family.id in picked) == is_wanted
        if {Consent.NAME, Consent.PRINTED, Consent.SCOPE} & set(family.needs):
            assert family.id not in picked


def _action(needs: frozenset[Consent]) -> Action:
    if not needs:
        return Action.STOP
    if needs & {Consent.NAME, Consent.PRINTED, Consent.SCOPE}:
        return Action.LEAVE
    return Action.ASK


def test_what_it_leaves() -> None:
    cells = forecast(PLAN, frozenset({STOP.id}))
    assert [one.owner for one in cells] == [
        *[Owner.LEFTOVER] * 3,
        None,
        *[Owner.LEFTOVER] * 4,
    ]
    assert [one.left_owner for one in cells] == [*[None] * 5, Owner.FOREIGN, Owner.MINE, None]
    assert sum(one.left_bytes for one in cells) == (3_482 + 4_198) << 20
    assert all(one.owner is one.left_owner for one in forecast(PLAN, frozenset()))


def test_what_is_not_known_is_never_foreseen_as_zero() -> None:
    lost, index = PLAN.scope[0]
    for outcome in (Outcome.UNKNOWN, Outcome.RESET_REQUIRED, Outcome.STUCK):
        ending = Ending(gpu=lost, index=index, outcome=outcome, reason="lost")
        every = frozenset(family.id for family in PLAN.families)
        cells = forecast(replace(PLAN, endings=(ending,)), every)
        assert [one.gpu for one in cells if one.is_open] == [lost]
