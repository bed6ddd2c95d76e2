"""The cut binding says what the whole one says, whatever NVML answers to whatever call."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import cache

import pytest

from gpudash.core import nvml
from gpudash.core.wire import HAND_COMMANDS, READING_FIELDS, SAMPLER_COMMANDS
from gpudash.sources import cutting, shipping
from tests.fake_driver import MIB, FakeDriver, Instance, Process
from tests.fake_driver.state import State, idle_h200
from tests.probe.running import cut_sampler, said, whole_binding, whole_sampler

CODES = (*nvml._MEANINGS, 77)
ENDING = ("nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMemoryInfo", "nvmlMemory_v2")
"""There, code 18 on one GPU ends the sampler: test_sampler.py has that."""
PROBE_NVML = "gpudash.probe.nvml"


@pytest.fixture(scope="module")
def cut() -> bytes:
    return cut_sampler()


@pytest.fixture(scope="module")
def whole() -> bytes:
    return whole_sampler()


# -- what the probe uses -----------------------------------------------------------------------


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(shipping.source_of(module))


def words_of(module: str) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def used_functions() -> set[str]:
    """Return every name of pynvml that the probe asks for, spelt out."""
    names: set[str] = set()
    for module in (PROBE_NVML, "gpudash.probe.sampler"):
        for node in ast.walk(tree_of(module)):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "pynvml"
            ):
                names.add(node.attr)
        for word in words_of(module):
            if re.fullmatch(r"nvml[A-Z]\w*", word):
                names.add(word)
    kinds = [word for word in words_of(PROBE_NVML) if word in ("Compute", "Graphics", "MPSCompute")]
    assert len(kinds) == 3
    for version in (2, 3):
        names |= {f"nvmlDeviceGet{kind}RunningProcesses_v{version}" for kind in kinds}
    return names


def test_the_table_is_what_the_probe_uses() -> None:
    assert set(shipping.BINDING_FUNCTIONS) == used_functions() - {"NVMLError"}
    assert list(shipping.BINDING_FUNCTIONS) == sorted(shipping.BINDING_FUNCTIONS)


def test_the_cut_has_the_error_class_and_is_small() -> None:
    text = cutting.cut_binding(whole_binding(), shipping.BINDING_FUNCTIONS)
    assert "class NVMLError" in text
    assert len(text) < len(whole_binding()) / 8
    compile(text, "pynvml", "exec")


def test_a_text_that_cannot_be_cut_travels_whole() -> None:
    for text in ("def broken(:", "x = 1\n", "a\0b"):
        assert shipping.cut_or_whole(text) == text


# -- tables on both sides ----------------------------------------------------------------------


def commands_in(module: str) -> set[str]:
    """Return what the module compares a command's `do` with."""
    found: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if not isinstance(node, ast.Compare):
            continue
        left = ast.unparse(node.left)
        if left not in ("do", "command['do']"):
            continue
        for right in node.comparators:
            found |= {
                leaf.value
                for leaf in ast.walk(right)
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
            }
    return found


def test_commands_are_the_same_on_both_sides() -> None:
    assert commands_in("gpudash.probe.sampler") == set(SAMPLER_COMMANDS)
    assert commands_in("gpudash.probe.hand") == set(HAND_COMMANDS)


def test_a_reading_has_as_many_values_as_the_wire_has_fields() -> None:
    (method,) = (
        node
        for node in ast.walk(tree_of(PROBE_NVML))
        if isinstance(node, ast.FunctionDef) and node.name == "read"
    )
    (reading,) = (
        node.value
        for node in ast.walk(method)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reading"
    )
    assert isinstance(reading, ast.List)
    assert len(reading.elts) == len(READING_FIELDS)


# -- every code for every call -----------------------------------------------------------------

