"""See this machine on a real GPU: `python -m tests.real_gpu.see OUT_DIR`.

Compares `check` with nvidia-smi side by side while a PyTorch process takes and frees memory, takes
pictures of the dashboard meanwhile, and leaves everything as JSON.
Everything that is run is on PATH or importable, so the fake driver and a stand-in `torch` module
rehearse it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpudash.core.events import DetailTold
from gpudash.core.gpudetail import GpuDetail
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.here import local_source
from tests.shots import shoot, to_png

SMI_LINE = "--query-gpu=index,memory.used,memory.total"
SMI_FORMAT = "--format=csv,noheader"
MIB = 1 << 20


def output(*command: str) -> tuple[str, int, float]:
    """Run a command; return stdout, exit code and seconds."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout, done.returncode, time.perf_counter() - began


def check(*words: str) -> tuple[str, int, float]:
    """Run `gpudash check`."""
    return output(sys.executable, "-m", "gpudash", "check", *words)


def side_by_side(moment: str) -> dict[str, Any]:
    """Read the machine both ways at one moment."""
    smi, _, smi_s = output("nvidia-smi", SMI_LINE, SMI_FORMAT)
    ours_as_smi, _, _ = check("--format", "smi")
    text, code, ours_s = check("--format", "json")
    apps, _, _ = output(
        "nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader"
    )
    smi_after, _, _ = output("nvidia-smi", SMI_LINE, SMI_FORMAT)
    document = json.loads(text)
    return {
        "moment": moment,
        "exit_code": code,
        "verdict": document["verdict"],
        "clear": document["clear"],
        "nvidia_smi": smi.splitlines(),
        "gpudash_smi": ours_as_smi.splitlines(),
        "is_byte_identical": ours_as_smi in (smi, smi_after),
        "nvidia_smi_apps": apps.splitlines(),
        "gpus": [
            {
                "index": gpu["index"],
                "used_bytes": gpu["used_bytes"],
                "total_bytes": gpu["total_bytes"],
                "state": gpu["state"],
                "recovery_action": gpu["recovery_action"],
                "nvml_codes": gpu["nvml_codes"],
                "utilisation_pct": gpu["utilisation_pct"],
                "processes": gpu["processes"],
            }
            for gpu in document["hosts"][0]["gpus"]
        ],
        "check_s": round(ours_s, 3),
        "nvidia_smi_s": round(smi_s, 3),
    }


SMI_DETAIL = {
    "pcie.link.gen.current": ("pcie", 0),
    "pcie.link.width.current": ("pcie", 1),
    "pcie.link.gen.max": ("pcie", 2),
    "pcie.link.width.max": ("pcie", 3),
    "ecc.errors.corrected.volatile.total": ("ecc_volatile", 0),
    "ecc.errors.uncorrected.volatile.total": ("ecc_volatile", 1),
    "ecc.errors.corrected.aggregate.total": ("ecc_aggregate", 0),
    "ecc.errors.uncorrected.aggregate.total": ("ecc_aggregate", 1),
    "clocks.max.sm": ("max_clocks", 1),
    "clocks.max.memory": ("max_clocks", 2),
    "power.default_limit": ("power_limits", 1),
    "power.min_limit": ("power_limits", 2),
    "power.max_limit": ("power_limits", 3),
    "temperature.memory": ("memory_temperature", 0),
    "fan.speed": ("fan", 0),
    "serial": ("serial", None),
    "vbios_version": ("vbios", None),
}
"""Columns of nvidia-smi, and where the same stands in a detail; power there is in W."""


def details() -> list[dict[str, Any]]:
    """Ask for the slow calls of every GPU, and put nvidia-smi's own words beside them."""
    said = {column: smi_column(column) for column in SMI_DETAIL}
    count = len(smi_column("index"))
    rows = [
        {column: cells[place] for column, cells in said.items() if len(cells) == count}
        for place in range(count)
    ]
    return [compared(detail, row) for detail, row in zip(asked(count), rows, strict=True)]


def smi_column(column: str) -> list[str]:
    """Return one column of nvidia-smi, a cell a GPU; nothing where it does not know it."""
    text, code, _ = output("nvidia-smi", f"--query-gpu={column}", "--format=csv,noheader,nounits")
    return [line.strip() for line in text.splitlines()] if code == 0 else []


def asked(count: int) -> list[GpuDetail]:
    """Return the details of so many GPUs, from the sampler as it is shipped."""

    async def ask() -> list[GpuDetail]:
        stream = await local_source("here").open_sampler(1.0)
        found: dict[int, GpuDetail] = {}
        for index in range(count):
            stream.send(index + 1, "detail", {"gpu": index})
        async with asyncio.timeout(30):
            while len(found) < count:
                told = [one for one in await stream.read() if isinstance(one, DetailTold)]
                found |= {one.detail.index: one.detail for one in told}
        await stream.close()
        return [found[index] for index in range(count)]

    return asyncio.run(ask())


