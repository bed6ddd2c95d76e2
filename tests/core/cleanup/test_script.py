"""The plan as a script: it runs under any sh, and signals nobody who is not who was meant."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudash.core.cleanup.consent import chosen
from gpudash.core.cleanup.orders import order_of
from gpudash.core.cleanup.script import script_of
from tests.core.cleanup.making import CID, GIB, SHELL, YES, Box

NAMES = {"GPU-0": "0000:00:00.0", "GPU-1": "0000:01:00.0"}
STAT = Path("/proc/self/stat")


def start_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def script(pid: int, start_ticks: int, boot: str = "") -> str:
    box = Box()
    box.scan_changes["boot_id"] = boot or boot_id()
    box.add(pid, "evil\n$(reboot)`x`", memory={0: GIB}, parent=SHELL, start_ticks=start_ticks)
    plan = box.plan()
    picked = chosen(plan, YES)
    return script_of(plan, order_of(plan, picked, run="r", host_now_s=1.0, gpu_names=NAMES))


def run(text: str, shell: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([shell], input=text, capture_output=True, text=True, timeout=60)


SHELLS = [name for name in ("sh", "bash", "dash", "busybox") if shutil.which(name)]


@pytest.mark.parametrize("shell", [name for name in SHELLS if name != "busybox"])
def test_it_ends_whom_it_names(shell: str, sleeper: subprocess.Popen[bytes]) -> None:
    done = run(script(sleeper.pid, start_of(sleeper.pid)), shell)
    assert done.stderr == ""
    # A child that nobody has waited for is still an entry: the rest of the script finds it.
    assert sleeper.wait(30) == -15


@pytest.mark.parametrize("shell", [name for name in SHELLS if name != "busybox"])
def test_it_leaves_a_pid_that_is_another_process(
    shell: str, sleeper: subprocess.Popen[bytes]
) -> None:
    done = run(script(sleeper.pid, start_of(sleeper.pid) + 1), shell)
    assert f"pid {sleeper.pid}: gone or another process" in done.stdout
    assert sleeper.poll() is None


def test_it_does_nothing_after_a_reboot(sleeper: subprocess.Popen[bytes]) -> None:
    done = run(script(sleeper.pid, start_of(sleeper.pid), boot="another"), "sh")
    assert done.returncode == 2
    assert sleeper.poll() is None


def test_what_a_manager_runs_is_its_command() -> None:
    box = Box()
    box.add(300, "python", "s.py", memory={0: GIB}, cgroup=f"/docker/{CID}")
    plan = box.plan()
    picked = chosen(plan, replace(YES, manages=True))
    text = script_of(plan, order_of(plan, picked, run="r", host_now_s=1.0, gpu_names=NAMES))
    assert text.endswith(f"docker stop -t 10 {CID[:12]}\n")
    assert "tell TERM" not in text
