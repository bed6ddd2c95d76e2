"""The reducer: what is kept, what is forgotten, and what is told of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.events import (
    Ack,
    Bye,
    Event,
    Fault,
    Garbled,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkStale,
)
from gpudash.core.fleet import HAPPENINGS, apply, has_rebooted, new_fleet, step
from gpudash.core.model import Fleet, GpuState, Host, Link, Problem
from gpudash.core.problems import problem_of
from tests.core.making import (
    GIB,
    HOST,
    ack,
    ancestor,
    events,
    facts,
    failed,
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


def states(fleet: Fleet) -> list[tuple[str | None, int, GpuState]]:
    return [(gpu.info.uuid, gpu.info.index, gpu.state) for gpu in host_of(fleet).gpus]


def words(fleet: Fleet) -> list[str]:
    """What happened, oldest first."""
    return [happening.words for happening in reversed(fleet.happenings)]


# -- the roster --------------------------------------------------------------------------------


def test_a_gpu_that_is_gone_stays_as_missing() -> None:
    fleet = told(
        hello(*roster(3)),
        sample(1, reading(0), reading(0), reading(0)),
        hello(gpu_info(0), gpu_info(1, "GPU-2"), seq=1),
        sample(2, reading(0), reading(5)),
    )
    assert states(fleet) == [
        ("GPU-0", 0, GpuState.READ),
        ("GPU-2", 1, GpuState.READ),
        ("GPU-1", 1, GpuState.MISSING),
    ]
    assert host_of(fleet).gpus[1].reading == reading(5)
    assert "GPU 1  was here and is gone" in words(fleet)


def test_a_gpu_that_comes_back_is_no_longer_missing() -> None:
    fleet = told(hello(*roster(2)), hello(gpu_info(0), seq=1), hello(*roster(2), seq=2))
    assert states(fleet) == [("GPU-0", 0, GpuState.UNREAD), ("GPU-1", 1, GpuState.UNREAD)]


def test_missing_survives_a_new_probe_and_a_reboot() -> None:
    for again in (hello(gpu_info(0)), hello(gpu_info(0), boot_id="boot-2")):
        fleet = told(hello(*roster(2)), LinkDown(problem=Problem(title="t", sentence="s")), again)
        assert states(fleet)[1] == ("GPU-1", 1, GpuState.MISSING)


@pytest.mark.parametrize(
    "nameless",
    [
        gpu_info(1, None, name=None, total_bytes=None),
        gpu_info(1, None, bus_id=None, name=None, total_bytes=None),
    ],
    ids=["by bus id", "by index"],
)
def test_a_gpu_without_name_is_the_one_of_its_place(nameless: object) -> None:
    fleet = told(hello(*roster(3)), hello(gpu_info(0), nameless, gpu_info(2), seq=1))  # type: ignore[arg-type]
    assert [uuid for uuid, _, _ in states(fleet)] == ["GPU-0", "GPU-1", "GPU-2"]
    assert host_of(fleet).gpus[1].info.total_bytes == 140 * GIB


def test_a_name_goes_before_a_place() -> None:
    """GPU-1 moved to index 0 is GPU-1, and the nameless one is what was left."""
    nameless = gpu_info(0, None, bus_id=None)
    fleet = told(hello(*roster(2)), hello(nameless, gpu_info(1, "GPU-0"), seq=1))
    assert sorted(str(uuid) for uuid, _, _ in states(fleet)) == ["GPU-0", "GPU-1", "None"]
    missing = [uuid for uuid, _, state in states(fleet) if state is GpuState.MISSING]
    assert missing == ["GPU-1"]


@pytest.mark.parametrize(
    "first", [gpu_info(1, None, bus_id=None), gpu_info(1, None)], ids=["by index", "by bus id"]
)
def test_a_gpu_that_gets_its_name_later_leaves_no_ghost(first: object) -> None:
    fleet = told(hello(gpu_info(0), first), hello(*roster(2), seq=1))  # type: ignore[arg-type]
    assert [(uuid, state) for uuid, _, state in states(fleet)] == [
        ("GPU-0", GpuState.UNREAD),
        ("GPU-1", GpuState.UNREAD),
    ]


@given(st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), max_size=6))
def test_who_was_ever_named_is_never_lost(rosters: list[list[int]]) -> None:
    fleet = new_fleet((HOST,), 0.0)
    seen: set[str] = set()
    for seq, names in enumerate(rosters):
        infos = [gpu_info(at, f"GPU-{name}", bus_id=None) for at, name in enumerate(names)]
        fleet = apply(fleet, HOST, hello(*infos, seq=seq), float(seq))
        seen |= {f"GPU-{name}" for name in names}
        now = states(fleet)
        assert {uuid for uuid, _, _ in now} == seen
        present = [uuid for uuid, _, state in now if state is not GpuState.MISSING]
        assert present == [f"GPU-{name}" for name in names]


def test_no_gpus_is_a_fault() -> None:
    host = host_of(told(hello()))
    assert host.link is Link.LIVE
    assert host.problem is not None
    assert host_of(told(hello(), sample(1))).problem is not None


# -- samples -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_incomplete_tick_never_counts(count: int) -> None:
    before = told(hello(*roster(2)), sample(1, reading(1), reading(2)))
    host = host_of(told(sample(2, *[reading(0)] * count), fleet=before))
    assert host.gpus == host_of(before).gpus
    assert (host.samples, host.seq, host.link) == (1, 1, Link.STALE)
    assert host.problem is not None


def test_a_tick_before_the_greeting_never_counts() -> None:
    host = host_of(told(sample(1, reading(0))))
    assert (host.samples, host.gpus, host.link) == (0, (), Link.STALE)


@pytest.mark.parametrize("seq", [0, 1, 5])
def test_an_old_tick_is_ignored(seq: int) -> None:
    fleet = told(hello(*roster(1)), sample(5, reading(5)))
    assert told(sample(seq, reading(0)), fleet=fleet) is fleet


def test_a_new_probe_counts_from_the_start() -> None:
    fleet = told(hello(*roster(1)), sample(5, reading(5)), hello(*roster(1)), sample(1, reading(0)))
    assert host_of(fleet).gpus[0].reading == reading(0)
    again = told(hello(*roster(1), seq=5), fleet=told(hello(*roster(1)), sample(5, reading(5))))
    assert host_of(again).seq == 5


# -- the link ----------------------------------------------------------------------------------

HANGS = Fault(call="nvmlDeviceGetPowerUsage", code=None, gpu_index=3, hung_s=3.0)
FATAL = Fault(call="nvmlInit_v2", code=9, is_fatal=True)
DOWN = LinkDown(problem=Problem(title="probe killed", sentence="Something killed it."))


@pytest.mark.parametrize(
    ("event", "link", "title"),
    [
        (LinkStale(), Link.STALE, None),
        (HANGS, Link.HUNG, "driver hangs"),
        (FATAL, Link.DOWN, "driver not loaded"),
        (Fault(call="nvmlDeviceGetCount", code=9), Link.LIVE, None),
        (DOWN, Link.DOWN, "probe killed"),
        (LinkPaused(is_released=True), Link.PAUSED, "paused, driver released"),
        (LinkPaused(is_released=False), Link.PAUSED, "paused"),
        (LinkConnecting(), Link.CONNECTING, None),
        (Garbled(reason="r", excerpt=""), Link.STALE, "garbled answer"),
        (Bye(reason="done"), Link.LIVE, None),
        (Ack(id=1, is_ok=True), Link.LIVE, None),
    ],
)
def test_links(event: Event, link: Link, title: str | None) -> None:
    before = told(hello(*roster(1)), sample(1, reading(5)))
    host = host_of(told(event, fleet=before))
    assert host.link is link
    assert (host.problem.title if host.problem else None) == title
    assert host.gpus == host_of(before).gpus


def test_a_hang_names_the_call_and_ends_with_the_next_tick() -> None:
    fleet = told(hello(*roster(1)), HANGS)
    host = host_of(fleet)
    assert host.problem is not None
    assert "power usage of GPU 3" in host.problem.sentence
    assert told(HANGS, fleet=fleet) is fleet
    assert host_of(told(LinkStale(), fleet=fleet)).link is Link.HUNG
    host = host_of(told(sample(1, reading(0)), fleet=fleet))
    assert (host.link, host.problem) == (Link.LIVE, None)


def test_link_since_moves_with_the_link_alone() -> None:
    fleet = told(hello(*roster(1)), sample(1, reading(0)), sample(2, reading(0)))
    assert (host_of(fleet).link_since_s, host_of(fleet).received_s) == (2.0, 3.0)


@pytest.mark.parametrize("trouble", [FATAL, DOWN])
def test_the_same_trouble_is_told_once(trouble: Event) -> None:
    fleet = told(LinkConnecting(), trouble, LinkConnecting(), trouble, LinkConnecting(), trouble)
    assert len(words(fleet)) == 1
    assert host_of(fleet).retry == 3
    assert host_of(told(hello(*roster(1)), fleet=fleet)).retry == 0


@pytest.mark.parametrize("code", [1, 4, 9, 12, 15, 17, 18, 999, 31])
def test_a_problem_says_what_to_do(code: int) -> None:
    problem = problem_of(Fault(call="nvmlInit", code=code, is_fatal=True))
    assert problem.sentence.endswith(".")
    assert problem.code == code
    assert str(code) in problem.detail
    assert problem.is_no_driver is (code == 12)


# -- a reboot ----------------------------------------------------------------------------------


def test_a_reboot_forgets_processes() -> None:
    fleet = told(hello(*roster(1)), sample(1, reading(5, process(7))), ack(info(7), gone=(8,)))
    assert host_of(fleet).processes
    same = told(hello(*roster(1), boot_id="boot-1"), fleet=fleet)
    assert host_of(same).processes == host_of(fleet).processes
    other = told(hello(*roster(1), boot_id="boot-2"), fleet=fleet)
    assert (host_of(other).processes, host_of(other).gone_pids) == ((), frozenset())


def test_a_source_that_does_not_know_the_boot_is_no_reboot() -> None:
    assert has_rebooted(facts(), facts(boot_id="boot-2"))
    assert not has_rebooted(facts(), facts(boot_id=None))
    assert not has_rebooted(facts(boot_id=None), facts())


# -- who holds it ------------------------------------------------------------------------------


def holding(*pids: int) -> tuple[Event, ...]:
    return hello(*roster(1)), sample(1, reading(5, *(process(pid) for pid in pids)))


def test_only_listed_pids_are_kept() -> None:
    fleet = told(*holding(7, 8), ack(info(7), info(9), gone=(8, 10)))
    host = host_of(fleet)
    assert [known.pid for known in host.processes] == [7]
    assert host.gone_pids == {8}
    assert host.processes[0].known_at_s == 3.0
    later = host_of(told(sample(2, reading(5, process(7))), fleet=fleet))
    assert later.gone_pids == frozenset()


def test_an_answer_replaces_what_was_known() -> None:
    fleet = told(*holding(7), ack(gone=(7,)), ack(info(7)))
    assert host_of(fleet).gone_pids == frozenset()
    fleet = told(ack(gone=(7,)), fleet=fleet)
    assert (host_of(fleet).processes, host_of(fleet).gone_pids) == ((), {7})


def letters(fleet: Fleet) -> dict[int, str]:
    return {root: letter for (_, root, _), letter in fleet.letters}


def test_letters_are_stable_and_the_lowest_free_is_taken() -> None:
    fleet = told(*holding(7, 8, 9), ack(info(7), info(8), info(9)))
    assert letters(fleet) == {7: "A", 8: "B", 9: "C"}
    fleet = told(sample(2, reading(5, process(7), process(9))), fleet=fleet)
    assert letters(fleet) == {7: "A", 9: "C"}
    fleet = told(
        sample(3, reading(5, process(6), process(7), process(9))),
        ack(info(6), info(7), info(9)),
        fleet=fleet,
    )
    assert letters(fleet) == {6: "B", 7: "A", 9: "C"}


def test_a_family_has_one_letter_for_all_its_pids() -> None:
    up = (ancestor(5), ancestor(4, "bash"))
    fleet = told(*holding(7, 8), ack(info(7, ancestors=up), info(8, ancestors=up)))
    assert letters(fleet) == {5: "A"}


def test_who_was_not_asked_about_waits_and_the_dead_get_one() -> None:
    fleet = told(*holding(7))
    assert letters(fleet) == {}
    assert letters(told(ack(gone=(7,)), fleet=fleet)) == {7: "A"}


def test_host_pids_that_cannot_be_asked_about_get_letters_at_once() -> None:
    inside = hello(*roster(1), pid_namespace=4026532000)
    assert letters(told(inside, sample(1, reading(5, process(7))))) == {7: "A"}


def test_letters_of_several_hosts_do_not_meet() -> None:
    fleet = new_fleet((HOST, "gpu-b"), 0.0)
    for name in (HOST, "gpu-b"):
        fleet = told(*holding(7), ack(info(7)), name=name, fleet=fleet)
    assert sorted(letter for _, letter in fleet.letters) == ["A", "B"]


@given(st.lists(st.lists(st.integers(1, 40), unique=True, max_size=40), max_size=5))
def test_letters_are_never_shared_and_never_change(steps: list[list[int]]) -> None:
    fleet = told(hello(*roster(1)))
    for seq, pids in enumerate(steps, start=1):
        before = letters(fleet)
        got = sample(seq, reading(5, *(process(pid, 1) for pid in sorted(pids))))
        fleet = told(got, ack(*(info(pid) for pid in pids)), fleet=fleet)
        now = letters(fleet)
        assert now.keys() == set(pids)
        assert len(set(now.values())) == len(now)
        assert all(now[pid] == before[pid] for pid in now.keys() & before.keys())


# -- what happened -----------------------------------------------------------------------------


def test_what_is_told_of_a_family() -> None:
    fleet = told(*holding(), sample(2, reading(5, process(7))), ack(info(7)))
    assert words(fleet) == ["train.py is on GPU 0"]
    assert fleet.happenings[0].letter == "A"
    fleet = told(sample(3, reading(0)), fleet=fleet)
    assert words(fleet)[-1] == "train.py is gone, GPU 0 given back"


def test_what_is_told_of_the_link() -> None:
    fleet = told(
        *holding(),
        LinkStale(),
        sample(2, reading(0)),
        LinkPaused(is_released=False),
        LinkPaused(is_released=True),
        HANGS,
        sample(3, reading(0)),
    )
    assert words(fleet) == [
        "is silent: no line for three intervals",
        "answers again, after 1 s",
        "paused",
        "paused, driver released",
        "the driver hangs",
        "answers again, after 1 s",
    ]


def test_what_is_told_of_a_gpu() -> None:
    fleet = told(
        hello(*roster(1)),
        sample(1, reading(0)),
        sample(2, failed(15)),
        sample(3, reading(0)),
        sample(4, reading(0, recovery_action=1)),
    )
    assert words(fleet) == [
        "GPU 0  lost: the driver says it fell off the bus",
        "GPU 0  is read again",
        "GPU 0  needs a reset",
    ]


@given(st.lists(events, max_size=15))
def test_no_order_of_events_breaks_the_reducer(happened: list[Event]) -> None:
    fleet = told(*happened)
    host = host_of(fleet)
    keys = [gpu.info.key for gpu in host.gpus]
    assert len(keys) == len(set(keys))
    assert len(fleet.happenings) <= HAPPENINGS
    assert [known.pid for known in host.processes] == sorted(known.pid for known in host.processes)
    assert not host.gone_pids & {known.pid for known in host.processes}


@given(st.lists(events, max_size=8), events)
def test_other_hosts_are_untouched(happened: list[Event], last: Event) -> None:
    fleet = new_fleet((HOST, "gpu-b"), 0.0)
    for event in happened:
        fleet = apply(fleet, HOST, event, 1.0)
    assert fleet.host("gpu-b") == Host(name="gpu-b")
    assert step(fleet.host("gpu-b"), last, 1.0).name == "gpu-b"


def test_an_unknown_host_is_an_error() -> None:
    with pytest.raises(KeyError):
        apply(new_fleet((HOST,), 0.0), "gpu-b", LinkStale(), 0.0)


def test_who_ended_keeps_the_words_it_had() -> None:
    living = info(7)
    end = info(7, argv=(), state="Z")
    start = (hello(*roster(1)), sample(1, reading(5, process(7))), ack(living))
    (ended,) = host_of(told(*start, ack(end))).processes
    assert (ended.state, ended.argv) == ("Z", living.argv)
    (other,) = host_of(told(*start, ack(info(7, argv=(), state="Z", start_ticks=1)))).processes
    assert other.argv == ()