def compared(detail: GpuDetail, row: dict[str, str]) -> dict[str, Any]:
    """Return one GPU's detail with what differs from nvidia-smi."""
    differs = {}
    for column, theirs in row.items():
        name, place = SMI_DETAIL[column]
        fact = detail.fact(name)
        ours = "" if fact is None else fact.text
        if fact is not None and place is not None and place < len(fact.numbers):
            number = fact.numbers[place]
            ours = "" if number is None else str(number)
            if column.startswith("power.") and number is not None:
                ours = f"{number / 1000:.2f}"
        is_absent = ours == "" and theirs.strip("[]") in ("N/A", "Not Supported")
        if ours != theirs and not is_absent:
            differs[column] = {"nvidia_smi": theirs, "gpudash": ours}
    facts = {name: fact._asdict() for name, fact in detail.facts}
    return {
        "index": detail.index,
        "uuid": detail.uuid,
        "compared": sorted(row),
        "differs": differs,
        "facts": facts,
    }


class Torch:
    """The PyTorch process."""

    def __init__(self) -> None:
        self.child = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("train.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def _answer(self) -> None:
        assert self.child.stdout is not None
        if self.child.stdout.readline().strip() != "ok":
            raise RuntimeError("the PyTorch process failed")

    def tell(self, words: str) -> None:
        """Give an order and wait until it is done."""
        self.start(words)
        self._answer()

    def start(self, words: str) -> None:
        """Give an order."""
        assert self.child.stdin is not None
        self.child.stdin.write(words + "\n")
        self.child.stdin.flush()

    def end(self) -> None:
        """End it and wait."""
        self.start("end")
        self.child.wait(60)


def pictures(out: Path, name: str, keys: str = "") -> list[str]:
    """Take the dashboard as it is, at three sizes."""
    made = []
    for width, height in ((80, 24), (120, 40), (200, 60)):
        path = out / f"{name}_{width}x{height}.svg"
        monitor = FleetMonitor((local_source("gpu-a"),), SystemClock())
        asyncio.run(
            shoot(monitor, (width, height), path, theme="gpudash-dark", keys=keys, wait_s=6.0)
        )
        made.append(path.name)
    return made


def waited_for_zero(limit_s: float = 20.0) -> float:
    """Return how long it takes until nvidia-smi reads 0 MiB everywhere."""
    began = time.monotonic()
    while time.monotonic() - began < limit_s:
        text, _, _ = output("nvidia-smi", "--query-gpu=memory.used", SMI_FORMAT)
        if all(line.strip() == "0 MiB" for line in text.splitlines()):
            break
    return time.monotonic() - began


LIBRARY_COST = """
import ctypes
def rss():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6
before = rss()
library = ctypes.CDLL("libnvidia-ml.so.1")
loaded = rss()
library.nvmlInit_v2()
print(f"{before:.1f} {loaded:.1f} {rss():.1f}")
"""
"""Resident MB of a bare interpreter with ctypes, with the library loaded, and initialised."""


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    if platform.release().startswith("4.4.0"):
        sys.exit("this kernel is an emulation: nothing measured here would count")
    report: dict[str, Any] = {
        "kernel": platform.release(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "driver": output(
            "nvidia-smi", "--query-gpu=name,driver_version,persistence_mode", SMI_FORMAT
        )[0].splitlines(),
    }
    moments: list[dict[str, Any]] = []

    def step(name: str, action: Callable[[], object] | None = None) -> None:
        if action is not None:
            action()
        moments.append(side_by_side(name))
        print(json.dumps(moments[-1])[:1500], flush=True)

    step("idle")
    torch = Torch()
    step("10 GiB on GPU 0", lambda: torch.tell("take 0 10240"))
    count = len(moments[0]["gpus"])
    if count > 1:
        step("and 3 GiB on GPU 1", lambda: torch.tell("take 1 3072"))
    step("80 GiB more on GPU 0", lambda: torch.tell("take 0 81920"))
    torch.start("busy 45")
    time.sleep(2)
    step("busy in a matrix product")
    report["pictures"] = pictures(plan.out, "real_busy")
    report["pictures"] += pictures(plan.out, "real_details", keys="enter")
    report["details"] = details()
    torch._answer()
    step("tensors freed, context alive", lambda: torch.tell("free"))
    torch.end()
    report["zero_after_s"] = round(waited_for_zero(), 2)
    step("process ended")
    report["pictures"] += pictures(plan.out, "real_idle")[1:2]
    report["moments"] = moments
    cost, _, _ = output(sys.executable, "-ISBc", LIBRARY_COST)
    report["rss_mb_bare_loaded_initialised"] = [float(word) for word in cost.split()]
    doctor, code, _ = output(sys.executable, "-m", "gpudash", "doctor")
    report["doctor"] = {"exit_code": code, "text": doctor.splitlines()}
    stream, code, _ = output(
        sys.executable, "-m", "gpudash", "stream", "--count", "3", "--interval", "500ms"
    )
    report["stream"] = {"exit_code": code, "lines": len(stream.splitlines())}
    (plan.out / "see.json").write_text(json.dumps(report, indent=1))
    for path in plan.out.glob("*.svg"):
        to_png(path)


if __name__ == "__main__":
    main()
