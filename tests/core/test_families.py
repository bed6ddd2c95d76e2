"""Families: up to the root, never over a boundary."""

from __future__ import annotations

import pytest

from gpudash.core.families import (
    BOUNDARIES,
    Holder,
    holders,
    owner_of,
    pids_are_local,
    root_of,
    unexplained_bytes,
)
from gpudash.core.model import Ancestor, GpuState, MigReading, Owner
from gpudash.core.processes import PROBE_MARK
from tests.core.making import (
    GIB,
    ack,
    ancestor,
    gpu,
    hello,
    host_of,
    info,
    process,
    reading,
    roster,
    sample,
    told,
)

MIB = 1 << 20


@pytest.mark.parametrize(
    ("ancestors", "root"),
    [
        ((), 7),
        ((ancestor(6),), 6),
        ((ancestor(6), ancestor(5, "torchrun")), 5),
        ((ancestor(6), ancestor(5, "bash"), ancestor(4)), 6),
        ((ancestor(6, "-zsh"),), 7),
        ((ancestor(6, "sshd-session"),), 7),
        ((ancestor(6, "jupyter-noteboo"),), 7),
        ((ancestor(6, "python", 0), ancestor(5)), 7),
        ((ancestor(6), ancestor(5, "python", 0)), 6),
    ],
)
def test_roots(ancestors: tuple[Ancestor, ...], root: int) -> None:
    assert root_of(info(7, ancestors=ancestors)).pid == root


def test_boundaries_fit_into_comm() -> None:
    assert all(len(name) <= 15 for name in BOUNDARIES)


def held() -> tuple[Holder, ...]:
    up = (ancestor(5, "torchrun", 1000, "python", "/v/bin/torchrun", "train.py"),)
    other = info(9, uid=7, user="ben", argv=("python", "x.py"), age_s=5.0)
    fleet = told(
        hello(*roster(2)),
        sample(
            1,
            reading(9 * GIB, process(7), process(8, 2 * GIB), process(10, None)),
            reading(9 * GIB, process(7, 4 * GIB), process(9, 100)),
        ),
        ack(info(7, ancestors=up, age_s=100.0), info(8, ancestors=up), other, gone=(10,)),
    )
    return holders(host_of(fleet), fleet.letters)


def test_one_entry_a_family() -> None:
    family, other, dead = held()
    assert (family.label.name, family.label.detail) == ("torchrun", "train.py")
    assert (family.pids, family.letter, family.owner) == ((7, 8), "A", Owner.MINE)
    assert family.gpu_bytes == ((0, 3 * GIB), (1, 4 * GIB))
    assert family.used_bytes == 7 * GIB
    assert family.started_ago_s == 100.0
    assert family.age(13.0) == 110.0
    assert (other.owner, other.user, other.pids) == (Owner.FOREIGN, "ben", (9,))
    assert (dead.is_dead, dead.owner, dead.label.name) == (True, Owner.UNKNOWN, "pid 10")
    assert dead.gpu_bytes == ((0, None),)
    assert dead.age(99.0) is None


def test_host_pids_in_a_container_are_never_looked_up() -> None:
    inside = hello(*roster(1), pid_namespace=4026532000)
    host = host_of(told(inside, sample(1, reading(5, process(7)))))
    assert not pids_are_local(host)
    assert holders(host, ())[0].label.name == "host pid 7"


@pytest.mark.parametrize(
    ("namespace", "is_local"), [(None, True), (4026531836, True), (4026532000, False)]
)
def test_pid_namespaces(namespace: int | None, is_local: bool) -> None:
    assert pids_are_local(host_of(told(hello(pid_namespace=namespace)))) is is_local


def test_an_owner_needs_two_uids() -> None:
    host = host_of(told(hello(uid=None)))
    assert owner_of(host, info(7)) is Owner.UNKNOWN
    assert owner_of(host_of(told(hello(uid=7))), info(7, uid=8)) is Owner.FOREIGN
    assert owner_of(host_of(told()), info(7)) is Owner.UNKNOWN


def test_mig_slices_hold_too() -> None:
    slice_ = MigReading(
        gpu_instance=1,
        compute_instance=0,
        uuid=None,
        profile=None,
        used_bytes=5,
        total_bytes=None,
        processes=(process(7, 5),),
    )
    host = host_of(told(hello(*roster(1)), sample(1, reading(5, mig=(slice_,)))))
    assert holders(host, ())[0].gpu_bytes == ((0, 5),)


@pytest.mark.parametrize(
    ("got", "left"),
    [
        (reading(GIB), GIB),
        (reading(GIB, process(7, GIB - 64 * MIB)), 0),
        (reading(GIB, process(7, GIB - 65 * MIB)), 65 * MIB),
        (reading(GIB, process(7, None)), 0),
        (reading(0), 0),
        (reading(None), 0),
        (reading(GIB, process(7, 2 * GIB)), 0),
    ],
)
def test_what_nobody_listed_explains(got: object, left: int) -> None:
    assert unexplained_bytes(gpu(got=got)) == left  # type: ignore[arg-type]
    assert unexplained_bytes(gpu(GpuState.UNREADABLE, got)) == 0  # type: ignore[arg-type]


def test_what_a_gpudash_launched_has_no_probe_above_it() -> None:
    keeper = ancestor(300, "python3", 1000, "python3", "-ISBc", f"{PROBE_MARK}<(3,6)")
    launcher = ancestor(310, "python3", 1000, "python3", "-m", "torch.distributed.run")
    assert root_of(info(320, ancestors=(launcher, keeper))).pid == 310
