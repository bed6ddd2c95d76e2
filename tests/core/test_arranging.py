"""Order and filter stand still under the user's hands."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from gpudash.core.arranging import Arrangement, Facts, Shown, Sort, arranged, natural, problems
from gpudash.core.baselines import Baseline, Baselines
from gpudash.core.families import holders
from gpudash.core.model import Fleet, Host, Link
from gpudash.core.query.language import EVERYTHING, Query, parse
from gpudash.core.verify import judge_host
from tests.ui import fleets


def arrange(
    fleet: Fleet,
    before: Arrangement | None = None,
    text: str = "",
    sort: Sort = Sort.GIVEN,
    *,
    is_quiet: bool = False,
) -> Arrangement:
    facts = Facts(fleet, judge_host, lambda host: holders(host, fleet.letters), fleets.NOW)
    return arranged(before or Arrangement(), facts, query_of(text), sort, is_quiet=is_quiet)


def query_of(text: str) -> Query:
    query, mistake = parse(text)
    assert mistake is None
    return query


def names(arrangement: Arrangement) -> list[str]:
    return [one.host.rpartition("@")[2] for one in arrangement.shown]


def with_host(fleet: Fleet, host: Host) -> Fleet:
    return replace(
        fleet, hosts=tuple(host if one.name == host.name else one for one in fleet.hosts)
    )


def test_without_wishes_all_is_shown_as_given() -> None:
    found = arrange(fleets.three_hosts())
    assert names(found) == ["gpu-a", "gpu-b", "gpu-c"]
    assert not found.is_filtered
    assert found.gpus_of("root@gpu-a") is None
    assert found.gpus_of("elsewhere") == ()


def test_a_filter_shows_hosts_and_of_them_the_gpus_that_match() -> None:
    found = arrange(fleets.three_hosts(), text="user=me")
    assert found.shown == (Shown("root@gpu-a", None), Shown("root@gpu-c", (0, 1)))
    assert found.is_filtered
    assert arrange(fleets.three_hosts(), text="no-such-thing").shown == ()


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (Sort.GIVEN, ["gpu-a", "gpu-b", "gpu-c"]),
        (Sort.TROUBLE, ["gpu-b", "gpu-c", "gpu-a"]),
        (Sort.MEMORY, ["gpu-a", "gpu-b", "gpu-c"]),
        (Sort.UTILISATION, ["gpu-a", "gpu-b", "gpu-c"]),
    ],
)
def test_orders(sort: Sort, order: list[str]) -> None:
    assert names(arrange(fleets.three_hosts(), sort=sort)) == order


def test_names_sort_as_people_count() -> None:
    assert sorted(["node10", "root@node2", "Node1", "a", "node2b"], key=natural) == [
        "a",
        "Node1",
        "root@node2",
        "node2b",
        "node10",
    ]
    assert names(arrange(fleets.many(12), sort=Sort.NAME))[:3] == ["node00", "node01", "node02"]


def test_sorts_go_round() -> None:
    sort, seen = Sort.GIVEN, []
    for _ in Sort:
        seen.append(sort)
        sort = sort.following
    assert (seen, sort) == (list(Sort), Sort.GIVEN)


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("is_quiet", [True, False])
def test_other_values_move_nobody(sort: Sort, is_quiet: bool) -> None:
    fleet = fleets.three_hosts()
    before = arrange(fleet, sort=sort)
    first = fleet.hosts[0]
    emptied = tuple(
        replace(gpu, reading=replace(gpu.reading, utilisation_pct=0)) for gpu in first.gpus
    )
    after = arrange(with_host(fleet, replace(first, gpus=emptied)), before, sort=sort)
    assert after.order == before.order
    again = arrange(
        with_host(fleet, replace(first, gpus=emptied)), before, sort=sort, is_quiet=is_quiet
    )
    assert again.order == before.order


def test_trouble_moves_a_host_only_where_nobody_types() -> None:
    fleet = fleets.many(6)
    before = arrange(fleet, sort=Sort.TROUBLE)
    silent = with_host(fleet, replace(fleet.hosts[4], link=Link.STALE))
    typing = arrange(silent, before, sort=Sort.TROUBLE)
    assert typing == before
    assert names(arrange(silent, typing, sort=Sort.TROUBLE, is_quiet=True))[0] == "node04"


def test_a_filter_follows_the_readings_only_where_nobody_types() -> None:
    fleet = fleets.three_hosts()
    before = arrange(fleet, text="state=silent")
    assert names(before) == ["gpu-b"]
    other = with_host(fleet, replace(fleet.hosts[0], link=Link.STALE))
    assert arrange(other, before, "state=silent") == before
    assert names(arrange(other, before, "state=silent", is_quiet=True)) == ["gpu-a", "gpu-b"]


def test_who_comes_and_goes_is_seen_at_once() -> None:
    fleet = fleets.three_hosts()
    before = arrange(fleet, text="gpu=0")
    fewer = replace(fleet, hosts=fleet.hosts[1:])
    assert names(arrange(fewer, before, "gpu=0")) == ["gpu-b", "gpu-c"]
    smaller = with_host(fleet, replace(fleet.hosts[0], gpus=fleet.hosts[0].gpus[:2]))
    found = arrange(smaller, arrange(fleet, text="gpu=7"), "gpu=7")
    assert names(found) == ["gpu-b", "gpu-c"]


def test_the_same_arrangement_is_the_same_value() -> None:
    fleet = fleets.three_hosts()
    before = arrange(fleet)
    assert arrange(fleet, before, is_quiet=True) is before
    assert before.query == EVERYTHING


def wrong(fleet: Fleet, text: str = "") -> list[str]:
    facts = Facts(fleet, judge_host, lambda host: holders(host, fleet.letters), fleets.NOW)
    found = problems(facts, arrange(fleet, text=text).shown)
    return [f"{name.rpartition('@')[2]}:{at}" for name, at in found]


def test_what_is_wrong_is_found_in_the_order_of_the_screen() -> None:
    assert wrong(fleets.three_hosts()) == ["gpu-b:0", "gpu-c:5", "gpu-c:7"]
    assert wrong(fleets.three_hosts(), "gpu>=7") == ["gpu-b:7", "gpu-c:7"]
    assert wrong(fleets.busy()) == []
    assert wrong(fleets.errors())[:4] == ["gpu-d:0", "gpu-e:0", "gpu-f:0", "gpu-g:0"]
    assert set(wrong(Fleet(hosts=(fleets.odd_host(),)))) >= {f"odd:{at}" for at in range(7)}


def test_what_was_accepted_as_idle_is_no_problem() -> None:
    fleet = Fleet(hosts=(fleets.host("a", (fleets.gpu(0, 0.5), fleets.gpu(1))),))
    assert wrong(fleet) == ["a:0"]
    info = fleet.hosts[0].gpus[0].info
    accepted = Baselines(
        entries=(Baseline(uuid=info.uuid or "", driver="575.57.08", used_bytes=fleets.GIB),)
    )
    facts = Facts(fleet, partial(judge_host, baselines=accepted), lambda _: (), fleets.NOW)
    assert problems(facts, arrange(fleet).shown) == ()