GPU_CALLS = {
    "nvmlDeviceGetClockInfo": ("ClockInfo", 4),
    "nvmlDeviceGetComputeInstanceId": ("ComputeInstanceId", None),
    "nvmlDeviceGetComputeRunningProcesses_v2": ("ComputeRunningProcesses_v[23]", None),
    "nvmlDeviceGetComputeRunningProcesses_v3": ("ComputeRunningProcesses_v3", 8),
    "nvmlDeviceGetCurrentClocksEventReasons": ("CurrentClocksEventReasons", 5),
    "nvmlDeviceGetCurrentClocksThrottleReasons": ("CurrentClocks*", 5),
    "nvmlDeviceGetEnforcedPowerLimit": ("EnforcedPowerLimit", None),
    "nvmlDeviceGetFieldValues": ("FieldValues", 7),
    "nvmlDeviceGetGpuInstanceId": ("GpuInstanceId", None),
    "nvmlDeviceGetGraphicsRunningProcesses_v2": ("GraphicsRunningProcesses_v2", None),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": ("GraphicsRunningProcesses_v3", None),
    "nvmlDeviceGetHandleByIndex": ("HandleByIndex_v2", None),
    "nvmlDeviceGetMPSComputeRunningProcesses_v2": ("MPSComputeRunningProcesses_v2", None),
    "nvmlDeviceGetMPSComputeRunningProcesses_v3": ("MPSComputeRunningProcesses_v3", None),
    "nvmlDeviceGetMaxMigDeviceCount": ("MaxMigDeviceCount", None),
    "nvmlDeviceGetMemoryInfo": ("MemoryInfo*", 0),
    "nvmlMemory_v2": ("MemoryInfo_v2", None),
    "nvmlDeviceGetMigDeviceHandleByIndex": ("MigDeviceHandleByIndex", None),
    "nvmlDeviceGetMigMode": ("MigMode", None),
    "nvmlDeviceGetName": ("Name", None),
    "nvmlDeviceGetPciInfo": ("PciInfo*", None),
    "nvmlDeviceGetPerformanceState": ("PerformanceState", 6),
    "nvmlDeviceGetPowerUsage": ("PowerUsage", 2),
    "nvmlDeviceGetTemperature": ("Temperature*", 3),
    "nvmlDeviceGetUUID": ("UUID", None),
    "nvmlDeviceGetUtilizationRates": ("UtilizationRates", 1),
}
"""Each call of the table on a GPU: its name in the state file, and the place of its value."""
SYSTEM_CALLS = {
    "nvmlInit": "Init*",
    "nvmlDeviceGetCount": "Count*",
    "nvmlSystemGetDriverVersion": "DriverVersion",
    "nvmlSystemGetNVMLVersion": "NVMLVersion",
    "nvmlShutdown": "Shutdown",
}


def test_every_call_of_the_table_is_tried() -> None:
    tried = {*GPU_CALLS, *SYSTEM_CALLS, "_nvmlGetFunctionPointer"}
    assert tried == set(shipping.BINDING_FUNCTIONS)


def one_gpu_a_code(driver: FakeDriver, call: str, codes: tuple[int, ...] = CODES) -> FakeDriver:
    """Return a machine whose GPU number n meets the n-th code, with MIG on the odd ones."""
    gpus = []
    for slot, code in enumerate(codes):
        gpu = replace(
            idle_h200(slot),
            used=MIB + slot,
            bus=f"00000000:{slot:02X}:00.0",
            processes=(
                Process(7, 5, "C", gi=1, ci=0),
                Process(8, None, "G"),
                Process(9, 3, "M"),
            ),
        )
        if slot % 2:
            instance = Instance(1, 0, f"MIG-{slot}", used=5)
            gpu = replace(gpu, mig=(1, 1), instances=(instance,))
        names = [call.replace("[23]", n) for n in "23"] if "[23]" in call else [call]
        rows = tuple(f"err.{name} {code}" for name in names)
        gpus.append(replace(gpu, rows=rows))
    return replace(driver, state=State(gpus=tuple(gpus))).write()


@pytest.mark.parametrize("function", GPU_CALLS)
def test_every_code_of_a_gpu_call(
    fake_driver: FakeDriver, cut: bytes, whole: bytes, function: str
) -> None:
    call, place = GPU_CALLS[function]
    ends = {nvml.VERSION_MISMATCH} if function in ENDING else set()
    codes = tuple(code for code in CODES if code not in ends)
    driver = one_gpu_a_code(fake_driver, call, codes)
    lines = said(driver, cut)
    assert lines == said(driver, whole)
    if function == "nvmlDeviceGetHandleByIndex":
        assert lines[1]["gpus"] == [{"e": code} for code in codes]
    elif place is not None:
        for code, reading in zip(codes, lines[1]["gpus"], strict=True):
            check_code(code, reading, place, function)


def check_code(code: int, reading: object, place: int, function: str) -> None:
    if place == 0 and code == nvml.GPU_IS_LOST:
        assert reading == {"e": code}
        return
    assert isinstance(reading, list)
    steps_down = code == nvml.FUNCTION_NOT_FOUND and function in (
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetCurrentClocksEventReasons",
    )
    assert (reading[place] == {"e": code}) is not steps_down


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (function, code)
        for function in SYSTEM_CALLS
        for code in (CODES if function in ("nvmlInit", "nvmlDeviceGetCount") else (4, 9, 77))
    ],
)
def test_every_code_of_a_system_call(
    fake_driver: FakeDriver, cut: bytes, whole: bytes, function: str, code: int
) -> None:
    driver = fake_driver.with_error(None, SYSTEM_CALLS[function], code).write()
    lines = said(driver, cut)
    if function in ("nvmlInit", "nvmlDeviceGetCount"):
        assert lines[0] == {"t": "fault", "call": function, "code": code, "fatal": True}
    else:
        assert [line["t"] for line in lines] == ["hello", "sample", "bye"]
    if code in (4, 9, 77):
        assert lines == said(driver, whole)


def test_both_bindings_on_an_old_driver(fake_driver: FakeDriver, cut: bytes, whole: bytes) -> None:
    old = replace(one_gpu_a_code(fake_driver, "PowerUsage"), old_450=True)
    assert said(old, cut) == said(old, whole)
