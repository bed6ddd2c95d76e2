"""Clean real GPUs: `python -m tests.real_gpu.clean OUT_DIR`.

How long the driver takes to give memory back by itself; a cooperative family cleaned; then all at
once: a server with renamed workers, a holder that ignores SIGTERM, an orphan with an inherited
handle, a bystander without a GPU, a protected stand-in and a watcher that must live. Everything
that is ended was started here.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.real_gpu.prove import COMMAND, Rank
from tests.real_gpu.see import SMI_FORMAT, output, waited_for_zero

HERE = Path(__file__).parent
NAMED = """
import ctypes, sys, time
library = ctypes.CDLL("libnvidia-ml.so.1")
library.nvmlInit_v2()
handle = ctypes.c_void_p()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
ctypes.CDLL(None).prctl(15, sys.argv[1].encode()[:15], 0, 0, 0)
print("ok", flush=True)
time.sleep(600)
"""
STUBBORN = """
import signal, sys, torch
kept = torch.empty(int(sys.argv[1]) << 20, dtype=torch.uint8, device="cuda:0")
torch.cuda.synchronize(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ok", flush=True)
while True:
    signal.pause()
"""
BYSTANDER = "import time; print('ok', flush=True); time.sleep(600)"


class Cast:
    """Everybody that a scene started."""

    def __init__(self) -> None:
        self.all: dict[str, subprocess.Popen[str]] = {}

    def add(self, name: str, *words: str) -> list[str]:
        """Start one and return the words of its first line."""
        process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        self.all[name] = process
        assert process.stdout is not None
        words_said = process.stdout.readline().split()
        if not words_said or words_said[0] != "ok":
            raise RuntimeError(f"{name} failed")
        return words_said

    def living(self) -> list[str]:
        """Return who lives; the dead are reaped."""
        return [name for name, process in self.all.items() if process.poll() is None]

    def end(self) -> None:
        """End whoever is left."""
        for process in self.all.values():
            process.kill()
            process.wait(30)


def is_alive(pid: int) -> bool:
    """Tell whether a pid is a living process, not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Memory:
    """Used bytes over all GPUs, read in this process: fast enough to see a release."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        self._library.nvmlInit_v2()
        count = ctypes.c_uint()
        self._library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        self._handles = []
        for index in range(count.value):
            handle = ctypes.c_void_p()
            self._library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
            self._handles.append(handle)

    def used(self) -> int:
        """Return used bytes, the driver's reserve apart (v2)."""

        class Info(ctypes.Structure):
            _fields_ = [
                ("version", ctypes.c_uint),
                ("total", ctypes.c_ulonglong),
                ("reserved", ctypes.c_ulonglong),
                ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong),
            ]

        whole = 0
        for handle in self._handles:
            info = Info(version=ctypes.sizeof(Info) | 2 << 24)
            self._library.nvmlDeviceGetMemoryInfo_v2(handle, ctypes.byref(info))
            whole += info.used
        return whole

    def zero_after(self, began: float, limit_s: float = 30.0) -> float | None:
        """Return seconds from `began` until everything reads zero."""
        while time.monotonic() - began < limit_s:
            if self.used() == 0:
                return round(time.monotonic() - began, 3)
            time.sleep(0.005)
        return None

    def close(self) -> None:
        """Let the driver go."""
        self._library.nvmlShutdown()


def release(kind: int) -> dict[str, Any]:
    """Signal one holder of 8 GiB by hand and time the driver alone."""
    memory = Memory()
    rank = Rank("plain", 8192)
    held = memory.used()
    began = time.monotonic()
    os.kill(rank.pid, kind)
    zero_s = memory.zero_after(began)
    memory.close()
    rank.process.wait(30)
    return {"held_bytes": held, "zero_after_s": zero_s}


def cleaned(*words: str) -> dict[str, Any]:
    """Run one cleanup and look at the memory beside it."""
    memory = Memory()
    began = time.monotonic()
    cleaning = subprocess.Popen(
        [*COMMAND, "clean", "--yes", "--format", "json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    zero_s = memory.zero_after(began, 60.0)
    memory.close()
    out, err = cleaning.communicate(timeout=120)
    return {
        "exit_code": cleaning.returncode,
        "zero_after_s": zero_s,
        "exit_after_s": round(time.monotonic() - began, 3),
        "document": json.loads(out) if out.strip() else None,
        "stderr": err.splitlines()[-12:],
    }


def cooperative() -> dict[str, Any]:
    """Clean one holder that ends when it is asked."""
    rank = Rank("plain", 8192)
    found = cleaned("--hold", "auto")
    rank.process.wait(30)
    return found


def everybody() -> dict[str, Any]:
    """Clean all at once; who must live lives."""
    cast = Cast()
    server = cast.add("server", str(HERE / "server.py"), "4096")
    cast.add("stubborn", "-c", STUBBORN, "2048")
    cast.add("bystander", "-c", BYSTANDER)
    cast.add("protected", "-c", NAMED, "nv-fabricmanager")
    cast.add("watcher", "-c", NAMED, "nvitop")
    orphan = Rank("fork", 1024)
    os.kill(orphan.pid, signal.SIGKILL)
    orphan.process.wait(30)
    time.sleep(0.5)
    dry, dry_code, _ = output(*COMMAND, "clean", "--dry-run")
    try:
        found = cleaned("--hold", "10s")
        told, _, _ = output(
            *COMMAND, "explain", found["document"]["record"] if found["document"] else ""
        )
        return {
            **found,
            "dry_run": {"exit_code": dry_code, "text": dry.splitlines()},
            "living": cast.living(),
            "server_pids_alive": [pid for pid in map(int, server[1:]) if is_alive(pid)],
            "orphan_child_alive": is_alive(orphan.child),
            "nvidia_smi": output("nvidia-smi", "--query-gpu=memory.used", SMI_FORMAT)[0].split(
                "\n"
            ),
            "explain": told.splitlines(),
        }
    finally:
        cast.end()
        for pid in (*map(int, server[1:]), orphan.child):
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    if platform.release().startswith("4.4.0"):
        sys.exit("this kernel is an emulation: nothing measured here would count")
    report: dict[str, Any] = {"kernel": platform.release(), "status_quo_s": 5.04}
    for name, play in (
        ("release_term", lambda: release(signal.SIGTERM)),
        ("release_kill", lambda: release(signal.SIGKILL)),
        ("cooperative", cooperative),
        ("everybody", everybody),
    ):
        try:
            report[name] = play()
            waited_for_zero(10)
        except Exception as error:
            report[name] = {"failed": f"{type(error).__name__}: {error}"}
        print(name, json.dumps(report[name])[:2500], flush=True)
        (plan.out / "clean.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
