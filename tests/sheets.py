"""Contact sheets: `python -m tests.sheets OUT_DIR [--scene NAME …] [--theme NAME …]`.

A tool for looking, not a test: one sheet a scene with all sizes in the dark theme, one a theme
with all scenes at 120×40. Needs Inkscape, which also draws the sheet out of its pictures.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gpudash.cli.commands.demo import make_monitor
from gpudash.sources.demo import parse_scenario
from tests.shots import shoot, to_png

SIZES = ((40, 10), (80, 24), (120, 40), (200, 60), (320, 90))
THEMES = ("dark", "light", "high-contrast", "colour-blind", "mono")
MOST_WIDE = 4000
"""Pixels of a sheet: more is more than anybody looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is on a picture: a demo scenario, and the keys pressed after a while."""

    scenario: str
    keys: str = ""
    wait_s: float = 2.5


SCENES = {
    "idle": Scene(scenario="idle"),
    "busy": Scene(scenario="busy"),
    "leftovers": Scene(scenario="leftovers"),
    "trouble": Scene(scenario="trouble"),
    "fleet": Scene(scenario="fleet:32x8"),
    "startup": Scene(scenario="startup", wait_s=8.0),
    "errors": Scene(scenario="trouble", keys="e"),
    "help": Scene(scenario="busy", keys="?"),
}


def picture(scene: str, size: tuple[int, int], theme: str, folder: Path) -> Path:
    """Draw one scene and return the PNG."""
    made = SCENES[scene]
    path = folder / f"{scene}_{size[0]}x{size[1]}_{theme}.svg"
    monitor = make_monitor(parse_scenario(made.scenario), 1, 1.0)
    shot = shoot(monitor, size, path, theme=f"gpudash-{theme}", keys=made.keys, wait_s=made.wait_s)
    asyncio.run(shot)
    to_png(path)
    return path.with_suffix(".png")


def png_size(path: Path) -> tuple[int, int]:
    """Return width and height as the file's header says."""
    head = path.read_bytes()[16:24]
    return int.from_bytes(head[:4]), int.from_bytes(head[4:])


def sheet(pictures: list[Path], path: Path, columns: int) -> None:
    """Put pictures side by side, in rows of so many."""
    rows = [pictures[at : at + columns] for at in range(0, len(pictures), columns)]
    parts, top, widest = [], 0, 0
    for row in rows:
        left = 0
        for one in row:
            width, height = png_size(one)
            parts.append(
                f'<image x="{left}" y="{top}" width="{width}" height="{height}" '
                f'xlink:href="{one.resolve().as_uri()}"/>'
            )
            left += width + 20
        widest = max(widest, left)
        top += max(png_size(one)[1] for one in row) + 20
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{widest}" height="{top}">'
        f'<rect width="100%" height="100%" fill="#777777"/>{"".join(parts)}</svg>'
    )
    path.with_suffix(".svg").write_text(svg)
    command = ["inkscape", str(path.with_suffix(".svg")), "--export-type=png", "-o", str(path)]
    subprocess.run(
        [*command, f"--export-width={min(widest, MOST_WIDE)}"], check=True, capture_output=True
    )
    path.with_suffix(".svg").unlink()


def main() -> None:
    """Draw the sheets that the words ask for; all without words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scene", action="append", choices=SCENES)
    parser.add_argument("--theme", action="append", choices=THEMES)
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    is_all = not plan.scene and not plan.theme
    for name in SCENES if is_all else plan.scene or ():
        drawn = [picture(name, size, "dark", plan.out) for size in SIZES]
        sheet(drawn, plan.out / f"sheet_{name}.png", 3)
        print(plan.out / f"sheet_{name}.png")
    for theme in THEMES if is_all else plan.theme or ():
        drawn = [picture(name, (120, 40), theme, plan.out) for name in SCENES]
        sheet(drawn, plan.out / f"theme_{theme}.png", 3)
        print(plan.out / f"theme_{theme}.png")


if __name__ == "__main__":
    main()
