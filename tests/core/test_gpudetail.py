"""The slow calls in words: what is absent, failed or not answered yet is never a 0."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core import nvml
from gpudash.core.checked import InvalidLine
from gpudash.core.details import gpu_facts, host_facts
from gpudash.core.detailwords import MUTED, WAITING, WARN, Detailed, FactLine, rate_of
from gpudash.core.gpudetail import ABSENT, FIELDS, TEXTS, GpuDetail, detail_of
from gpudash.sources import shipping
from gpudash.sources.demo.closeups import facts_of
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from tests.ui import fleets

NOW = fleets.NOW
(HOST,) = fleets.busy().hosts
GPU = HOST.gpus[0]


def facts(**changes: Any) -> dict[str, Any]:
    (machine,) = machines(parse_scenario("busy"), 1)
    now = machine.instants(5.0)[0]
    assert now is not None
    return facts_of(machine, 0, now, 5.0) | changes


def detail(mono: float = 5.0, **changes: Any) -> GpuDetail:
    line = {"id": 3, "gpu": 0, "uuid": "GPU-0", "mono": mono, "facts": facts(**changes)}
    return detail_of(line)


def said(detailed: Detailed) -> dict[str, FactLine]:
    return {line.label: line for line in gpu_facts(HOST, GPU, detailed, NOW)}


def test_every_field_is_known_on_both_sides() -> None:
    tree = ast.parse(shipping.source_of("gpudash.probe.detail"))
    tables: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            tables |= {key.value for key in node.keys if isinstance(key, ast.Constant)}  # type: ignore[misc]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            place = node.targets[0]
            if ast.unparse(place.value) == "facts" and isinstance(place.slice, ast.Constant):
                tables.add(place.slice.value)
    assert {word for word in tables if isinstance(word, str)} - {"e"} == set(FIELDS)
    assert set(facts()) == set(FIELDS)
    assert list(FIELDS) == sorted(FIELDS)


def test_everything_answered() -> None:
    lines = said(
        Detailed(
            now=detail(8.0, pcie_bytes=[4_000_000, 9_000_000]),
            before=detail(5.0, pcie_bytes=[1_000_000, 0]),
        )
    )
    assert lines["PCIe"].words == "gen 5 ×16"
    assert lines["traffic"].words == "in 3.0 MB/s, out 1.0 MB/s"
    assert lines["rows"].words == "0 remapped, none pending"
    assert lines["mode"].words == "persistence on, compute shared"
    assert lines["pages"] == FactLine("pages", "–", MUTED)
    unread = {label for label, line in lines.items() if line.words in (WAITING, "?")}
    assert unread == {"bus", "held back"}, "of which this fleet's readings say nothing"


def test_before_the_first_answer_nothing_is_known() -> None:
    lines = said(Detailed())
    for label in ("PCIe", "traffic", "fan", "errors", "pages", "MIG", "BAR1", "serial", "NVLink"):
        assert lines[label] == FactLine(label, WAITING, MUTED)


@given(st.sampled_from(FIELDS), st.sampled_from([*nvml._MEANINGS, 77]))
def test_a_code_is_never_read_as_a_value(field: str, code: int) -> None:
    answered = said(Detailed(now=detail()))
    lines = said(Detailed(now=detail(**{field: {"e": code}})))
    changed = {label for label, line in lines.items() if line != answered[label]}
    for label in changed:
        words = lines[label].words
        assert not words.startswith("0") or field == "ecc_aggregate"
        if field in ("fan", "pcie", "ecc_volatile", "remapped", "retired", "serial", "bar1"):
            assert words.startswith("–" if code in ABSENT else "? ")
            assert (lines[label].tone == MUTED) is (code in ABSENT)


@pytest.mark.parametrize(
    ("change", "label", "words"),
    [
        ({"pcie": [5, 8, 5, 16]}, "PCIe", "gen 5 ×8 of gen 5 ×16"),
        ({"ecc_volatile": [3, 1]}, "errors", "3 corrected, 1 not; ever"),
        ({"mig": [0, 1]}, "MIG", "off, on after a reset"),
        ({"nvlinks": [1, 0, 1]}, "NVLink", "2 of 3 links up"),
    ],
)
def test_what_a_person_should_see_is_marked(change: dict[str, Any], label: str, words: str) -> None:
    line = said(Detailed(now=detail(**change)))[label]
    assert line.words.startswith(words)
    assert line.tone == WARN


def test_an_idle_link_that_fell_back_is_no_warning() -> None:
    assert said(Detailed(now=detail(pcie=[1, 16, 5, 16])))["PCIe"].tone == ""


def test_part_of_an_answer() -> None:
    lines = said(Detailed(now=detail(ecc_volatile=[{"e": 4}, 2])))
    assert lines["errors"].words.startswith("? corrected, 2 not")
    assert said(Detailed(now=detail(bar1=[nvml.NOT_AVAILABLE_U64, 5])))["BAR1"].words == "?"


def test_a_counter_that_began_anew_has_no_rate() -> None:
    one, other = detail(5.0, pcie_bytes=[9, 9]), detail(8.0, pcie_bytes=[3, 12])
    assert rate_of(Detailed(now=other, before=one), "pcie_bytes", 0) is None
    assert rate_of(Detailed(now=other, before=one), "pcie_bytes", 1) == 1.0
    assert rate_of(Detailed(now=one, before=other), "pcie_bytes", 1) is None
    assert rate_of(Detailed(now=one), "pcie_bytes", 1) is None


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"id": 1, "gpu": 0, "uuid": None, "mono": 1.0, "facts": []},
        {"id": 1, "gpu": -1, "uuid": None, "mono": 1.0, "facts": {}},
        {"id": 1, "gpu": 0, "uuid": None, "mono": 1.0, "facts": {"fan": 3}},
        {"id": 1, "gpu": 0, "uuid": None, "mono": 1.0, "facts": {"fan": [-3]}},
        {"id": 1, "gpu": 0, "uuid": None, "mono": 1.0, "facts": {"fan": {"e": 0}}},
        {"id": 1, "gpu": 0, "uuid": None, "mono": 1.0, "facts": {"fan": {"x": 3}}},
        {"id": 1, "gpu": 0, "uuid": None, "mono": 1.0, "facts": {"serial": [3]}},
    ],
)
def test_what_the_wire_does_not_allow(line: dict[str, Any]) -> None:
    with pytest.raises(InvalidLine):
        detail_of(line)


def test_unknown_fields_of_a_newer_probe_are_passed_over() -> None:
    assert {name for name, _ in detail(later=[1]).facts} == set(FIELDS)
    assert set(FIELDS) >= TEXTS


def test_facts_of_a_host() -> None:
    lines = {line.label: line.words for line in host_facts(HOST, NOW)}
    assert lines["driver"] == "575.57.08"
    assert lines["GPUs"].startswith("8 ")
    bare = host_facts(replace(HOST, facts=None, gpus=(), received_s=None), NOW)
    assert {line.words for line in bare if line.label in ("driver", "NVML")} == {"?"}
