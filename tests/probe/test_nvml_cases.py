"""Real NVML readings with the right answer, through the sampler on the fake driver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet, GpuState
from gpudash.core.units import MIB, ceil_mib
from gpudash.core.verify import Clear, judge_fleet
from tests.fake_driver import FOREVER, FakeDriver, Process
from tests.probe.running import Program, cut_sampler

CASES = [
    case
    for line in (Path(__file__).parent.parent / "data/cases/readings.jsonl")
    .read_text()
    .splitlines()
    if (case := json.loads(line))["kind"] == "nvml"
]
POLLED = "poll"
UNKNOWN_ERROR = 999
"""What answers for memory where a case does not say anything of it."""


def driver_of(given: dict[str, Any], folder: Path) -> FakeDriver:
    """Return a fake driver that answers as the case says."""
    handles = given.get("nvmlDeviceGetHandleByIndex_v2", [0])
    driver = FakeDriver.h200(len(handles), folder)
    driver = driver.with_state(driver=given.get("nvmlSystemGetDriverVersion", "580.159.04"))
    if "nvmlInit" in given:
        return driver.with_init_error(given["nvmlInit"])
    for slot, code in enumerate(handles):
        if code:
            driver = driver.with_error(slot, "HandleByIndex_v2", code)
        else:
            driver = with_memory(driver, slot, given)
    driver = with_lists(driver, given)
    if "nvmlDeviceGetMigMode" in given:
        driver = driver.with_gpu(0, mig=tuple(given["nvmlDeviceGetMigMode"]))
    field = given.get("nvmlDeviceGetFieldValues", {}).get("230")
    if field:
        driver = driver.with_gpu(0, recovery=field["value"], recovery_code=field["nvmlReturn"])
    return driver


def with_memory(driver: FakeDriver, slot: int, given: dict[str, Any]) -> FakeDriver:
    second = given.get("nvmlDeviceGetMemoryInfo_v2")
    first = given.get("nvmlDeviceGetMemoryInfo")
    second = second[slot] if isinstance(second, list) else second
    if second == "blocks":
        return driver.with_delay(slot, "MemoryInfo_v2", FOREVER)
    if isinstance(second, dict):
        values = {key: second[key] for key in ("used", "total", "reserved")}
        return driver.with_gpu(slot, **values)
    if isinstance(first, dict):
        driver = driver.with_gpu(slot, used=first["used"], total=first["total"], reserved=0)
        return driver.with_error(slot, "MemoryInfo_v2", second or 13)
    code = first or second or UNKNOWN_ERROR
    if code == 3:
        return driver.unify(slot)
    return driver.with_error(slot, "MemoryInfo*", code)


def with_lists(driver: FakeDriver, given: dict[str, Any]) -> FakeDriver:
    for kind, letter in (("Compute", "C"), ("Graphics", "G")):
        for version in ("", "_v3"):
            rows = given.get(f"nvmlDeviceGet{kind}RunningProcesses{version}")
            codes = [rows] if isinstance(rows, int) else rows or []
            if codes and isinstance(codes[-1], int):
                driver = driver.with_error(0, f"{kind}RunningProcesses*", codes[-1])
                continue
            for row in rows or ():
                used = row["usedGpuMemory"]
                process = Process(row["pid"], None if used in (None, 2**64 - 1) else used, letter)
                driver = driver.with_process(0, process)
    return driver


def fleet_of(driver: FakeDriver) -> Fleet:
    fleet = new_fleet(("gpu-a",), 0.0)
    with Program(cut_sampler(), driver.write().env(), once=True, hung=0.3) as program:
        program.until(lambda line: line["t"] in ("sample", "fault"))
        for event in program.events:
            fleet = apply(fleet, "gpu-a", event, 1.0)
    return fleet


@pytest.mark.parametrize(
    "case", [case for case in CASES if POLLED not in case["input"]], ids=lambda case: case["id"]
)
def test_a_case(case: dict[str, Any], tmp_path: Path) -> None:
    fleet = fleet_of(driver_of(case["input"], tmp_path / "driver"))
    (host,) = fleet.hosts
    wanted = case["expected"]
    judged = judge_fleet(fleet)
    assert judged.clear.value == wanted["clear"]
    if host.problem is None:
        for gpu, told in zip(host.gpus, wanted["gpus"], strict=True):
            used = gpu.reading.used_bytes if gpu.reading else None
            assert (None if used is None else ceil_mib(used)) == told["used_mib"]
            if told["total_mib"] is not None and gpu.info.total_bytes:
                assert round(gpu.info.total_bytes / MIB) == told["total_mib"]
    if wanted["clear"] == "unknown":
        reasons = [judged.hosts[0].reason, *(gpu.reason for gpu in judged.hosts[0].gpus)]
        assert any(reasons)


def test_a_count_that_drops(tmp_path: Path) -> None:
    """The polled case: eight GPUs, then seven; the eighth is missing, never forgotten."""
    (case,) = [case for case in CASES if POLLED in case["input"]]
    before, after = (poll["nvmlDeviceGetCount_v2"] for poll in case["input"][POLLED])
    driver = FakeDriver.h200(before, tmp_path / "driver").write()
    fleet = new_fleet(("gpu-a",), 0.0)
    with Program(cut_sampler(), driver.env(), interval=0.05, revive=0.1, refresh=0.1) as program:
        program.of("sample")
        driver.vanish(before - 1).write()
        program.until(lambda line: line["t"] == "hello" and len(line["roster"]) == after)
        program.of("sample")
        for event in program.events:
            fleet = apply(fleet, "gpu-a", event, 1.0)
    (host,) = fleet.hosts
    assert [gpu.state for gpu in host.gpus].count(GpuState.MISSING) == before - after
    assert judge_fleet(fleet).clear is Clear.UNKNOWN


def test_none_is_left_out() -> None:
    assert len(CASES) == 21
