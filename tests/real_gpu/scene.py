"""The scene itself on all GPUs of a machine: `python -m tests.real_gpu.scene OUT_DIR`.

Idle and checked; a server-shaped family fills every GPU; its root is killed and its workers stay;
planned, cleaned and proven; a torchrun behind the proof, followed to its first step; its twin that
runs out of memory. Pictures and JSON of each step, figures beside nvitop and nvidia-smi. Nothing in
it knows how many GPUs there are. Everything that is ended was started here.
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
from gpudash.services.recorder import Recorder
from gpudash.sources.here import local_source
from gpudash.ui.app import GpudashApp
from gpudash.ui.cleanways import CleanWays
from gpudash.ui.scene import Scene
from gpudash.ui.screens.plan import PlanScreen
from gpudash.ui.theme import load_theme
from tests.benchmarks.dashboard import Program, programs, run_once
from tests.benchmarks.settings import Settings
from tests.real_gpu.clean import Cast, cleaned, is_alive
from tests.real_gpu.launch import ended, out_of_memory, torchrun, trained
from tests.real_gpu.prove import COMMAND
from tests.real_gpu.see import SMI_FORMAT, output, pictures, side_by_side, waited_for_zero
from tests.shots import framed

SERVER = str(Path(__file__).with_name("server.py"))
FILL = 0.85
SIZE = (160, 50)


def total_mib() -> int:
    """Return the memory of the smallest GPU."""
    text, _, _ = output("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
    return min(int(line) for line in text.split())


async def shoot(path: Path, keys: tuple[str, ...], wait_s: float, until: type | None) -> bool:
    """Take a picture of the dashboard over this machine; tell whether the screen came."""
    clock = SystemClock()
    monitor = FleetMonitor((local_source("gpu-a"),), clock)
    recorder = Recorder(path.parent / "screen", tell=lambda _problem: None)
    app = GpudashApp(
        monitor,
        clock,
        Scene(clock),
        [load_theme("gpudash-dark")[0]],
        clean=CleanWays(recorder=recorder),
    )
    async with app.run_test(size=SIZE) as pilot:
        await asyncio.sleep(wait_s)
        await pilot.press(*keys)
        came = until is None
        for _ in range(100):
            if until is None or isinstance(app.screen, until):
                came = True
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        app.repaint()
        await pilot.pause()
        path.write_text(framed(app.export_screenshot(title=""), app.theme_variables["background"]))
    recorder.end(5.0)
    return came


def picture(
    out: Path, name: str, *keys: str, wait_s: float = 5.0, until: type | None = None
) -> dict[str, Any]:
    """Take one picture."""
    came = asyncio.run(shoot(out / f"{name}.svg", keys, wait_s, until))
    return {"name": f"{name}.svg", "is_as_wanted": came}


def dashboards() -> list[dict[str, Any]]:
    """Run gpudash and its peers for a while, over the GPUs as they are."""
    settings = Settings(runs=1, is_real=True, settle_s=14.0, window_s=15.0)
    return [{"program": one.name, **cost(one, settings)} for one in programs()]


def cost(program: Program, settings: Settings) -> dict[str, Any]:
    """Return what one dashboard costs once it is steady."""
    return dict(run_once(program, dict(os.environ), program.reading, settings))


def filled(out: Path, report: dict[str, Any]) -> None:
    """Fill every GPU by a family, look at it, kill its root, clean what is left."""
    cast = Cast()
    words = cast.add("server", SERVER, str(int(total_mib() * FILL)), "each")
    root, *members = map(int, words[1:])
    try:
        report["filled"] = side_by_side("every GPU filled by one family")
        report["see"] = pictures(out, "scene_see")
        report["dashboards"] = dashboards()
        scan, _, scan_s = output(*COMMAND, "clean", "--dry-run", "--format", "json")
        report["plan_alive"] = {"seconds": round(scan_s, 3), "document": json.loads(scan)}
        os.kill(root, signal.SIGKILL)
        cast.all["server"].wait(30)
        time.sleep(1.0)
        report["workers_left"] = [pid for pid in members if is_alive(pid)]
        report["leftovers"] = side_by_side("root killed, workers left behind")
        report["pictures"] = [
            picture(out, "scene_leftovers"),
            picture(out, "scene_plan", "c", until=PlanScreen),
        ]
        report["cleaned"] = cleaned("--hold", "10s")
        report["workers_alive"] = [pid for pid in members if is_alive(pid)]
        report["after"] = side_by_side("cleaned")
        report["explain"] = output(*COMMAND, "explain")[0].splitlines()
        report["pictures"].append(picture(out, "scene_all_clear", wait_s=14.0))
    finally:
        cast.end()
        for pid in members:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def launched(out: Path, report: dict[str, Any]) -> None:
    """Launch behind a proof, look at one that runs, and at one that runs out of memory."""
    report["trained"] = trained(out)
    waited_for_zero(60)
    running = subprocess.Popen(
        [*COMMAND, "run", "--stay", "--log", str(out / "shown.log"), "--", *torchrun("train", 150)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    time.sleep(4.0)
    report["ready"] = [
        picture(out, "scene_starting", "s", wait_s=6.0),
        picture(out, "scene_ready", "s", wait_s=12.0),
    ]
    running.wait(180)
    report["shown_exit_code"] = running.returncode
    waited_for_zero(60)
    report["out_of_memory"] = out_of_memory(out)
    document = report["out_of_memory"]["document"]
    report["out_of_memory_ended_s"] = ended(document["pid"] if document else None)


def main() -> None:
    """Play it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    if platform.release().startswith("4.4.0"):
        sys.exit("this kernel is an emulation: nothing measured here would count")
    os.environ.setdefault("XDG_STATE_HOME", str(plan.out / "state"))
    report: dict[str, Any] = {
        "kernel": platform.release(),
        "gpus": output("nvidia-smi", "--query-gpu=name,driver_version", SMI_FORMAT)[0].splitlines(),
        "status_quo_s": 5.04,
        "idle": side_by_side("idle"),
    }
    for name, play in (("filled", filled), ("launched", launched)):
        try:
            play(plan.out, report)
        except Exception as error:
            report[f"{name}_failed"] = f"{type(error).__name__}: {error}"
        print(name, report.get(f"{name}_failed", "played"), flush=True)
        (plan.out / "scene.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
