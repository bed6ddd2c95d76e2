"""What filters find on made-up hosts, and that what is not known is never found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from gpudash.core.families import holders
from gpudash.core.model import Fleet
from gpudash.core.query.fields import STATES
from gpudash.core.query.language import All, Not, Query, Same, Some, parse
from gpudash.core.query.matching import matches, subjects
from gpudash.core.verify import judge_host
from tests.core.query.test_language import QUERIES
from tests.ui import fleets


def answers(fleet: Fleet, query: Query) -> dict[str, list[bool | None]]:
    return {
        host.name: [
            matches(query, one)
            for one in subjects(judge_host(host), holders(host, fleet.letters), fleets.NOW)
        ]
        for host in fleet.hosts
    }


def found(fleet: Fleet, text: str) -> dict[str, str]:
    query, mistake = parse(text)
    assert mistake is None
    shown = {
        name.rpartition("@")[2]: "".join(str(at) for at, one in enumerate(kept) if one)
        for name, kept in answers(fleet, query).items()
    }
    return {name: gpus for name, gpus in shown.items() if gpus}


ALL = "01234567"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", {"gpu-a": ALL, "gpu-b": ALL, "gpu-c": ALL}),
        ("gpu-a", {"gpu-a": ALL}),
        ("GPU-?", {"gpu-a": ALL, "gpu-b": ALL, "gpu-c": ALL}),
        ("pu-c", {"gpu-c": ALL}),
        ("pu-?", {}),
        ("host=gpu-*", {"gpu-a": ALL, "gpu-b": ALL, "gpu-c": ALL}),
        ("host=root@gpu-a", {"gpu-a": ALL}),
        ("host=gpu", {}),
        ("sglang", {"gpu-a": ALL}),
        ("vllm", {"gpu-a": "6", "gpu-c": "01"}),
        ("name=vllm", {"gpu-a": "6", "gpu-c": "01"}),
        ("name=vll", {}),
        ("user=me", {"gpu-a": ALL, "gpu-c": "01"}),
        ("user=ana", {"gpu-a": "5", "gpu-b": ALL, "gpu-c": "2"}),
        ("user=a*", {"gpu-a": "5", "gpu-b": ALL, "gpu-c": "2"}),
        ("user!=me host=gpu-c", {"gpu-c": "23467"}),
        ("mem>50%", {"gpu-a": ALL, "gpu-c": "01"}),
        ("mem>100GiB", {"gpu-c": "01"}),
        ("mem<1%", {"gpu-c": "3467"}),
        ("free>=130GiB", {"gpu-c": "3467"}),
        ("util>97%", {"gpu-a": "0247"}),
        ("temp>=63", {"gpu-a": "27", "gpu-c": "1"}),
        ("power>0.64kW", {"gpu-c": "1"}),
        ("gpu=3", {"gpu-a": "3", "gpu-b": "3", "gpu-c": "3"}),
        ("gpu>=6 state=zero", {"gpu-c": "6"}),
        ("pid=5050", {"gpu-a": "5"}),
        ("pid!=5050 host=gpu-a", {"gpu-a": "0123467"}),
        ("age>4h", {"gpu-a": "5"}),
        ("model=*H200*", {"gpu-c": ALL}),
        ("state=held", {"gpu-a": ALL, "gpu-c": "0127"}),
        ("state!=held", {"gpu-c": "346"}),
        ("state=zero", {"gpu-c": "346"}),
        ("state=others", {"gpu-a": "5", "gpu-b": "", "gpu-c": "2"}),
        ("state=alive host=gpu-c", {"gpu-c": "01"}),
        ("state=unexplained", {"gpu-c": "7"}),
        ("state=lost", {"gpu-c": "5"}),
        ("state=unknown", {"gpu-b": ALL, "gpu-c": "5"}),
        ("state=silent", {"gpu-b": ALL}),
        ("state=paused", {}),
        ("not state=silent gpu=0", {"gpu-a": "0", "gpu-c": "0"}),
        ("(vllm or ana) not gpu=6", {"gpu-c": "01"}),
        ("vllm or user=ana", {"gpu-a": "56", "gpu-b": ALL, "gpu-c": "012"}),
    ],
)
def test_what_is_found(text: str, shown: dict[str, str]) -> None:
    wanted = {name: gpus for name, gpus in shown.items() if gpus}
    assert found(fleets.three_hosts(), text) == wanted


@pytest.mark.parametrize("text", ["mem>50%", "mem<=50%", "util>0", "state=zero", "state=held"])
def test_what_is_not_known_matches_neither_a_question_nor_its_opposite(text: str) -> None:
    fleet = fleets.three_hosts()
    for question in (text, f"not ({text})"):
        assert "gpu-b" not in found(fleet, question)
        assert "5" not in found(fleet, question).get("gpu-c", "")


def test_an_unread_list_may_hide_anybody() -> None:
    (host,) = fleets.busy().hosts
    gpu = host.gpus[0]
    assert gpu.reading is not None
    blind = replace(gpu, reading=replace(gpu.reading, processes=None))
    fleet = Fleet(hosts=(replace(host, gpus=(blind, *host.gpus[1:])),))
    for text in ("user=ben", "user!=ben", "pid=1", "pid!=1", "name=x", "name!=x", "state!=others"):
        assert "0" not in found(fleet, text).get("gpu-a", ""), text


def test_a_host_without_gpus_is_found_by_name_and_state() -> None:
    fleet = fleets.errors()
    assert found(fleet, "gpu-d") == {"gpu-d": "0"}
    assert set(found(fleet, "state=silent")) == {"gpu-d", "gpu-f", "gpu-g"}
    assert set(found(fleet, "state=unknown")) >= {"gpu-d", "gpu-e", "gpu-f", "gpu-g"}
    assert found(fleet, "mem>=0% host=gpu-e") == {}


def test_every_state_word_is_answered() -> None:
    for word in STATES:
        for fleet in (fleets.three_hosts(), fleets.errors(), fleets.paused(), fleets.container()):
            for said in answers(fleet, Same("state", True, word)).values():
                assert all(one in (True, False, None) for one in said)
    assert found(fleets.paused(), "state=paused") == {"gpu-a": ALL}


@settings(max_examples=150, deadline=None)
@given(query=QUERIES)
def test_no_query_raises_and_logic_holds(query: Query) -> None:
    for fleet in (fleets.three_hosts(), fleets.errors()):
        plain = answers(fleet, query)
        for name, said in answers(fleet, Not(query)).items():
            assert said == [None if one is None else not one for one in plain[name]]
        assert answers(fleet, All((query, query))) == plain
        assert answers(fleet, Some((query, query))) == plain
