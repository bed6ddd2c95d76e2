"""What other programs say under the fake driver: nvitop, gpustat and the fake nvidia-smi."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.fake_driver import MIB, FakeDriver, Holder, Instance, Process

UNITS = {"KiB": 1 / 1024, "MiB": 1, "GiB": 1024}


def output_of(driver: FakeDriver, *command: str) -> str:
    return subprocess.run(
        command, env=driver.env(smi=True), capture_output=True, text=True, timeout=120, check=True
    ).stdout


def smi(driver: FakeDriver, *arguments: str) -> tuple[str, int]:
    """Return what nvidia-smi prints on standard output, and its exit code."""
    command = [str(driver.folder / "bin" / "nvidia-smi"), *arguments]
    done = subprocess.run(
        command, env=driver.env(smi=True), capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    return done.stdout, done.returncode


# Peers.


@pytest.fixture(params=["used", "held", "lost"])
def told(
    request: pytest.FixtureRequest, fake_driver: FakeDriver
) -> Iterator[tuple[FakeDriver, dict[int, int | None], set[tuple[int, int, str, int]]]]:
    """A driver, MiB used by GPU (None = lost) and (gpu, pid, type, MiB) of live processes."""
    used: dict[int, int | None] = dict.fromkeys(range(8), 0)
    rows: set[tuple[int, int, str, int]] = set()
    driver = fake_driver.with_used(2, 70 * MIB)
    used[2] = 70
    with ExitStack() as stack:
        if request.param != "used":
            for gpu, kind, mib in ((0, "C", 300), (0, "G", 40), (7, "CG", 512)):
                holder = stack.enter_context(Holder(driver, (gpu,), mib * MIB, kind=kind))
                used[gpu] = (used[gpu] or 0) + mib
                rows.add((gpu, holder.pid, kind, mib))
        if request.param == "lost":
            driver = driver.lose(2)
            used[2] = None
        yield driver.write(), used, rows


def test_gpustat_agrees(
    told: tuple[FakeDriver, dict[int, int | None], set[tuple[int, int, str, int]]],
) -> None:
    driver, used, rows = told
    text = output_of(driver, sys.executable, "-m", "gpustat", "--json")
    gpus = json.loads(text)["gpus"]
    assert {gpu["index"]: gpu.get("memory.used") for gpu in gpus} == used
    seen = {
        (gpu["index"], process["pid"], process["gpu_memory_usage"])
        for gpu in gpus
        for process in gpu["processes"] or ()
    }
    assert seen == {(gpu, pid, mib) for gpu, pid, _, mib in rows}
    lost = [gpu["name"] for gpu in gpus if used[gpu["index"]] is None]
    assert lost == ["((GPU is lost))"] * list(used.values()).count(None)


def test_nvitop_agrees(
    told: tuple[FakeDriver, dict[int, int | None], set[tuple[int, int, str, int]]],
) -> None:
    driver, used, rows = told
    text = output_of(driver, sys.executable, "-m", "nvitop", "-1")
    assert nvitop_used(text) == used
    assert nvitop_processes(text) == {
        (gpu, pid, {"CG": "X"}.get(kind, kind), mib) for gpu, pid, kind, mib in rows
    }


def test_nvitop_shows_mig_devices(fake_driver: FakeDriver) -> None:
    instances = (
        Instance(3, 0, "MIG-aaaa", used=12 * MIB),
        Instance(4, 0, "MIG-bbbb", "2g.35gb", used=300 * MIB),
    )
    driver = fake_driver.with_gpu(0, mig=(1, 1), instances=instances).write()
    text = output_of(driver, sys.executable, "-m", "nvitop", "-1")
    rows = re.findall(r"(\dg\.\d+gb) .*?│ +(\S+) / \S+ │ BAR1", text)
    assert rows == [("1g.18gb", "12.00MiB"), ("2g.35gb", "300.0MiB")]


def nvitop_used(text: str) -> dict[int, int | None]:
    """Read the first cell of each GPU's first line and the memory in its second line."""
    used: dict[int, int | None] = {}
    for first, second in zip(text.splitlines(), text.splitlines()[1:], strict=False):
        index = re.match(r"│ +(\d+)  \S.*│.*│.*│$", first)
        memory = re.match(r"│[^│]*│ +(\S+) / \S+ │", second)
        if index and memory:
            used[int(index[1])] = None if memory[1] == "N/A" else mib_of(memory[1])
    return used


