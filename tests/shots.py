"""Take SVG screenshots of the running app, through Textual: `python -m tests.shots OUT_DIR`.

A tool, not a test. Without words every demo scenario is taken at the sizes that people look at;
`--local NAME` takes this machine as it is. Needs Inkscape for PNG beside the SVG.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
from pathlib import Path

from gpudash.cli.commands.demo import make_monitor
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.demo import parse_scenario
from gpudash.sources.here import local_source
from gpudash.ui.app import GpudashApp
from gpudash.ui.scene import Scene
from gpudash.ui.theme import load_theme

SIZES = ((80, 24), (120, 40), (200, 60))
SCENARIOS = ("busy", "idle", "leftovers", "training", "trouble")


async def shoot(
    monitor: FleetMonitor,
    size: tuple[int, int],
    path: Path,
    *,
    theme: str,
    keys: str,
    wait_s: float,
) -> None:
    """Run the app headless until it has read for a while, press keys, save what it shows."""
    clock = SystemClock()
    app = GpudashApp(monitor, clock, Scene(clock), [load_theme(theme)[0]])
    async with app.run_test(size=size) as pilot:
        await asyncio.sleep(wait_s)
        for key in keys.split():
            await pilot.press(key)
        app.repaint()
        await pilot.pause()
        path.write_text(app.export_screenshot(title="gpudash"))


def to_png(path: Path) -> None:
    """Write a PNG beside an SVG, where Inkscape is there."""
    if shutil.which("inkscape"):
        command = ["inkscape", str(path), "--export-type=png", "-o", str(path.with_suffix(".png"))]
        subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    """Take the pictures that the words ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--local", metavar="NAME", help="take this machine, named so")
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--size", action="append", help="as in 120x40")
    parser.add_argument("--theme", default="gpudash-dark")
    parser.add_argument("--keys", default="")
    parser.add_argument("--wait", type=float, default=2.5)
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    words = plan.size or []
    sizes = [tuple(int(part) for part in word.split("x")) for word in words] or list(SIZES)
    for width, height in sizes:
        for name in [plan.local] if plan.local else plan.scenario or SCENARIOS:
            if plan.local:
                monitor = FleetMonitor((local_source(name),), SystemClock())
            else:
                monitor = make_monitor(parse_scenario(name), 1, 1.0)
            short = name.replace(":", "-")
            path = plan.out / f"{short}_{width}x{height}_{plan.theme.removeprefix('gpudash-')}.svg"
            asyncio.run(
                shoot(
                    monitor,
                    (width, height),
                    path,
                    theme=plan.theme,
                    keys=plan.keys,
                    wait_s=plan.wait,
                )
            )
            to_png(path)
            print(path)


if __name__ == "__main__":
    main()
