"""Who is ended when a launched command is stopped, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.cleanup.orders import Targets
from gpudash.core.fleet import new_fleet
from gpudash.core.holding import Process, Scan
from gpudash.core.launch.stopping import family_of, stop_order
from tests.core.scans import scan as scanned
from tests.core.scans import seen

HOST = new_fleet(("local",), 0.0).hosts[0]


def one(pid: int, parent: int = 1, *, start: int = 100, session: int = 50, uid: int = 0) -> Process:
    identity = replace(seen(pid).identity, start_ticks=start, uid=uid)
    return seen(pid, identity=identity, parent=parent, session=session)


def scan(*processes: Process, own: tuple[int, ...] = ()) -> Scan:
    return scanned(*processes, own=own)


def pids(*processes: Process, own: tuple[int, ...] = ()) -> list[int]:
    return [one.pid for one in family_of(scan(*processes, own=own), 50, 100)]


def test_the_root_and_all_below_it() -> None:
    found = pids(one(50), one(51, 50), one(52, 51), one(60, 1, session=60), one(61, 60, session=60))
    assert found[0] == 50
    assert sorted(found) == [50, 51, 52]


def test_another_process_of_that_pid_is_nobody() -> None:
    assert pids(one(50, start=90, session=1), one(51, 50, start=95, session=1)) == []


def test_who_is_left_of_its_session_counts_and_who_was_there_before_does_not() -> None:
    assert pids(one(51, 1), one(52, 51, session=52), one(40, 1, start=90)) == [51, 52]


def test_probes_kernel_threads_and_other_users_are_never_meant() -> None:
    kernel = replace(one(54, 50), is_kernel=True)
    dead = replace(one(56, 50), state="Z", threads=0)
    assert pids(one(50), dead, one(53, 50), kernel, one(55, 50, uid=7), own=(53,)) == [50]


@pytest.mark.parametrize("is_forced", [False, True])
def test_the_steps(is_forced: bool) -> None:
    look = scan(one(50), one(51, 50))
    order = stop_order(
        family_of(look, 50, 100),
        50,
        look,
        HOST,
        run="r.stop1",
        gpu_names=("index-0",),
        is_forced=is_forced,
    )
    (family,) = order.families
    signals = [(step.signal, step.to) for step in family.steps]
    kill = ("KILL", Targets.ALL)
    asks = [("TERM", Targets.ROOTS), ("TERM", Targets.REST)]
    assert signals == [kill] if is_forced else [*asks, kill]
    assert [member.pid for member in family.members] == [50, 51]
    assert (family.roots, family.gpus) == (1, ("index-0",))
    assert order.deadline_s > look.host_monotonic_s + family.longest_s


def test_without_its_root_the_rest_is_asked_at_once() -> None:
    look = scan(one(51), one(52))
    order = stop_order(
        family_of(look, 50, 100), 50, look, HOST, run="r", gpu_names=(), is_forced=False
    )
    (family,) = order.families
    assert family.roots == 0
    assert next((one.signal, one.to, one.is_after_gone) for one in family.steps) == (
        "TERM",
        Targets.REST,
        False,
    )


def test_nobody_is_no_order() -> None:
    with pytest.raises(ValueError, match="somebody"):
        stop_order((), 50, scan(), HOST, run="r", gpu_names=(), is_forced=False)
