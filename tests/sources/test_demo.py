"""The demo in bytes: which scenario, the same every time, readable in any chunking."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core import wire
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.events import Garbled, Hello, ProbeEvent, Sample
from gpudash.sources.demo import NAMES, parse_scenario
from gpudash.sources.demo.programs import TOKEN
from gpudash.sources.demo.scenes import machines
from tests.sources.demo_said import MIB, decoded, said


def test_no_word_is_the_busy_scenario() -> None:
    assert parse_scenario("").name == "busy"


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_a_scenario(name: str) -> None:
    assert parse_scenario(f" {name.upper()} ").name == name


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("leftover", "leftovers"),
        ("troubel", "trouble"),
        ("flet:4x8", "fleet"),
        ("train", "training"),
    ],
)
def test_an_unknown_scenario_names_the_nearest(text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scenario(text)
    assert f"Did you mean {near}?" in caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    "text",
    ["fleet:", "fleet:8", "fleet:0x8", "fleet:129x8", "fleet:4x17", "fleet:4x0", "fleet:-1x8",
     "fleet:4x8x2", "fleet:４x8", "fleet: 4x8", "idle:4x8"],
)  # fmt: skip
def test_a_malformed_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scenario(text)
    assert "HxG" in caught.value.hint


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_says_the_same_bytes(name: str) -> None:
    scenario = parse_scenario(name)
    first, second = ([said(m, range(40)) for m in machines(scenario, 3)] for _ in range(2))
    assert first == second


def test_another_seed_says_other_bytes() -> None:
    scenario = parse_scenario("busy")
    assert [said(m, range(5)) for m in machines(scenario, 1)] != [
        said(m, range(5)) for m in machines(scenario, 2)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_tick_does_not_depend_on_the_ticks_before(name: str) -> None:
    scenario = parse_scenario(name)
    for stepped, fresh in zip(machines(scenario, 0), machines(scenario, 0), strict=True):
        for at_s in (300.0, -20.0, 12.0):
            stepped.instants(at_s)
        assert stepped.instants(77.0) == fresh.instants(77.0)


def test_the_token_comes_first_and_the_hello_says_simulated() -> None:
    for name in NAMES:
        for machine in machines(parse_scenario(name), 0):
            token, first, *_ = said(machine, [0.0]).split(b"\n")
            assert token == TOKEN.encode()
            told = json.loads(first)
            if told["t"] == "hello":
                assert told["simulated"] is True
                assert told["source"] == "demo"
            else:
                assert (told["t"], told["fatal"]) == ("fault", True)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(NAMES),
    start=st.integers(min_value=0, max_value=400),
    sizes=st.lists(st.integers(min_value=1, max_value=700), min_size=1, max_size=8),
)
def test_every_line_decodes_in_any_chunking(name: str, start: int, sizes: list[int]) -> None:
    for machine in machines(parse_scenario(name), 0)[:8]:
        data = said(machine, range(start, start + 4))
        decoder = wire.LineDecoder(TOKEN)
        events: list[ProbeEvent] = []
        at, turn = 0, 0
        while at < len(data):
            size = sizes[turn % len(sizes)]
            events += decoder.feed(data[at : at + size])
            at, turn = at + size, turn + 1
        assert events == decoded(data)
        assert not [event for event in events if isinstance(event, Garbled)]
        assert all(len(line) <= wire.MAX_LINE_BYTES for line in data.split(b"\n"))


@settings(deadline=None, max_examples=30)
@given(hosts=st.integers(1, 128), gpus=st.integers(1, 16), seed=st.integers(0, 1 << 32))
def test_a_fleet_has_any_size(hosts: int, gpus: int, seed: int) -> None:
    known = machines(parse_scenario(f"fleet:{hosts}x{gpus}"), seed)
    assert len({machine.name for machine in known}) == hosts
    for machine in known[:33]:
        hello, sample = decoded(said(machine, [5.0]))
        assert isinstance(hello, Hello)
        assert isinstance(sample, Sample)
        assert len(hello.roster) == len(sample.readings) == gpus
        assert len({info.uuid for info in hello.roster}) == gpus
        assert len({info.bus_id for info in hello.roster}) == gpus
        for info, reading in zip(hello.roster, sample.readings, strict=True):
            assert reading.used_bytes is None or reading.used_bytes < (info.total_bytes or 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at_s", [-250.0, 0.0, 30.0, 61.5, 119.0, 1000.0])
def test_what_processes_hold_adds_up_to_what_is_used(name: str, at_s: float) -> None:
    for machine in machines(parse_scenario(name), 0):
        for gpu, now in enumerate(machine.instants(at_s)):
            if now is None:
                continue
            held = sum(holding.mib for holding in now.holdings) * MIB
            stray = 512 * MIB * any(sick.gpu == gpu and sick.mib for sick in machine.ailments)
            assert 0 <= now.used_bytes - held - stray <= 8 * MIB
            assert 0 <= now.utilisation_pct <= 100
            assert now.power_mw < machine.boards[gpu].limit_w * 1000
