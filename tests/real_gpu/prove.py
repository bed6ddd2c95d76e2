"""Prove zero on a real GPU: `python -m tests.real_gpu.prove OUT_DIR`.

Who keeps the memory of a dead rank and of a leader that ended; an idle machine proven in ten
seconds; a proof broken in the middle by 300 MiB; `wait` with a command behind it; what the record
says afterwards; what a scan costs. Leaves JSON and pictures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.here import local_source
from tests.real_gpu.see import SMI_FORMAT, SMI_LINE, check, output, waited_for_zero
from tests.shots import shoot, to_png

RANK = str(Path(__file__).with_name("rank.py"))
COMMAND = (sys.executable, "-m", "gpudash")


class Rank:
    """A PyTorch process and what it said of itself."""

    def __init__(self, mode: str, mib: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, RANK, mode, str(mib)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        if not words or words[0] != "ok":
            raise RuntimeError("the rank failed")
        self.pid, self.child = int(words[1]), int(words[2])

    def end(self) -> None:
        """Let it and its child end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def seen() -> dict[str, Any]:
    """Return what check and nvidia-smi say now, without what does not matter here."""
    text, code, seconds = check("--format", "json")
    host = json.loads(text)["hosts"][0]
    smi, _, _ = output("nvidia-smi", SMI_LINE, SMI_FORMAT)
    apps, _, _ = output("nvidia-smi", "--query-compute-apps=pid,used_memory", SMI_FORMAT)
    table, _, _ = check()
    return {
        "exit_code": code,
        "seconds": round(seconds, 3),
        "gpus": [
            {key: gpu[key] for key in ("index", "used_bytes", "verdict", "processes")}
            for gpu in host["gpus"]
        ],
        "holders": host["holders"],
        "reach": host["reach"],
        "table": table.splitlines(),
        "nvidia_smi": smi.splitlines(),
        "nvidia_smi_apps": apps.splitlines(),
    }


def inherited() -> dict[str, Any]:
    """Kill a rank whose forked child lives on."""
    rank = Rank("fork", 2048)
    os.kill(rank.pid, signal.SIGKILL)
    rank.process.wait(60)
    time.sleep(1.0)
    found = {"rank": rank.pid, "child": rank.child, **seen()}
    rank.end()
    return {**found, "zero_after_s": round(waited_for_zero(), 2)}


def zombie() -> dict[str, Any]:
    """End a rank's main thread and leave another one alive."""
    rank = Rank("zombie", 1024)
    time.sleep(1.0)
    found = {"rank": rank.pid, **seen()}
    # Threads of the driver live on after the one that waits for input: only a signal ends them.
    rank.process.kill()
    rank.process.wait(60)
    return {**found, "zero_after_s": round(waited_for_zero(), 2)}


def proven() -> dict[str, Any]:
    """Prove an idle machine."""
    text, code, seconds = output(*COMMAND, "check", "--hold", "10s", "--format", "json")
    return {"exit_code": code, "seconds": round(seconds, 2), "document": json.loads(text)}


def broken() -> dict[str, Any]:
    """Take 300 MiB in the middle of a hold."""
    proving = subprocess.Popen(
        [*COMMAND, "check", "--hold", "30s", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(6.0)
    rank = Rank("plain", 300)
    out, err = proving.communicate(timeout=60)
    table, _, _ = check()
    rank.end()
    waited_for_zero()
    return {
        "rank": rank.pid,
        "exit_code": proving.returncode,
        "document": json.loads(out),
        "stderr": err.splitlines(),
        "table": table.splitlines(),
    }


def waited() -> dict[str, Any]:
    """Let `wait` hold while a rank comes at second 8 and goes at second 11."""
    began = time.monotonic()
    waiting = subprocess.Popen(
        [*COMMAND, "wait", "--zero", "--hold", "10s", "--timeout", "60s", "--", "echo", "go"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(max(0.0, began + 5.0 - time.monotonic()))
    rank = Rank("plain", 300)
    time.sleep(max(0.0, began + 11.0 - time.monotonic()))
    rank.end()
    out, err = waiting.communicate(timeout=90)
    return {
        "exit_code": waiting.returncode,
        "seconds": round(time.monotonic() - began, 2),
        "stdout": out,
        "stderr": err.splitlines(),
    }


def scan_cost() -> dict[str, Any]:
    """Scan this machine some times."""

    async def scans() -> list[dict[str, float]]:
        monitor = FleetMonitor((local_source("local"),), SystemClock())
        monitor.start()
        while not monitor.fleet.hosts[0].samples:
            await asyncio.sleep(0.1)
        found = [await monitor.scan("local") for _ in range(5)]
        await monitor.stop()
        return [{"took_s": one.took_s, "seen": one.seen} for one in found]

    return {"scans": asyncio.run(scans())}


def pictures(out: Path) -> list[str]:
    """Take the dashboard while it holds and when all is clear."""
    made = []
    for name, wait_s in (("real_holding", 6.0), ("real_all_clear", 14.0)):
        path = out / f"{name}_120x40.svg"
        monitor = FleetMonitor((local_source("gpu-a"),), SystemClock())
        asyncio.run(shoot(monitor, (120, 40), path, theme="gpudash-dark", keys="", wait_s=wait_s))
        made.append(path.name)
    return made


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scene", action="append", help="only these")
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    if platform.release().startswith("4.4.0"):
        sys.exit("this kernel is an emulation: nothing measured here would count")
    report: dict[str, Any] = {"kernel": platform.release()}
    for name, play in (
        ("proven", proven),
        ("inherited", inherited),
        ("zombie", zombie),
        ("broken", broken),
        ("waited", waited),
        ("scan", scan_cost),
    ):
        if plan.scene and name not in plan.scene:
            continue
        try:
            report[name] = play()
        except Exception as error:
            report[name] = {"failed": f"{type(error).__name__}: {error}"}
        print(name, json.dumps(report[name])[:1800], flush=True)
        (plan.out / "prove.json").write_text(json.dumps(report, indent=1))
    explained, _, _ = output(*COMMAND, "explain")
    report["explain"] = explained.splitlines()
    if not plan.scene or "pictures" in plan.scene:
        report["pictures"] = pictures(plan.out)
    (plan.out / "prove.json").write_text(json.dumps(report, indent=1))
    for path in plan.out.glob("*.svg"):
        to_png(path)


if __name__ == "__main__":
    main()
