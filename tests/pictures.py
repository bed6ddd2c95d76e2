"""Draw frames as pictures: `python -m tests.pictures OUT_DIR [NAME …]`.

Most are of hand-made fleets; those called `clean_…` are of the running app over the demo.

A tool for looking, not a test. Needs Inkscape for PNG; without it the SVG files stay.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from gpudash.cli.commands.demo import put_earlier
from gpudash.core.cleanup.phases import Phase
from gpudash.core.model import Fleet
from gpudash.services.startup.past import Past
from gpudash.ui.paint import startupframe
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE, Glyphs
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.startupview import StartupsView
from gpudash.ui.paint.story import Stand
from gpudash.ui.paint.view import Density
from gpudash.ui.start import PAST
from gpudash.ui.theme import Theme, load_theme
from tests.shots import framed, to_png
from tests.ui import fleets, startups
from tests.ui.cleaning import Cleaned, cleaned


def frame(
    fleet: Fleet,
    *,
    glyphs: Glyphs = UNICODE,
    density: Density | None = None,
    word: str = "IN USE",
    ago_s: float = 2460,
    focus: int = 0,
) -> FrameView:
    hosts = fleet.hosts
    return FrameView(
        fleet=fleet,
        now_s=fleets.NOW,
        wall_of=fleets.wall_of,
        utilisation_of={
            host.name: fleets.utilisation(host, 14 if "gpu-b" in host.name else 0) for host in hosts
        },
        glyphs=glyphs,
        density=density,
        focus=hosts[focus].name if hosts else None,
        cursor=0,
        stand=Stand(word, fleets.NOW - ago_s, False),
    )


PICTURES: dict[str, tuple[Callable[[], FrameView], int, int, str]] = {
    "busy_120": (lambda: frame(fleets.busy()), 120, 40, "gpudash-dark"),
    "busy_light": (lambda: frame(fleets.busy()), 120, 40, "gpudash-light"),
    "busy_cb": (lambda: frame(fleets.busy()), 120, 40, "gpudash-colour-blind"),
    "busy_80": (lambda: frame(fleets.busy()), 80, 24, "gpudash-dark"),
    "busy_100": (lambda: frame(fleets.busy()), 100, 30, "gpudash-dark"),
    "busy_160": (lambda: frame(fleets.busy()), 160, 45, "gpudash-dark"),
    "busy_200": (lambda: frame(fleets.busy()), 200, 60, "gpudash-dark"),
    "busy_40": (lambda: frame(fleets.busy()), 40, 10, "gpudash-dark"),
    "busy_60": (lambda: frame(fleets.busy()), 64, 20, "gpudash-dark"),
    "busy_ascii": (lambda: frame(fleets.busy(), glyphs=ASCII), 120, 40, "gpudash-dark"),
    "idle_120": (lambda: frame(fleets.idle(), word="ZERO"), 120, 40, "gpudash-dark"),
    "idle_80": (lambda: frame(fleets.idle(), word="ZERO"), 80, 24, "gpudash-dark"),
    "idle_40": (lambda: frame(fleets.idle(), word="ZERO"), 40, 10, "gpudash-dark"),
    "three_200": (
        lambda: frame(fleets.three_hosts(), word="NOT CLEAR", ago_s=193),
        200,
        60,
        "gpudash-dark",
    ),
    "three_light": (
        lambda: frame(fleets.three_hosts(), word="NOT CLEAR", ago_s=193),
        200,
        60,
        "gpudash-light",
    ),
    "three_120": (
        lambda: frame(fleets.three_hosts(), word="NOT CLEAR", ago_s=193),
        120,
        50,
        "gpudash-dark",
    ),
    "three_80": (
        lambda: frame(fleets.three_hosts(), word="NOT CLEAR", ago_s=193),
        80,
        24,
        "gpudash-dark",
    ),
    "three_card": (
        lambda: frame(fleets.three_hosts(), word="NOT CLEAR", density=Density.CARD),
        120,
        78,
        "gpudash-dark",
    ),
    "errors_120": (lambda: frame(fleets.errors(), word="", focus=4), 120, 40, "gpudash-dark"),
    "errors_80": (
        lambda: frame(fleets.errors(), word="", focus=4, density=Density.LINE),
        80,
        40,
        "gpudash-dark",
    ),
    "odd_120": (
        lambda: frame(fleets.lettered(fleets.odd_host()), word=""),
        120,
        40,
        "gpudash-dark",
    ),
    "odd_line": (
        lambda: frame(fleets.lettered(fleets.odd_host()), word="", density=Density.LINE),
        120,
        30,
        "gpudash-dark",
    ),
    "odd_80": (lambda: frame(fleets.lettered(fleets.odd_host()), word=""), 80, 24, "gpudash-dark"),
    "odd_40": (lambda: frame(fleets.lettered(fleets.odd_host()), word=""), 40, 14, "gpudash-dark"),
    "container_120": (lambda: frame(fleets.container()), 120, 30, "gpudash-dark"),
    "many_120": (lambda: frame(fleets.many(), word="NOT CLEAR"), 120, 45, "gpudash-dark"),
    "paused_120": (
        lambda: frame(fleets.paused(), word="PAUSED", ago_s=12),
        120,
        40,
        "gpudash-dark",
    ),
    "down_120": (lambda: frame(fleets.down(), word="UNKNOWN", ago_s=95), 120, 40, "gpudash-dark"),
    "connecting_120": (lambda: frame(fleets.connecting(), word=""), 120, 24, "gpudash-dark"),
    "down_40": (lambda: frame(fleets.down(), word="UNKNOWN", ago_s=95), 40, 24, "gpudash-dark"),
    "errors_40": (lambda: frame(fleets.errors(), word=""), 40, 10, "gpudash-dark"),
    "many_80": (lambda: frame(fleets.many(), word="NOT CLEAR"), 80, 30, "gpudash-light"),
    "many_ascii": (
        lambda: frame(fleets.many(), glyphs=ASCII, word="NOT CLEAR"),
        120,
        45,
        "gpudash-dark",
    ),
    "three_mono": (
        lambda: frame(fleets.three_hosts(), glyphs=MONO, word="NOT CLEAR"),
        120,
        50,
        "gpudash-mono",
    ),
    "three_hc": (
        lambda: frame(fleets.three_hosts(), word="NOT CLEAR"),
        120,
        50,
        "gpudash-high-contrast",
    ),
    "none_80": (lambda: frame(Fleet()), 80, 24, "gpudash-dark"),
    "none_40": (lambda: frame(Fleet()), 40, 10, "gpudash-dark"),
}


STARTUPS: dict[str, tuple[Callable[[], StartupsView], int, int, str]] = {
    "start_running": (lambda: startups.screen(startups.view("serve", 40)), 120, 40, "gpudash-dark"),
    "start_light": (lambda: startups.screen(startups.view("serve", 66)), 120, 40, "gpudash-light"),
    "start_late": (lambda: startups.screen(startups.late()), 120, 40, "gpudash-dark"),
    "start_80": (lambda: startups.screen(startups.view("serve", 40)), 80, 24, "gpudash-dark"),
    "start_40": (lambda: startups.screen(startups.view("serve", 40)), 40, 10, "gpudash-dark"),
    "start_200": (lambda: startups.screen(startups.view("serve", 66)), 200, 60, "gpudash-dark"),
    "start_ascii": (
        lambda: startups.screen(startups.view("serve", 40, glyphs=ASCII)),
        120,
        40,
        "gpudash-dark",
    ),
    "start_ready": (lambda: startups.screen(startups.view("serve", 95)), 120, 40, "gpudash-dark"),
    "start_failed": (lambda: startups.screen(startups.failed()), 120, 40, "gpudash-dark"),
    "start_failed_light": (lambda: startups.screen(startups.failed()), 120, 40, "gpudash-light"),
    "start_failed_80": (lambda: startups.screen(startups.failed()), 80, 24, "gpudash-dark"),
    "start_failed_40": (lambda: startups.screen(startups.failed()), 40, 10, "gpudash-dark"),
    "start_failed_200": (lambda: startups.screen(startups.failed()), 200, 60, "gpudash-dark"),
    "start_train": (
        lambda: startups.screen(startups.view("train", 28, earlier=None)),
        120,
        40,
        "gpudash-dark",
    ),
    "start_list": (startups.several, 120, 40, "gpudash-dark"),
    "start_none": (startups.screen, 120, 40, "gpudash-dark"),
}
"""Screens of start-ups, of hand-made values."""


def as_text(rows: tuple[Row, ...], theme: Theme) -> Text:
    """Return rows as one rich text."""
    text = Text(no_wrap=True, end="")
    base = theme.colour("app-bg")
    for number, row in enumerate(rows):
        for words, key in row:
            look = theme.look(key)
            style = Style(
                color=look.fg,
                bgcolor=look.bg or base,
                bold=look.is_bold,
                dim=look.is_dim,
                reverse=look.is_reversed,
            )
            text.append(words, style)
        if number < len(rows) - 1:
            text.append("\n")
    return text


def draw(name: str, folder: Path) -> None:
    """Write one picture."""
    width, height, theme_name = (PICTURES[name] if name in PICTURES else STARTUPS[name])[1:]
    theme, wrong = load_theme(theme_name)
    if wrong:
        raise SystemExit(wrong)
    if name in PICTURES:
        rows = frame_rows(PICTURES[name][0](), width, height)
    else:
        rows = startupframe.frame_rows(STARTUPS[name][0](), width, height)
    with open("/dev/null", "w") as nowhere:
        console = Console(
            record=True, width=width, height=height, file=nowhere, color_system="truecolor"
        )
        console.print(as_text(rows, theme), soft_wrap=False)
    paper = _rgb(theme.colour("app-bg") or "#000000")
    ink = _rgb(theme.colour("text") or "#ffffff")
    terminal = TerminalTheme(paper, ink, [ink] * 8)
    svg = folder / f"{name}.svg"
    console.save_svg(str(svg), title=name, theme=terminal)
    if shutil.which("inkscape"):
        png = folder / f"{name}.png"
        subprocess.run(
            ["inkscape", svg, "--export-type=png", "-o", png], check=True, capture_output=True
        )


async def _plan(shown: Cleaned) -> None:
    await shown.opened("c")


async def _confirmed(shown: Cleaned) -> None:
    plan = await shown.opened("c")
    shown.let_read()
    await shown.press("b")
    await shown.until(lambda: bool(plan.view.toggled))
    shown.let_read()
    await shown.press("y")
    await shown.until(lambda: shown.phase() is Phase.TERMINATING)


async def _progress(shown: Cleaned) -> None:
    await _confirmed(shown)

    def is_half_done() -> bool:
        view = shown.app._cleanups.view()
        course = view.hosts[0].course if view else None
        return course is not None and len(course.ended) >= 6

    await shown.until(is_half_done)


async def _all_clear(shown: Cleaned) -> None:
    await _confirmed(shown)
    notebook = 22_310
    (machine,) = shown.machines
    machine.deeds.leave(notebook, shown.demo_s())
    await shown.until(lambda: "ALL CLEAR" in shown.text())
    await asyncio.sleep(6.0)


async def _start(shown: Cleaned, demo_s: float) -> None:
    """Show the start-up that begins at 2 s of demo time, so far."""
    await shown.until(lambda: bool(shown.app.startups.all))
    await shown.press("s")
    while shown.demo_s() < demo_s:
        await asyncio.sleep(0.05)


async def _startup(shown: Cleaned) -> None:
    await _start(shown, 61.0)


async def _startup_failed(shown: Cleaned) -> None:
    await _start(shown, 60.0)
    await shown.until(lambda: "left behind" in shown.text())


async def _startup_ready(shown: Cleaned) -> None:
    await _start(shown, 96.0)


BEGINS = {
    "startup": "startup:ready",
    "startup_failed": "startup:failed",
    "startup_ready": "startup:ready",
}
"""Scenarios of scenes that are not of leftovers; played faster, with an earlier start-up."""
SPEED = 2.0


async def _looked(shown: Cleaned) -> None:
    """Let some seconds pass, so that the newest past is seen."""
    await shown.pilot.pause(4.0)


async def _details(shown: Cleaned) -> None:
    await shown.press("down", "down", "down", "down", "down", "enter")
    await shown.pilot.pause(4.0)


DEMOS = {
    "demo_busy": "busy",
    "demo_trouble": "trouble",
    "demo_fleet": "fleet:32x8",
    "demo_details": "leftovers",
}
"""Pictures of the demo as it is, and its scenario."""

SCENES: dict[str, Callable[[Cleaned], Awaitable[None]]] = {
    "startup": _startup,
    "startup_failed": _startup_failed,
    "startup_ready": _startup_ready,
    "clean_plan": _plan,
    "clean_progress": _progress,
    "clean_all_clear": _all_clear,
    **dict.fromkeys(("demo_busy", "demo_trouble", "demo_fleet"), _looked),
    "demo_details": _details,
}
"""What is done in the app over the demo's leftovers before a picture of it is taken."""


async def play(name: str, folder: Path) -> None:
    """Write one picture of the running app."""
    with tempfile.TemporaryDirectory() as records:
        past, scenario, speed = None, {**DEMOS, **BEGINS}.get(name, "leftovers"), 1.0
        size = (160, 50) if name == "demo_details" else (120, 40)
        if name in BEGINS:
            put_earlier(Path(records))
            past, speed = Past(Path(records) / PAST), SPEED
        async with cleaned(
            Path(records), scenario, size, shows_time=True, past=past, speed=speed
        ) as shown:
            await SCENES[name](shown)
            shown.app.repaint()
            await shown.pilot.pause()
            background = shown.app.theme_variables["background"]
            svg = folder / f"{name}.svg"
            svg.write_text(framed(shown.app.export_screenshot(title=""), background))
            to_png(svg)


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or (*PICTURES, *STARTUPS, *SCENES):
        if name in SCENES:
            asyncio.run(play(name, folder))
        else:
            draw(name, folder)


if __name__ == "__main__":
    main()
