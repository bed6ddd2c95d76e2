"""Who holds what, from the driver's lists and a scan: no memory is given to the wrong one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.attribution import Basis, attributions, handle_words, words_of
from gpudash.core.events import Event
from gpudash.core.families import family_key, holders
from gpudash.core.holders import can_compute, is_of, keepers, reach_on, scan_need
from gpudash.core.holding import PROBE_MARK, Device, Existence, Handle, Process, is_probe
from gpudash.core.model import Fleet, Host, Owner
from gpudash.sources.shipping import COMMAND
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
from tests.core.scans import CONTROL, UVM, gpu_handle, scanned, seen

DEAD, HIDDEN, FOREIGN = Existence.DEAD, Existence.HIDDEN, Existence.FOREIGN
INSIDE = 4026532000


def fleet_of(*events: Event, namespace: int | None = None) -> Fleet:
    """Return a fleet whose GPU 0 has dead pid 7 listed with 1 GiB."""
    listed = sample(1, reading(GIB, process(7)), reading(0))
    return told(hello(*roster(2), pid_namespace=namespace), listed, *events)


def host_after(*events: Event, namespace: int | None = None) -> Host:
    return host_of(fleet_of(*events, namespace=namespace))


def kept_by(*processes: Process) -> tuple[int, ...]:
    host = host_after(ack(gone=(7,)), scanned(*processes, listed=((7, DEAD),)))
    return tuple(one.pid for one in keepers(host, host.gpus[0], 7))


# -- keepers -----------------------------------------------------------------------------------


def test_who_has_the_gpu_open_keeps_the_memory_of_the_dead() -> None:
    assert kept_by(seen(8, gpu_handle(0)), seen(9, gpu_handle(1)), seen(10)) == (8,)


def test_a_watcher_keeps_nothing_where_another_one_can() -> None:
    assert kept_by(seen(8, gpu_handle(0), CONTROL), seen(9, gpu_handle(0), UVM)) == (9,)


def test_the_dead_ones_own_come_first() -> None:
    stranger = seen(8, gpu_handle(0), UVM)
    for own in ({"group": 7}, {"session": 7}, {"parent": 7}):
        assert kept_by(stranger, seen(9, gpu_handle(0), UVM, **own)) == (9,)


def test_who_is_listed_itself_has_memory_of_its_own() -> None:
    both = sample(2, reading(2 * GIB, process(7), process(8)), reading(0))
    found = scanned(seen(8, gpu_handle(0)), seen(9, gpu_handle(0)), listed=((7, DEAD),))
    host = host_after(both, ack(info(8), gone=(7,)), found)
    assert [one.pid for one in keepers(host, host.gpus[0], 7)] == [9]
    own = seen(8, gpu_handle(0), group=7)
    host = host_after(both, ack(info(8), gone=(7,)), scanned(own, listed=((7, DEAD),)))
    assert [one.pid for one in keepers(host, host.gpus[0], 7)] == [8]


def test_gpudash_keeps_nothing() -> None:
    assert COMMAND.startswith(PROBE_MARK)
    sampler = seen(8, gpu_handle(0), CONTROL, argv=("python3", "-ISBc", COMMAND))
    assert is_probe(sampler)
    assert not is_probe(seen(8, gpu_handle(0)))
    assert is_probe(replace(sampler, handles=(gpu_handle(0), UVM)))
    assert kept_by(sampler) == ()


def test_a_notebook_that_started_gpudash_may_keep_memory() -> None:
    assert kept_by(seen(900, gpu_handle(0), UVM)) == (900,)


def test_nobody_inherits_from_the_living() -> None:
    host = host_after(ack(info(7)), scanned(seen(8, gpu_handle(0))))
    assert keepers(host, host.gpus[0], 7) == ()


@pytest.mark.parametrize("fate", [HIDDEN, FOREIGN])
def test_nobody_inherits_from_the_hidden(fate: Existence) -> None:
    host = host_after(scanned(seen(8, gpu_handle(0)), listed=((7, fate),)))
    assert keepers(host, host.gpus[0], 7) == ()


@pytest.mark.parametrize(
    ("bus", "is_it"),
    [
        ("00000000:00:00.0", True),
        ("0000:00:00.0", True),
        ("index-0", True),
        ("index-1", False),
        ("00000000:01:00.0", False),
        (None, False),
    ],
)
def test_which_gpu_a_handle_is_of(bus: str | None, is_it: bool) -> None:
    assert is_of(Handle(device=Device.GPU, gpu=bus), gpu()) is is_it


# -- rows --------------------------------------------------------------------------------------


def test_memory_of_the_dead_belongs_to_the_family_of_its_keeper() -> None:
    server = seen(5, argv=("python", "-m", "sglang.launch_server"))
    child = seen(8, gpu_handle(0), parent=5)
    fleet = fleet_of(ack(gone=(7,)), scanned(server, child, listed=((7, DEAD),)))
    (holder,) = holders(host_of(fleet), fleet.letters)
    assert holder.key == family_key(host_of(fleet), 7) == (host_of(fleet).name, 5, 50)
    assert (holder.letter, holder.label.name, holder.owner) == ("A", "sglang", Owner.MINE)
    assert (holder.is_dead, holder.pids, holder.kept) == (True, (7,), ((7, (8,)),))


def test_a_rank_that_died_joins_the_living_of_its_family() -> None:
    ranks = sample(2, reading(GIB, process(7)), reading(GIB, process(6)))
    server = seen(5, argv=("python", "-m", "sglang.launch_server"))
    child, rank = seen(8, gpu_handle(0), parent=5), seen(6, gpu_handle(1), parent=5)
    fleet = fleet_of(ranks, ack(gone=(7,)), scanned(server, child, rank, listed=((7, DEAD),)))
    (holder,) = holders(host_of(fleet), fleet.letters)
    assert (holder.pids, holder.is_dead, holder.kept) == ((6, 7), False, ((7, (8,)),))


def test_the_hidden_are_somebody_elses_and_alive() -> None:
    fleet = fleet_of(scanned(listed=((7, HIDDEN),)))
    host = host_of(fleet)
    (holder,) = holders(host, fleet.letters)
    assert (holder.owner, holder.is_hidden, holder.is_dead) == (Owner.FOREIGN, True, False)
    assert holder.letter == "A"
    (row,) = attributions(host)
    assert words_of(row, host) == "pid 7, another user's, hidden by hidepid"


def test_words_for_the_dead() -> None:
    child = seen(8, gpu_handle(0), group=7)
    host = host_after(ack(gone=(7,)), scanned(child, listed=((7, DEAD),)))
    (row,) = attributions(host)
    assert row.basis is Basis.INHERITED
    assert words_of(row, host) == (
        "pid 7 is dead, memory kept by its child 8: train.py (pid 8, ana)"
    )
    stranger = host_after(ack(gone=(7,)), scanned(seen(8, gpu_handle(0)), listed=((7, DEAD),)))
    assert "memory kept by pid 8" in words_of(attributions(stranger)[0], stranger)
    nobody = host_after(ack(gone=(7,)), scanned(listed=((7, DEAD),)))
    assert attributions(nobody)[0].basis is Basis.DEAD


def test_handles_without_memory_are_named_and_hold_nothing() -> None:
    watcher = seen(8, gpu_handle(0), CONTROL, argv=("nvtop",))
    host = host_after(ack(info(7)), scanned(seen(7, gpu_handle(0)), watcher, seen(4711, CONTROL)))
    listed, *idle = attributions(host)
    assert (listed.basis, listed.evidence) == (Basis.LISTED, ("nvml", "fd"))
    assert [(row.basis, row.pid) for row in idle] == [(Basis.HANDLES, 8), (Basis.HANDLES, 4711)]
    words = handle_words(attributions(host))
    assert words == "3 open handles, no memory: nvtop 8, train.py 4711"


def test_unexplained_memory_is_a_row_that_names_who_has_it_open() -> None:
    host = host_of(told(hello(*roster(1)), sample(1, reading(GIB)), scanned(seen(8, gpu_handle()))))
    (row,) = attributions(host)
    assert (row.basis, row.pid, row.gpus) == (Basis.UNEXPLAINED, None, ((0, GIB),))
    assert words_of(row, host) == "unexplained; open there: train.py (pid 8, ana)"


def test_a_pid_used_again_after_the_scan_is_the_new_one() -> None:
    events = (ack(gone=(7,)), scanned(seen(8, gpu_handle()), listed=((7, DEAD),)), ack(info(7)))
    (row,) = (row for row in attributions(host_after(*events)) if row.pid == 7)
    assert (row.basis, row.keepers) == (Basis.LISTED, ())


# -- inside another pid namespace --------------------------------------------------------------


def test_a_namesake_is_not_looked_up() -> None:
    for handles in ((), (gpu_handle(1),), (CONTROL, UVM)):
        found = scanned(
            seen(7, *handles, argv=("innocent",)),
            listed=((7, FOREIGN),),
            is_initial_namespace=False,
        )
        host = host_after(found, namespace=INSIDE)
        row = attributions(host)[0]
        assert (row.basis, words_of(row, host)) == (Basis.HOST_PID, "host pid 7")
        assert holders(host, ())[0].label.name == "host pid 7"


def test_a_namesake_with_the_same_gpu_open_is_it() -> None:
    found = scanned(seen(7, gpu_handle(0)), listed=((7, FOREIGN),), is_initial_namespace=False)
    (row,) = attributions(host_after(found, namespace=INSIDE))
    assert row.basis is Basis.LISTED


def test_reach() -> None:
    assert reach_on(host_after(scanned())).word == "full"
    inside = reach_on(host_after(scanned(is_initial_namespace=False), namespace=INSIDE))
    assert inside.why == ("processes outside this container not visible",)
    assert reach_on(host_after(namespace=INSIDE)).why == (
        "processes not scanned",
        "processes outside this container not visible",
    )


# -- when to look ------------------------------------------------------------------------------


def test_what_is_known_needs_no_scan() -> None:
    assert scan_need(host_after(ack(info(7)))) is None


def test_what_a_scan_told_needs_no_other() -> None:
    for events in ((ack(gone=(7,)),), (), (ack(info(7, state="Z")),)):
        need = scan_need(host_after(*events))
        assert need is not None
        assert (need.pids, need.has_maps) == ((7,), False)
        child = scanned(seen(8, gpu_handle(0)), listed=((7, DEAD),))
        assert scan_need(host_after(*events, child)) is None
    assert scan_need(host_after(scanned(listed=((7, HIDDEN),)))) is None


def test_what_no_handle_explains_is_looked_for_in_maps_once() -> None:
    for events in ((ack(gone=(7,)),), ()):
        need = scan_need(host_after(*events, scanned(listed=((7, DEAD),))))
        assert need is not None
        assert need.has_maps
        assert scan_need(host_after(*events, scanned(listed=((7, DEAD),), has_maps=True))) is None


# -- laws --------------------------------------------------------------------------------------

handles = st.lists(
    st.sampled_from([gpu_handle(0), gpu_handle(1), CONTROL, UVM]), max_size=3, unique=True
).map(tuple)
processes = st.lists(
    st.builds(
        lambda pid, own, parent: seen(pid, *own, parent=parent),
        st.integers(2, 9),
        handles,
        st.integers(1, 9),
    ),
    max_size=5,
    unique_by=lambda one: one.pid,
)
fates = st.dictionaries(st.integers(2, 9), st.sampled_from([*Existence]), max_size=4)
lists = st.lists(st.integers(2, 9), max_size=4, unique=True)


@given(
    lists=st.tuples(lists, lists),
    used=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    answers=st.frozensets(st.integers(2, 9)),
    gone=st.frozensets(st.integers(2, 9)),
    found=processes,
    fates=fates,
    namespace=st.sampled_from([None, INSIDE]),
)
def test_every_byte_is_in_one_row_and_no_fate_is_bent(
    lists: tuple[list[int], list[int]],
    used: tuple[int, int],
    answers: frozenset[int],
    gone: frozenset[int],
    found: list[Process],
    fates: dict[int, Existence],
    namespace: int | None,
) -> None:
    readings = [
        reading(amount * GIB, *(process(pid) for pid in pids))
        for amount, pids in zip(used, lists, strict=True)
    ]
    answer = ack(*(info(pid) for pid in answers - gone), gone=tuple(gone))
    events = () if namespace else (answer,)
    fleet = told(
        hello(*roster(2), pid_namespace=namespace),
        sample(1, *readings),
        *events,
        scanned(*found, listed=tuple(fates.items()), is_initial_namespace=namespace is None),
    )
    host = host_of(fleet)
    rows = attributions(host)
    for number, pids in enumerate(lists):
        mine = [
            row.pid for row in rows if number in dict(row.gpus) and row.basis.value != "handles"
        ]
        assert sorted(pid for pid in mine if pid is not None) == sorted(pids)
    for row in rows:
        words_of(row, host)
        if row.basis is Basis.INHERITED:
            assert row.pid in gone or fates.get(row.pid or 0) is DEAD
        if namespace and row.pid is not None and row.basis is Basis.LISTED:
            assert any(one.pid == row.pid and one.handles for one in found)
    total = sum(holder.used_bytes for holder in holders(host, fleet.letters))
    assert total == GIB * sum(map(len, lists))
    handle_words(rows)
    scan_need(host)


def test_an_index_of_the_scan_is_that_of_the_roster() -> None:
    moved = gpu_info(3, bus_id=None)
    host = host_of(told(hello(moved), sample(1, reading(GIB))))
    assert is_of(Handle(device=Device.GPU, gpu="index-3"), host.gpus[0])


def test_who_only_watches_may_have_the_node_of_unified_memory_open() -> None:
    watcher = replace(seen(8, gpu_handle(0), UVM), has_cuda=False)
    assert not can_compute(watcher)
    assert can_compute(seen(8, gpu_handle(0), UVM))
    assert kept_by(watcher, seen(9, gpu_handle(0), UVM)) == (9,)
