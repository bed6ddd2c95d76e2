"""Memory follows handles: it stays while anyone has the holder's file open, and no longer."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fake_driver import MIB, FakeDriver, Holder, Process
from tests.fake_driver.pynvml_child import PynvmlChild

MEMORY_V2 = 40 | 2 << 24
DEADLINE_S = 30.0


def poll(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; fail after a deadline that no healthy run comes near."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, "not so within the deadline"


class Reading:
    """What NVML says of one GPU now."""

    def __init__(self, nvml: PynvmlChild, index: int = 0) -> None:
        self.nvml, self.gpu = nvml, nvml.device(index)

    def used(self) -> int:
        memory: dict[str, int] = self.nvml.call("nvmlDeviceGetMemoryInfo", self.gpu, MEMORY_V2)
        assert memory["used"] + memory["free"] + memory["reserved"] == memory["total"]
        return memory["used"]

    def pids(self, kind: str = "Compute") -> list[int]:
        rows = self.nvml.call(f"nvmlDeviceGet{kind}RunningProcesses", self.gpu)
        return [row["pid"] for row in rows]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_memory_is_freed_when_its_holder_ends(fake_driver: FakeDriver, end: int) -> None:
    driver = fake_driver.with_used(0, MIB).with_process(0, Process(1, MIB)).write()
    with PynvmlChild(driver) as nvml, Holder(driver, (0, 3), 5 * MIB) as holder:
        first, other, idle = Reading(nvml), Reading(nvml, 3), Reading(nvml, 1)
        assert (first.used(), first.pids()) == (6 * MIB, [1, holder.pid])
        assert (other.used(), other.pids()) == (5 * MIB, [holder.pid])
        assert (idle.used(), idle.pids()) == (0, [])
        os.kill(holder.pid, end)
        holder.process.wait()
        poll(lambda: first.used() == MIB)
        assert (first.pids(), other.used(), other.pids()) == ([1], 0, [])


def test_a_forked_child_keeps_the_memory_under_the_dead_pid(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver) as nvml, Holder(fake_driver, inherit=True, used=MIB) as holder:
        reading = Reading(nvml)
        holder.kill()
        assert holder.child_pid is not None
        assert not Path(f"/proc/{holder.pid}").exists()
        assert Path(f"/proc/{holder.child_pid}").exists()
        assert (reading.used(), reading.pids()) == (MIB, [holder.pid])
        holder.end_child()
        poll(lambda: reading.used() == 0)
        assert reading.pids() == []


def test_a_holder_can_ignore_sigterm(fake_driver: FakeDriver) -> None:
    with (
        PynvmlChild(fake_driver) as nvml,
        Holder(fake_driver, used=MIB, ignore_term=True) as stubborn,
        Holder(fake_driver, used=MIB) as other,
    ):
        reading = Reading(nvml)
        for holder in (stubborn, other):
            os.kill(holder.pid, signal.SIGTERM)
        assert other.process.wait(DEADLINE_S) == -signal.SIGTERM
        assert stubborn.process.poll() is None
        assert (reading.used(), reading.pids()) == (MIB, [stubborn.pid])


def test_title_kind_and_state_changes(fake_driver: FakeDriver) -> None:
    with (
        PynvmlChild(fake_driver) as nvml,
        Holder(fake_driver, used=MIB, kind="G", title="Xorg") as graphics,
        Holder(fake_driver, used=2 * MIB, kind="-") as hidden,
    ):
        reading = Reading(nvml)
        assert Path(f"/proc/{graphics.pid}/comm").read_text() == "Xorg\n"
        assert hidden.process.poll() is None
        assert (reading.pids("Compute"), reading.pids("Graphics")) == ([], [graphics.pid])
        fake_driver.with_used(0, MIB).write()
        assert reading.used() == 4 * MIB


def test_a_holder_ends_with_its_input(fake_driver: FakeDriver) -> None:
    with Holder(fake_driver, inherit=True, ignore_term=True) as holder:
        assert holder.process.stdin is not None
        holder.process.stdin.close()
        assert holder.process.wait(DEADLINE_S) == 0


def test_readers_never_see_each_other(fake_driver: FakeDriver, tmp_path: Path) -> None:
    """A file that nobody holds stays free, however many ask at once."""
    path = tmp_path / "free"
    path.touch()
    driver = fake_driver.with_gpu_rows(0, f"hold 77 C {MIB} {path}").write()
    code = (
        "import threading, pynvml as n\n"
        "n.nvmlInit()\n"
        "gpu, seen = n.nvmlDeviceGetHandleByIndex(0), set()\n"
        "def ask():\n"
        "    for _ in range(3000):\n"
        "        seen.add(n.nvmlDeviceGetMemoryInfo(gpu, version=n.nvmlMemory_v2).used)\n"
        "        seen.add(len(n.nvmlDeviceGetComputeRunningProcesses(gpu)))\n"
        "threads = [threading.Thread(target=ask) for _ in range(2)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "print(*seen)\n"
    )
    command = [sys.executable, "-c", code]
    readers = [
        subprocess.Popen(command, env=driver.env(), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [reader.communicate(timeout=120)[0] for reader in readers] == ["0\n", "0\n"]
    with PynvmlChild(driver) as nvml, path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert (Reading(nvml).used(), Reading(nvml).pids()) == (MIB, [77])


def test_probing_leaves_no_descriptor_open(fake_driver: FakeDriver) -> None:
    with PynvmlChild(fake_driver) as nvml, Holder(fake_driver, used=MIB):
        reading = Reading(nvml)
        folder = Path(f"/proc/{nvml.process.pid}/fd")
        before = len(list(folder.iterdir()))
        for _ in range(50):
            assert reading.used() == MIB
        assert len(list(folder.iterdir())) == before
