"""The fake library through nvidia-ml-py: NVML answers what the state file says."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fake_driver import FOREVER, MIB, FakeDriver, Instance, Process, library_folder
from tests.fake_driver.pynvml_child import NvmlCode, PynvmlChild
from tests.fake_driver.state import H200_RESERVED, H200_TOTAL

MEMORY_V2 = 40 | 2 << 24
NO_INSTANCE = 0xFFFFFFFF


@pytest.fixture
def rich(fake_driver: FakeDriver) -> FakeDriver:
    """GPU 1 says something of everything."""
    return fake_driver.with_gpu(
        1,
        name="NVIDIA H200 NVL",
        used=7 * MIB + 1,
        util=93,
        mem_util=41,
        power_mw=612_345,
        temp=67,
        clocks=(1980, 1965, 3201, 1500),
        throttle=0x4,
        pstate=2,
        ecc=(5, 2, 50, 20),
        remapped=(1, 2, 1, 0),
        recovery=1,
        fan=35,
        persistence=0,
        processes=(
            Process(41, 5 * MIB, sm_percent=90),
            Process(42, None, "G"),
            Process(43, 1, "CG"),
            Process(44, 2, "M"),
        ),
    ).write()


def test_identity(rich: FakeDriver) -> None:
    with PynvmlChild(rich) as nvml:
        gpu = nvml.device(1)
        assert nvml.call("nvmlSystemGetDriverVersion") == "580.159.04"
        assert nvml.call("nvmlSystemGetNVMLVersion") == "13.580.159.04"
        assert nvml.call("nvmlSystemGetCudaDriverVersion_v2") == 13000
        assert nvml.call("nvmlDeviceGetCount") == 8
        assert nvml.call("nvmlDeviceGetName", gpu) == "NVIDIA H200 NVL"
        assert nvml.call("nvmlDeviceGetIndex", gpu) == 1
        assert nvml.call("nvmlDeviceGetMinorNumber", gpu) == 1
        pci = nvml.call("nvmlDeviceGetPciInfo", gpu)
        assert pci["busId"] == rich.state.gpus[1].bus
        assert (pci["busIdLegacy"], pci["bus"]) == ("0000:2A:00.0", 0x2A)
        for found in (
            nvml.call("nvmlDeviceGetHandleByUUID", rich.state.gpus[1].uuid),
            nvml.call("nvmlDeviceGetHandleByPciBusId", "0000:2a:00.0"),
        ):
            assert nvml.call("nvmlDeviceGetUUID", found) == rich.state.gpus[1].uuid
        assert nvml.code("nvmlDeviceGetHandleByUUID", "GPU-none") == 6
        assert nvml.code("nvmlDeviceGetHandleByIndex", 8) == 2


def test_memory_versions_differ_by_the_reserve(rich: FakeDriver) -> None:
    with PynvmlChild(rich) as nvml:
        gpu = nvml.device(1)
        new = nvml.call("nvmlDeviceGetMemoryInfo", gpu, MEMORY_V2)
        old = nvml.call("nvmlDeviceGetMemoryInfo", gpu)
        wrong_version = nvml.code("nvmlDeviceGetMemoryInfo", gpu, 2)
    assert (new["used"], new["reserved"], new["total"]) == (7 * MIB + 1, H200_RESERVED, H200_TOTAL)
    assert new["used"] + new["free"] + new["reserved"] == new["total"]
    assert old["used"] == new["used"] + new["reserved"]
    assert old["used"] + old["free"] == old["total"] == new["total"]
    assert wrong_version == 25


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("nvmlDeviceGetUtilizationRates", (), {"gpu": 93, "memory": 41}),
        ("nvmlDeviceGetEncoderUtilization", (), [0, 167000]),
        ("nvmlDeviceGetPowerUsage", (), 612_345),
        ("nvmlDeviceGetEnforcedPowerLimit", (), 700_000),
        ("nvmlDeviceGetPowerManagementLimitConstraints", (), [200_000, 700_000]),
        ("nvmlDeviceGetTemperature", (0,), 67),
        ("nvmlDeviceGetTemperatureV", (0,), 67),
        ("nvmlDeviceGetTemperatureThreshold", (1,), 89),
        ("nvmlDeviceGetClockInfo", (1,), 1965),
        ("nvmlDeviceGetMaxClockInfo", (1,), 1980),
        ("nvmlDeviceGetClock", (2, 0), 3201),
        ("nvmlDeviceGetCurrentClocksThrottleReasons", (), 4),
        ("nvmlDeviceGetCurrentClocksEventReasons", (), 4),
        ("nvmlDeviceGetPerformanceState", (), 2),
        ("nvmlDeviceGetTotalEccErrors", (1, 0), 2),
        ("nvmlDeviceGetTotalEccErrors", (0, 1), 50),
        ("nvmlDeviceGetRemappedRows", (), [1, 2, 1, 0]),
        ("nvmlDeviceGetFanSpeed", (), 35),
        ("nvmlDeviceGetPersistenceMode", (), 0),
        ("nvmlDeviceGetMigMode", (), [0, 0]),
        ("nvmlDeviceGetMaxMigDeviceCount", (), 7),
        ("nvmlDeviceGetBAR1MemoryInfo", (), {"bar1Total": 2**38, "bar1Used": 1703936}),
        ("nvmlDeviceGetCudaComputeCapability", (), [9, 0]),
        ("nvmlDeviceGetCurrPcieLinkWidth", (), 16),
        ("nvmlDeviceGetPcieThroughput", (0,), 0),
        ("nvmlDeviceGetNvLinkState", (17,), 1),
        ("nvmlDeviceGetArchitecture", (), 9),
    ],
)
def test_a_reading(
    rich: FakeDriver, call: str, arguments: tuple[int, ...], expected: object
) -> None:
    with PynvmlChild(rich) as nvml:
        value = nvml.call(call, nvml.device(1), *arguments)
    if isinstance(expected, dict):
        value = {key: value[key] for key in expected}
    assert value == expected


def test_process_lists_by_kind(rich: FakeDriver) -> None:
    with PynvmlChild(rich) as nvml:
        gpu = nvml.device(1)
        compute = nvml.call("nvmlDeviceGetComputeRunningProcesses", gpu)
        graphics = nvml.call("nvmlDeviceGetGraphicsRunningProcesses", gpu)
        shared = nvml.call("nvmlDeviceGetMPSComputeRunningProcesses", gpu)
        older = nvml.call("nvmlDeviceGetComputeRunningProcesses_v2", gpu)
        samples = nvml.call("nvmlDeviceGetProcessUtilization", gpu, 0)
        nobody = nvml.code("nvmlDeviceGetProcessUtilization", nvml.device(0), 0)
        empty = nvml.call("nvmlDeviceGetComputeRunningProcesses", nvml.device(0))
    assert [(row["pid"], row["usedGpuMemory"]) for row in compute] == [(41, 5 * MIB), (43, 1)]
    assert [(row["pid"], row["usedGpuMemory"]) for row in graphics] == [(42, None), (43, 1)]
    assert [row["pid"] for row in shared] == [44]
    assert older == compute
    assert {row["gpuInstanceId"] for row in compute} == {NO_INSTANCE}
    assert [(row["pid"], row["smUtil"]) for row in samples] == [(41, 90)]
    assert (nobody, empty) == (6, [])


def test_each_field_value_has_its_own_code(rich: FakeDriver) -> None:
    driver = rich.with_gpu(2, recovery=None).with_gpu(3, recovery=0, recovery_code=4)
    driver = driver.with_gpu_rows(1, "field 150 77", "field 151 0 27").write()
    with PynvmlChild(driver) as nvml:
        fields = nvml.call("nvmlDeviceGetFieldValues", nvml.device(1), [230, 150, 151, 9999])
        others = [
            nvml.call("nvmlDeviceGetFieldValues", nvml.device(index), [230])[0] for index in (2, 3)
        ]
    answers = [(f["fieldId"], f["nvmlReturn"], f["value"]) for f in fields]
    assert answers == [(230, 0, 1), (150, 0, 77), (151, 27, 0), (9999, 3, 0)]
    assert [other["nvmlReturn"] for other in others] == [3, 4]


def test_what_a_default_gpu_does_not_support(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver) as nvml:
        gpu = nvml.device(0)
        for call in ("nvmlDeviceGetFanSpeed", "nvmlDeviceGetDriverModel"):
            assert nvml.code(call, gpu) == 3
        assert nvml.code("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 0) == 3
        assert nvml.call("nvmlDeviceIsMigDeviceHandle", gpu) == 0


def test_mig(fake_driver: FakeDriver) -> None:
    first = Instance(3, 0, "MIG-aaaa", used=12 * MIB, total=16 * 1024 * MIB)
    second = replace(first, gi=4, uuid="MIG-bbbb", used=0)
    processes = (Process(77, 11 * MIB, gi=3, ci=0), Process(78, MIB, gi=4, ci=0))
    driver = fake_driver.with_gpu(0, mig=(1, 1), instances=(first, second), processes=processes)
    with PynvmlChild(driver.write()) as nvml:
        gpu = nvml.device(0)
        mig = nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 0)
        assert nvml.call("nvmlDeviceGetMigMode", gpu) == [1, 1]
        assert nvml.code("nvmlDeviceGetMigDeviceHandleByIndex", gpu, 2) == 6
        assert nvml.call("nvmlDeviceIsMigDeviceHandle", mig) == 1
        assert nvml.call("nvmlDeviceGetUUID", mig) == "MIG-aaaa"
        assert nvml.call("nvmlDeviceGetName", mig) == "NVIDIA H200 MIG 1g.18gb"
        assert nvml.call("nvmlDeviceGetGpuInstanceId", mig) == 3
        assert nvml.call("nvmlDeviceGetComputeInstanceId", mig) == 0
        assert nvml.call("nvmlDeviceGetMemoryInfo", mig, MEMORY_V2)["used"] == 12 * MIB
        assert nvml.call("nvmlDeviceGetAttributes_v2", mig)["memorySizeMB"] == 16 * 1024
        rows = nvml.call("nvmlDeviceGetComputeRunningProcesses", mig)
        assert [(row["pid"], row["gpuInstanceId"]) for row in rows] == [(77, 3)]
        assert len(nvml.call("nvmlDeviceGetComputeRunningProcesses", gpu)) == 2
        parent = nvml.call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig)
        assert nvml.call("nvmlDeviceGetIndex", parent) == 0
        assert nvml.code("nvmlDeviceGetUtilizationRates", gpu) == 3
        again = nvml.call("nvmlDeviceGetHandleByUUID", "MIG-bbbb")
        assert nvml.call("nvmlDeviceGetGpuInstanceId", again) == 4


def test_calls_before_init(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver) as nvml:
        gpu = nvml.device(0)
        nvml.call("nvmlShutdown")
        assert nvml.code("nvmlDeviceGetCount") == 1
        assert nvml.code("nvmlDeviceGetName", gpu) == 1
        nvml.call("nvmlInit")
        assert nvml.call("nvmlDeviceGetIndex", gpu) == 0


@pytest.mark.parametrize("code", [9, 17, 18, 999])
def test_init_error(fake_driver: FakeDriver, code: int) -> None:
    with PynvmlChild(fake_driver.with_init_error(code).write(), init=False) as nvml:
        assert nvml.code("nvmlInit") == code


def test_no_state_file_is_no_driver(tmp_path: Path) -> None:
    with PynvmlChild(FakeDriver.h200(1, tmp_path / "none"), init=False) as nvml:
        assert nvml.code("nvmlInit") == 9


def test_errors_by_call_and_gpu(fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_error(0, "MemoryInfo_v2", 25).with_error(1, "Mem*", 4)
    driver = driver.with_error(2, "HandleByIndex_v2", 15).with_error(3, "*Running", 7)
    with PynvmlChild(driver.write()) as nvml:
        first, second = nvml.device(0), nvml.device(1)
        assert nvml.code("nvmlDeviceGetMemoryInfo", first, MEMORY_V2) == 25
        assert nvml.code("nvmlDeviceGetMemoryInfo", first) == 0
        assert nvml.code("nvmlDeviceGetMemoryInfo", second, MEMORY_V2) == 4
        assert nvml.code("nvmlDeviceGetMemoryInfo", second) == 4
        assert nvml.code("nvmlDeviceGetHandleByIndex", 2) == 15
        fake_driver.with_error(None, "Count*", 999).write()
        assert nvml.code("nvmlDeviceGetCount") == 999


def test_lost_gpu(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver) as nvml:
        gpu, other = nvml.device(5), nvml.device(6)
        fake_driver.lose(5).write()
        for call in ("Name", "UUID", "MemoryInfo", "ComputeRunningProcesses", "PowerUsage"):
            assert nvml.code(f"nvmlDeviceGet{call}", gpu) == 15
            assert nvml.code(f"nvmlDeviceGet{call}", other) == 0
        assert nvml.code("nvmlDeviceGetHandleByIndex", 5) == 0
        fake_driver.write()
        assert nvml.code("nvmlDeviceGetName", gpu) == 0


def test_vanished_gpu_moves_the_others_down(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver) as nvml:
        gone, later = nvml.device(2), nvml.device(7)
        fake_driver.vanish(2).write()
        assert nvml.call("nvmlDeviceGetCount") == 7
        assert nvml.call("nvmlDeviceGetIndex", later) == 6
        assert nvml.call("nvmlDeviceGetUUID", later) == fake_driver.state.gpus[7].uuid
        assert nvml.code("nvmlDeviceGetName", gone) == 15
        assert nvml.code("nvmlDeviceGetHandleByUUID", fake_driver.state.gpus[2].uuid) == 6
        moved = nvml.call("nvmlDeviceGetUUID", nvml.device(2))
        assert moved == fake_driver.state.gpus[3].uuid


def test_unified_gpu(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver.unify(0).write()) as nvml:
        gpu = nvml.device(0)
        assert nvml.code("nvmlDeviceGetMemoryInfo", gpu, MEMORY_V2) == 3
        assert nvml.code("nvmlDeviceGetMemoryInfo", gpu) == 3
        assert nvml.call("nvmlDeviceGetComputeRunningProcesses", gpu) == []


def test_a_delayed_call_answers_what_is_true_afterwards(fake_driver: FakeDriver) -> None:
    """The hung call is under way for as long as the file says so, and no other thread waits."""
    with PynvmlChild(fake_driver.with_delay(0, "PowerUsage", FOREVER).write()) as nvml:
        nvml.send("nvmlDeviceGetPowerUsage", nvml.device(0))
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(nvml.receive)
            assert not answer.done()
            fake_driver.with_gpu(0, power_mw=1).write()
            assert answer.result(timeout=30) == 1
        fake_driver.with_delay(0, "PowerUsage", 1000).write()
        assert nvml.call("nvmlDeviceGetPowerUsage", nvml.device(0)) == 75_000


def test_threads_do_not_wait_for_a_hung_call(fake_driver: FakeDriver) -> None:
    code = (
        "import os, threading, pynvml as n\n"
        "n.nvmlInit()\n"
        "hung, fine = n.nvmlDeviceGetHandleByIndex(0), n.nvmlDeviceGetHandleByIndex(1)\n"
        "threading.Thread(target=n.nvmlDeviceGetName, args=(hung,), daemon=True).start()\n"
        "for _ in range(100): assert n.nvmlDeviceGetName(fine)\n"
        "print(n.nvmlDeviceGetIndex(fine), flush=True)\n"
        "os._exit(0)\n"
    )
    driver = fake_driver.with_delay(0, "Name", FOREVER).write()
    done = subprocess.run(
        [sys.executable, "-c", code], env=driver.env(), capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_old_driver_lacks_the_newer_calls(fake_driver: FakeDriver) -> None:
    driver = replace(fake_driver, old_450=True).with_used(0, MIB)
    driver = driver.with_process(0, Process(41, MIB)).with_process(0, Process(42, 2)).write()
    assert library_folder(True) != library_folder(False)
    with PynvmlChild(driver) as nvml:
        gpu = nvml.device(0)
        assert nvml.code("nvmlDeviceGetMemoryInfo", gpu, MEMORY_V2) == 13
        assert nvml.call("nvmlDeviceGetMemoryInfo", gpu)["used"] == MIB
        for version in ("_v2", "_v3"):
            assert nvml.code(f"nvmlDeviceGetComputeRunningProcesses{version}", gpu) == 13
        assert nvml.code("nvmlDeviceGetTemperatureV", gpu, 0) == 13
        assert nvml.call("nvmlDeviceGetTemperature", gpu, 0) == 30


def test_version_1_process_rows_have_16_bytes(fake_driver: FakeDriver) -> None:
    code = (
        "import ctypes, sys\n"
        "n, out, handle = ctypes.CDLL(sys.argv[1]), (ctypes.c_uint64 * 8)(), ctypes.c_void_p()\n"
        "count = ctypes.c_uint(0)\n"
        "n.nvmlInit_v2(); n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))\n"
        "call = n.nvmlDeviceGetComputeRunningProcesses\n"
        "print(call(handle, ctypes.byref(count), None), count.value, end=' ')\n"
        "count.value = 4\n"
        "print(call(handle, ctypes.byref(count), out), count.value, *out[:5])\n"
    )
    driver = fake_driver.with_process(0, Process(41, MIB)).with_process(0, Process(42, 2)).write()
    done = subprocess.run(
        [sys.executable, "-c", code, str(driver.library)],
        env=driver.env(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["7", "2", "0", "2", "41", str(MIB), "42", "2", "0"]


def test_a_growing_list_answers_insufficient_size(fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_error(0, "ComputeRunningProcesses_v3", 7).write()
    with PynvmlChild(driver) as nvml, pytest.raises(NvmlCode) as failure:
        nvml.call("nvmlDeviceGetComputeRunningProcesses", nvml.device(0))
    assert failure.value.code == 7
