"""How long zero must hold: short only where everybody who held was known and seen to end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpudash.core.cleanup.judging import LONG_HOLD_S, SHORT_HOLD_S, hold_of
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.progress import Fate, Target
from tests.core.cleanup.making import GIB, SHELL, Box

CONTEXT_ELSEWHERE = 3_473_408
"""What GPU 1 of two H200 showed while a process computed on GPU 0 alone (driver 580.159.04)."""


def with_context(**changes: Any) -> Box:
    """A process that computes on GPU 0 and has GPU 1 open, where some MiB stand without a name."""
    box = Box()
    box.add(300, "python", "train.py", parent=SHELL, memory={0: GIB}, opens=(0, 1), **changes)
    box.used[1] = CONTEXT_ELSEWHERE
    return box


def held(plan: Plan, *, picks: int = 300, fate: Fate = Fate.ENDED) -> tuple[float, str]:
    picked = [family for family in plan.families if family.id[0] == picks]
    targets = tuple(
        Target(family=0, identity=member.identity, fate=fate)
        for family in picked
        for member in family.members
    )
    return hold_of(plan, frozenset(one.id for one in picked), targets, None)


def test_a_context_on_another_gpu_goes_with_its_process() -> None:
    plan = with_context().plan()
    (row,) = plan.unseen
    assert (row.index, row.used_bytes) == (1, CONTEXT_ELSEWHERE)
    assert held(plan) == (SHORT_HOLD_S, "every holder was known and seen to end")


def test_it_must_have_been_seen_to_end() -> None:
    assert held(with_context().plan(), fate=Fate.UNKNOWN)[0] == LONG_HOLD_S


def test_it_must_have_had_that_gpu_open() -> None:
    plan = with_context().plan()
    (family,) = plan.families
    closed = tuple(replace(one, gpus=one.gpus[:1]) for one in family.members)
    plan = replace(plan, families=(replace(family, members=closed),))
    assert held(plan) == (LONG_HOLD_S, "not every holder was known by name")


def test_nobody_else_may_have_had_it_open() -> None:
    box = with_context()
    box.add(400, "python", "other.py", parent=SHELL, memory={0: GIB}, opens=(0, 1))
    plan = box.plan()
    assert {family.id[0] for family in plan.families} == {300, 400}
    assert plan.unseen
    assert held(plan)[0] == LONG_HOLD_S


def test_much_memory_is_no_context() -> None:
    box = with_context()
    box.used[1] = 512 << 20
    plan = replace(box.plan(), unseen=(replace(with_context().plan().unseen[0], used_bytes=GIB),))
    assert held(plan)[0] == LONG_HOLD_S


@pytest.mark.parametrize("changes", [{"is_listed": True}, {"is_foreign": True}])
def test_who_is_listed_and_not_seen_is_no_context(changes: dict[str, bool]) -> None:
    plan = with_context().plan()
    plan = replace(plan, unseen=(replace(plan.unseen[0], **changes),))
    assert held(plan)[0] == LONG_HOLD_S


@pytest.mark.parametrize(("hand_uid", "hold_s"), [(1000, LONG_HOLD_S), (0, SHORT_HOLD_S)])
def test_nobody_may_have_been_hidden(hand_uid: int, hold_s: float) -> None:
    plan = replace(with_context().plan(), unreadable=3, hand_uid=hand_uid)
    assert held(plan)[0] == hold_s


def test_a_dead_pid_that_is_listed_is_no_context() -> None:
    box = with_context()
    box.dead(1, 4711, CONTEXT_ELSEWHERE)
    plan = box.plan()
    assert all(row.is_listed for row in plan.unseen if row.index == 1)
