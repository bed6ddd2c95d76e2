"""The slow calls as shipped, against the fake driver: values, codes, and never in a tick."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from gpudash.core.events import Ack, DetailTold
from gpudash.core.gpudetail import FIELDS, GpuDetail
from gpudash.sources import shipping
from tests.fake_driver import FakeDriver
from tests.probe.running import Program

CALLS = {
    "bar1": "BAR1MemoryInfo",
    "clocks": "ClockInfo",
    "compute_mode": "ComputeMode",
    "decoder": "DecoderUtilization",
    "ecc_mode": "EccMode",
    "ecc_volatile": "TotalEccErrors",
    "encoder": "EncoderUtilization",
    "fan": "FanSpeed*",
    "max_clocks": "MaxClockInfo",
    "memory_busy": "UtilizationRates",
    "mig": "MigMode",
    "nvlinks": "NvLinkState",
    "pcie_bytes": "FieldValues",
    "pcie_replays": "PcieReplayCounter",
    "persistence": "PersistenceMode",
    "remapped": "RemappedRows",
    "serial": "Serial",
    "thresholds": "TemperatureThreshold",
    "throttle": "CurrentClocks*",
    "vbios": "VbiosVersion",
}


@contextmanager
def sampler(driver: FakeDriver) -> Iterator[Program]:
    with Program(shipping.sampler_payload(), driver.env()) as program:
        program.until(lambda line: line["t"] == "sample")
        yield program
        assert program.child.errors() == ""


def asked(program: Program, **arguments: Any) -> tuple[GpuDetail | None, Ack]:
    start = len(program.events)
    program.send(5, "detail", **arguments)
    program.until(lambda line: line["t"] == "ack")
    events = program.events[start:]
    (ack,) = (event for event in events if isinstance(event, Ack))
    told = [event.detail for event in events if isinstance(event, DetailTold)]
    assert len(told) <= 1
    return (told[0] if told else None), ack


def numbers(detail: GpuDetail | None, name: str) -> tuple[int | None, ...]:
    assert detail is not None
    fact = detail.fact(name)
    assert fact is not None
    assert fact.code is None
    return fact.numbers


def test_everything_is_answered(fake_driver: FakeDriver) -> None:
    rows = (
        "pcie 4 8 5 16",
        "pcie_bytes 123456789012 5",
        "ecc 1 2 3 4",
        "remapped 5 6 1 0",
        "retired 7 8 1",
        "fan 45",
        "mig 0 1",
        "bar1 1000 10",
        "encoder 31 1",
        "decoder 17 1",
        "clocks 11 22 33 44",
        "max_clocks 55 66 77 88",
        "temp_thresholds 92 89 95 87",
        "serial S-1",
        "vbios V-1",
        "nvlinks 3",
        "persistence 0",
        "compute_mode 3",
        "throttle 0x60",
        "power_range_mw 200000 650000",
    )
    driver = fake_driver.with_gpu_rows(1, *rows).write()
    with sampler(driver) as program:
        detail, ack = asked(program, gpu=1)
    assert ack.is_ok
    assert detail is not None
    assert (detail.id, detail.index, detail.uuid) == (5, 1, fake_driver.state.gpus[1].uuid)
    assert {name for name, _ in detail.facts} == set(FIELDS)
    assert numbers(detail, "pcie") == (4, 8, 5, 16)
    assert numbers(detail, "pcie_bytes") == (123456789012, 5)
    assert numbers(detail, "ecc_volatile") == (1, 2)
    assert numbers(detail, "ecc_aggregate") == (3, 4)
    assert numbers(detail, "remapped") == (5, 6, 1, 0)
    assert numbers(detail, "retired") == (7, 8, 1)
    assert numbers(detail, "fan") == (45,)
    assert numbers(detail, "mig") == (0, 1)
    assert numbers(detail, "bar1") == (10, 1000)
    assert numbers(detail, "encoder")[0] == 31
    assert numbers(detail, "decoder")[0] == 17
    assert numbers(detail, "clocks") == (11, 22, 33, 44)
    assert numbers(detail, "max_clocks") == (55, 66, 77, 88)
    assert numbers(detail, "thresholds") == (92, 89, 95, 87)
    assert numbers(detail, "nvlinks") == (1, 1, 1)
    assert numbers(detail, "persistence") == (0,)
    assert numbers(detail, "compute_mode") == (3,)
    assert numbers(detail, "throttle") == (0x60,)
    assert numbers(detail, "power_limits") == (700_000, 700_000, 200_000, 650_000)
    texts = {name: fact.text for name, fact in detail.facts if fact.text}
    assert texts == {"serial": "S-1", "vbios": "V-1"}


@pytest.mark.parametrize("code", [3, 4, 15, 77])
def test_a_code_stands_in_the_place_of_what_failed(fake_driver: FakeDriver, code: int) -> None:
    driver = fake_driver
    for slot, call in enumerate(CALLS.values()):
        driver = driver.with_gpu_rows(slot % 8, f"err.{call} {code}")
    with sampler(driver.write()) as program:
        details = [asked(program, gpu=slot)[0] for slot in range(8)]
    for slot, name in enumerate(CALLS):
        detail = details[slot % 8]
        assert detail is not None
        fact = detail.fact(name)
        assert fact is not None
        assert fact.code == code, name
        assert (fact.numbers, fact.text) == ((), "")


def test_a_part_that_failed_takes_nothing_with_it(fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_gpu_rows(0, "err.CurrPcieLinkWidth 4").write()
    with sampler(driver) as program:
        detail, _ = asked(program, gpu=0)
    assert numbers(detail, "pcie") == (5, None, 5, 16)


def test_an_old_driver_lacks_and_does_not_fail(fake_driver: FakeDriver) -> None:
    with sampler(replace(fake_driver, old_450=True).write()) as program:
        detail, ack = asked(program, gpu=0)
    assert ack.is_ok
    assert numbers(detail, "throttle") == (1,)
    assert detail is not None
    fact = detail.fact("recovery")
    assert fact is not None
    assert fact.is_absent


@pytest.mark.parametrize("gpu", [8, -1, "0", None, True, 1.0])
def test_a_gpu_that_is_none(fake_driver: FakeDriver, gpu: object) -> None:
    with sampler(fake_driver) as program:
        detail, ack = asked(program, gpu=gpu)
        assert detail is None
        assert not ack.is_ok
        assert asked(program, gpu=0)[1].is_ok


def test_no_slow_call_is_made_by_ticks_and_throughput_never(fake_driver: FakeDriver) -> None:
    ticking = "".join(shipping.source_of(name) for name in shipping.SAMPLER_MODULES)
    detail = shipping.source_of(*shipping.DETAIL_MODULES)
    for word in ("PcieThroughput(", '"PcieThroughput', "TotalEnergyConsumption", "BAR1"):
        assert word not in ticking
    assert not re.search(r'"PcieThroughput|"TotalEnergy', detail)
    assert "gpudash.probe.detail" not in shipping.SAMPLER_MODULES


def test_a_one_shot_does_not_carry_it(fake_driver: FakeDriver) -> None:
    document = shipping.sampler_payload(shipping.WHO_MODULES)
    assert b'gpudash.probe.detail"' not in document
    assert os.fspath(fake_driver.folder)
