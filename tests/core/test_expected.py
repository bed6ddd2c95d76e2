"""A host that lists fewer GPUs than are expected: what lacks is missing, and nothing is clear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.baselines import NO_BASELINES
from gpudash.core.errors import ExitCode
from gpudash.core.events import LinkUp
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet, GpuInfo, GpuState
from gpudash.core.proof.signs import is_clear, judge
from gpudash.core.proof.values import Policy
from gpudash.core.rosters import EXPECTED, is_placeholder, rostered
from gpudash.core.verify import Clear, Verdict, judge_fleet, judge_host
from tests.core.making import GIB, HOST, gpu_info, hello, reading, roster, sample


def read(listed: int, expected: int | None, *, used: int = 0, seq: int = 1) -> Fleet:
    wanted = {} if expected is None else {HOST: expected}
    fleet = new_fleet((HOST,), 0.0, expected=wanted)
    fleet = apply(fleet, HOST, hello(*roster(listed)), 1.0)
    readings = [reading(used if at == 0 else 0) for at in range(listed)]
    return apply(fleet, HOST, sample(seq, *readings), 2.0)


def test_seven_of_eight_are_never_zero() -> None:
    fleet = read(7, 8)
    verdict = judge_fleet(fleet)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.exit_code is ExitCode.UNKNOWN
    assert verdict.clear is Clear.UNKNOWN
    (host,) = verdict.hosts
    assert [one.verdict for one in host.gpus[:7]] == [Verdict.ZERO] * 7
    assert host.gpus[7].reason == EXPECTED
    assert host.gpus[7].gpu.info.index == 7
    assert host.gpus[7].gpu.state is GpuState.MISSING
    assert not is_clear(judge(fleet.hosts[0], Policy()))


@pytest.mark.parametrize(("listed", "expected"), [(8, 8), (8, None), (8, 7), (1, 1)])
def test_as_many_as_expected_or_more_are_zero(listed: int, expected: int | None) -> None:
    fleet = read(listed, expected)
    assert judge_fleet(fleet).verdict is Verdict.ZERO
    assert len(fleet.hosts[0].gpus) == listed
    assert is_clear(judge(fleet.hosts[0], Policy()))


def test_memory_that_is_held_for_certain_stays_so() -> None:
    assert judge_fleet(read(7, 8, used=GIB)).clear is Clear.NO


def test_a_host_that_lists_none_has_a_fault_of_its_own() -> None:
    fleet = apply(new_fleet((HOST,), 0.0, expected={HOST: 8}), HOST, hello(), 1.0)
    (host,) = fleet.hosts
    assert host.gpus == ()
    assert host.problem is not None
    assert judge_host(host).verdict is Verdict.UNKNOWN


def test_who_comes_back_takes_its_place() -> None:
    fleet = apply(read(7, 8), HOST, hello(*roster(8)), 3.0)
    fleet = apply(fleet, HOST, sample(1, *[reading(0)] * 8), 4.0)
    assert len(fleet.hosts[0].gpus) == 8
    assert judge_fleet(fleet).verdict is Verdict.ZERO


def test_indices_that_shift_leave_no_ghost() -> None:
    others = tuple(gpu_info(index, f"GPU-{index}") for index in (1, 2, 4, 5, 6, 7))
    before = rostered((), others, 8)
    assert [gpu.info.index for gpu in before if is_placeholder(gpu)] == [0, 3]
    everybody = tuple(gpu_info(index, f"GPU-new-{index}") for index in (0, 3))
    after = rostered(before, (*others, *everybody), 8)
    assert len(after) == 8
    assert not any(is_placeholder(gpu) for gpu in after)


def test_one_that_was_known_and_is_gone_counts_among_the_expected() -> None:
    fleet = apply(read(8, 8), HOST, hello(*roster(7)), 3.0)
    gpus = fleet.hosts[0].gpus
    assert len(gpus) == 8
    assert not any(is_placeholder(gpu) for gpu in gpus)
    assert gpus[7].state is GpuState.MISSING


def test_the_number_is_kept_whatever_happens() -> None:
    fleet = apply(read(7, 8), HOST, LinkUp(transport="ssh", notes=()), 5.0)
    assert fleet.hosts[0].expected_gpus == 8


@given(
    rosters=st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=8), min_size=1, max_size=6),
    expected=st.integers(1, 10),
)
def test_fewer_than_expected_are_never_clear(rosters: list[set[int]], expected: int) -> None:
    fleet = new_fleet((HOST,), 0.0, expected={HOST: expected})
    for number, indices in enumerate(rosters):
        infos: tuple[GpuInfo, ...] = tuple(gpu_info(index) for index in sorted(indices))
        fleet = apply(fleet, HOST, hello(*infos), float(number))
        fleet = apply(fleet, HOST, sample(1, *[reading(0)] * len(infos)), number + 0.5)
        (host,) = fleet.hosts
        assert len(host.gpus) >= expected
        assert len({gpu.info.key for gpu in host.gpus}) == len(host.gpus)
        if len(infos) < expected:
            assert judge_host(host, None, NO_BASELINES).verdict is not Verdict.ZERO
            assert not is_clear(judge(host, Policy()))