def nvitop_processes(text: str) -> set[tuple[int, int, str, int]]:
    pattern = re.compile(r"│ +(\d+) +(\d+) ([CGX]) +\S+ +([\d.]+[KMG]iB) ")
    return {
        (int(row[1]), int(row[2]), row[3], mib_of(row[4]))
        for line in text.splitlines()
        if (row := pattern.match(line))
    }


def mib_of(text: str) -> int:
    number = re.match(r"([\d.]+)([KMG]iB|B)$", text)
    assert number, text
    return round(float(number[1]) * UNITS.get(number[2], 0))


# nvidia-smi.


def test_smi_list(fake_driver: FakeDriver) -> None:
    text, code = smi(fake_driver, "-L")
    assert (len(text.splitlines()), code) == (8, 0)
    assert text.startswith(f"GPU 0: NVIDIA H200 (UUID: {fake_driver.state.gpus[0].uuid})\n")


def test_smi_csv(fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_used(0, MIB + 1).lose(1).with_error(2, "MemoryInfo*", 4)
    driver = driver.with_error(3, "MemoryInfo*", 16).with_error(4, "MemoryInfo*", 999).unify(5)
    driver = driver.with_error(6, "MemoryInfo_v2", 2).write()
    query = "--query-gpu=index,memory.used,memory.total,temperature.gpu"
    text, code = smi(driver, query, "--format=csv")
    assert code == 0
    assert text.splitlines()[:4] == [
        "index, memory.used [MiB], memory.total [MiB], temperature.gpu",
        "0, 2 MiB, 143771 MiB, 30",
        "1, [GPU is lost], [GPU is lost], [GPU is lost]",
        "2, [Insufficient Permissions], [Insufficient Permissions], 30",
    ]
    tokens = [line.split(", ")[1] for line in text.splitlines()[4:]]
    unknown = "[Unknown Error]"
    assert tokens == ["[GPU requires reset]", unknown, "[N/A]", unknown, "0 MiB"]
    text, _ = smi(driver, query, "--format=csv,noheader,nounits", "-i", "0,7")
    assert text == "0, 2, 143771, 30\n7, 0, 143771, 30\n"


def test_smi_rounds_down_before_565(fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_used(0, 2 * MIB - 1)
    query = ("--query-gpu=memory.used", "--format=csv,noheader", "-i", "0")
    for version, cell in (("580.1", "2 MiB\n"), ("565.57.01", "2 MiB\n"), ("545.29", "1 MiB\n")):
        assert smi(driver.with_state(driver=version).write(), *query) == (cell, 0)


def test_smi_by_uuid_and_bus(fake_driver: FakeDriver) -> None:
    gpu = fake_driver.state.gpus[3]
    for name in (gpu.uuid, gpu.bus):
        text, _ = smi(fake_driver, "--query-gpu=index", "--format=csv,noheader", "-i", name)
        assert text == "3\n"


@pytest.mark.parametrize(
    ("field", "driver_version"), [("device_minor", "580.1"), ("gpu_recovery_action", "535.54.03")]
)
def test_smi_unknown_field(fake_driver: FakeDriver, field: str, driver_version: str) -> None:
    driver = fake_driver.with_state(driver=driver_version).write()
    text, code = smi(driver, f"--query-gpu=index,{field}", "--format=csv")
    assert (text, code) == (f'Field "{field}" is not a valid field to query.\n\n', 2)


@pytest.mark.parametrize(
    ("init", "exit_code", "start"),
    [
        (9, 9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
        (17, 17, "Failed to initialize NVML: GPU access blocked by the operating system\n"),
        (18, 18, "Failed to initialize NVML: Driver/library version mismatch\n"),
        (999, 255, "Failed to initialize NVML: Unknown Error\n"),
    ],
)
def test_smi_without_driver(fake_driver: FakeDriver, init: int, exit_code: int, start: str) -> None:
    text, code = smi(fake_driver.with_init_error(init).write(), "-L")
    assert code == exit_code
    assert text.startswith(start)


def test_smi_without_devices_or_handle(fake_driver: FakeDriver) -> None:
    query = ("--query-gpu=index,memory.used", "--format=csv,noheader")
    text, code = smi(fake_driver.with_state(gpus=()).write(), *query)
    assert (text, code) == ("No devices were found\n", 6)
    text, _ = smi(fake_driver.with_error(1, "HandleByIndex_v2", 15).write(), *query)
    lines = text.splitlines()
    assert lines[1].startswith("Unable to determine the device handle for GPU1: ")
    assert (len(lines), lines[2]) == (8, "2, 0 MiB")


def test_smi_compute_apps(fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_process(1, Process(2**22 + 1, None)).write()
    with Holder(driver, used=3 * MIB) as holder, Holder(driver, kind="G"):
        query = "--query-compute-apps=gpu_uuid,pid,process_name,used_memory"
        text, code = smi(driver, query, "--format=csv")
    first, second = (driver.state.gpus[gpu].uuid for gpu in (0, 1))
    assert code == 0
    assert text.splitlines() == [
        "gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
        f"{first}, {holder.pid}, {sys.executable}, 3 MiB",
        f"{second}, {2**22 + 1}, [Not Found], [N/A]",
    ]


def test_smi_loop_writes_each_tick_at_once(fake_driver: FakeDriver) -> None:
    """Each tick is in the pipe before the next begins; the header comes once."""
    command = ["--query-gpu=index,memory.used", "--format=csv", "-lms", "1", "-i", "0"]
    process = subprocess.Popen(
        ["nvidia-smi", *command], env=fake_driver.env(smi=True), stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "index, memory.used [MiB]\n"
            assert process.stdout.readline() == "0, 0 MiB\n"
            fake_driver.with_used(0, MIB).write()
            rows = iter(process.stdout.readline, "0, 1 MiB\n")
            assert set(rows) <= {"0, 0 MiB\n"}
            fake_driver.lose(0).write()
            rows = iter(process.stdout.readline, "0, [GPU is lost]\n")
            assert set(rows) <= {"0, 1 MiB\n"}
        finally:
            process.kill()


def test_smi_xml(fake_driver: FakeDriver) -> None:
    instance = Instance(3, 0, "MIG-aaaa", used=12 * MIB, total=16 * 1024 * MIB)
    driver = fake_driver.with_gpu(0, used=50 * MIB, mig=(1, 1), instances=(instance,))
    driver = driver.with_error(1, "ComputeRunningProcesses_v3", 3).unify(1).write()
    with Holder(driver, (2,), 5 * MIB, kind="CG") as holder:
        text, code = smi(driver, "-q", "-x")
    assert code == 0
    assert text.splitlines()[1] == '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">'
    gpus = ElementTree.fromstring(text).findall("gpu")
    assert [gpu.findtext("uuid") for gpu in gpus] == [gpu.uuid for gpu in driver.state.gpus]
    assert [gpu.findtext("fb_memory_usage/used") for gpu in gpus[:3]] == ["50 MiB", "N/A", "5 MiB"]
    assert gpus[0].findtext("mig_mode/current_mig") == "Enabled"
    mig = gpus[0].find("mig_devices/mig_device")
    assert mig is not None
    assert mig.findtext("gpu_instance_id") == "3"
    assert mig.findtext("fb_memory_usage/used") == "12 MiB"
    assert gpus[1].findtext("processes") == "N/A"
    (process,) = gpus[2].findall("processes/process_info")
    assert [process.findtext(tag) for tag in ("pid", "type", "used_memory")] == [
        str(holder.pid),
        "C+G",
        "5 MiB",
    ]


def test_smi_on_an_old_driver(fake_driver: FakeDriver) -> None:
    driver = replace(fake_driver, old_450=True).with_state(driver="450.36.06")
    text, code = smi(driver.write(), "--query-gpu=memory.used", "--format=csv,noheader", "-i", "0")
    assert (text, code) == ("0 MiB\n", 0)
