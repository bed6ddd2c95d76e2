"""Which GPUs a command may have: what is unknown, and what is somebody else's, is not given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.choosing import (
    Wish,
    choosable,
    hopeless_choice,
    policy_for,
    visible_devices,
    why_not_ours,
    why_not_usable,
)
from gpudash.core.errors import UsageError
from gpudash.core.model import Gpu, GpuProcess, GpuState, Host, Link, MigReading
from gpudash.core.proof import Phase, Policy, Proof, begin
from gpudash.core.scope import parse_scope
from tests.core.making import (
    GIB,
    ack,
    gpu,
    gpu_info,
    hello,
    host_of,
    info,
    process,
    reading,
    roster,
    sample,
    told,
)


def host(*processes: GpuProcess, uid: int = 1000, known: bool = True, used: int = GIB) -> Host:
    """One host of two GPUs; the processes are on GPU 0."""
    events = [
        hello(*roster(2), uid=uid),
        sample(1, reading(used, *processes), reading(0)),
        *([ack(*(info(one.pid) for one in processes))] if known else []),
    ]
    return host_of(told(*events))


def test_ones_own_process_is_no_hindrance() -> None:
    found = host(process(7))
    assert why_not_ours(found, found.gpus[0]) == ""
    assert why_not_ours(found, found.gpus[1]) == ""


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (host(process(7), uid=1001), "pid 7 is ana's"),
        (host(process(7), known=False), "whose pid 7 is is not known"),
        (host(), "who holds its memory is not known"),
    ],
    ids=["another's", "not known", "nobody listed"],
)
def test_what_is_not_ones_own_is_not_taken(found: Host, words: str) -> None:
    assert why_not_ours(found, found.gpus[0]) == words


def test_in_a_pid_namespace_nobody_is_known() -> None:
    events = (hello(*roster(1), pid_namespace=5), sample(1, reading(GIB, process(7))))
    found = host_of(told(*events, ack(info(7))))
    assert why_not_ours(found, found.gpus[0]) == "processes that can't be named are on it"


def test_hidden_processes_and_unreadable_lists_are_not_ones_own() -> None:
    found = host(process(7))
    seven = reading(GIB, process(7), hidden_processes=1)
    assert why_not_ours(found, gpu(got=seven)) == "processes that can't be named are on it"
    unread = replace(reading(0), processes=None)
    assert why_not_ours(found, gpu(got=unread)) == "who holds its memory is not known"
    assert why_not_ours(found, gpu(got=None)) == "it was not read"


def test_what_can_never_be_given() -> None:
    assert why_not_usable(gpu(got=reading(0))) == ""
    assert why_not_usable(Gpu(info=gpu_info(0, None), reading=None, state=GpuState.READ))
    mig = replace(gpu(got=reading(0)), info=gpu_info(0, is_mig=True))
    assert "MIG" in why_not_usable(mig)
    part = MigReading(
        gpu_instance=1,
        compute_instance=0,
        uuid=None,
        profile=None,
        used_bytes=0,
        total_bytes=None,
    )
    assert "MIG" in why_not_usable(gpu(got=reading(0, mig=(part,))))


def proven(found: Host, *phases: Phase) -> dict[str, Proof]:
    """Return a proof a GPU, in these phases."""
    proofs = {}
    for one, phase in zip(found.gpus, phases, strict=True):
        proof = begin(told(name=found.name), policy_for(one, Policy()), 0.0)
        hosts = tuple(replace(each, phase=phase) for each in proof.hosts)
        proofs[one.info.uuid or ""] = replace(proof, hosts=hosts)
    return proofs


def test_only_what_is_proven_right_now_is_given() -> None:
    found = host(process(7))
    for phase in Phase:
        chosen = choosable(found, proven(found, phase, phase))
        assert bool(chosen) is (phase is Phase.PROVEN)


def test_zero_beside_another_users_process_is_not_given() -> None:
    """A process is listed before it holds memory, or beside memory that can't be split."""
    for uid, indices in ((1000, [0, 1]), (1001, [1])):
        found = host(process(7, 0), uid=uid, used=0)
        chosen = choosable(found, proven(found, Phase.PROVEN, Phase.PROVEN))
        assert [one.info.index for one in chosen] == indices
    found = host(process(7, 0), known=False, used=0)
    assert [one.info.index for one in choosable(found, proven(found, *[Phase.PROVEN] * 2))] == [1]
    unread = replace(reading(0), processes=None)
    found = host_of(told(hello(*roster(2)), sample(1, unread, reading(0))))
    assert [one.info.index for one in choosable(found, proven(found, *[Phase.PROVEN] * 2))] == [1]


def test_an_accepted_baseline_is_nobodys() -> None:
    held = reading(GIB)
    assert why_not_ours(host(), gpu(got=held)) == "who holds its memory is not known"
    assert why_not_ours(host(), gpu(got=held), is_accepted=True) == ""
    unread = replace(held, processes=None)
    assert why_not_ours(host(), gpu(got=unread), is_accepted=True) != ""


def test_free_memory_beside_another_users_process_is_not_given() -> None:
    for uid, indices in ((1000, [0, 1]), (1001, [1])):
        found = host(process(7), uid=uid)
        chosen = choosable(found, proven(found, Phase.PROVEN, Phase.PROVEN))
        assert [one.info.index for one in chosen] == indices


def test_a_policy_is_about_one_gpu() -> None:
    found = host()
    policy = policy_for(found.gpus[1], Policy(hold_s=3.0, free_bytes=7))
    assert policy.scope is not None
    assert policy.scope.select(found.name, found.gpus) == (found.gpus[1],)
    assert (policy.hold_s, policy.free_bytes, policy.restarts) == (3.0, 7, True)
    with pytest.raises(UsageError, match="no UUID"):
        policy_for(Gpu(info=gpu_info(3, None), reading=None, state=GpuState.READ), Policy())


def test_when_too_few_can_ever_come() -> None:
    found = host()
    assert hopeless_choice(found, None, Wish(count=2)) is None
    with pytest.raises(UsageError, match="3 GPUs are wanted and 2 are on this machine"):
        hopeless_choice(found, None, Wish(count=3))
    with pytest.raises(UsageError, match="1 are in scope"):
        hopeless_choice(found, parse_scope("1"), Wish(count=2))
    for state, code in ((GpuState.LOST, 4), (GpuState.NEEDS_RESET, 6), (GpuState.UNIFIED, 4)):
        sick = replace(found, gpus=(replace(found.gpus[0], state=state), found.gpus[1]))
        assert hopeless_choice(sick, None, Wish(count=1)) is None
        assert hopeless_choice(sick, parse_scope("1"), Wish(count=1)) is None
        ending = hopeless_choice(sick, None, Wish(count=2))
        assert ending is not None
        assert ending.exit_code == code
        assert "only 1 GPU can ever be had: GPU 0" in ending.says
    assert found.link is Link.LIVE


def test_what_the_command_sees() -> None:
    gpus = (gpu(index=3), gpu(index=5))
    assert visible_devices(gpus, by_uuid=False) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "3,5",
    }
    assert visible_devices(gpus, by_uuid=True)["CUDA_VISIBLE_DEVICES"] == "GPU-3,GPU-5"


def test_words_of_a_wish() -> None:
    assert Wish(count=1).words == "1 GPU at zero"
    assert Wish(count=2, free_bytes=40 * GIB).words == "2 GPUs with 40.0 GiB free"
