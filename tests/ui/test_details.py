"""The details by their keys and clicks, at every size and in every state."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpudash.core.model import Fleet
from gpudash.services.past import seed
from gpudash.ui.paint.glyphs import ASCII
from gpudash.ui.screens.details import DetailsScreen
from gpudash.ui.screens.environment import EnvironmentScreen
from tests.ui import fleets
from tests.ui.showing import Shown, showing
from tests.ui.test_screens import check_golden

SIZES = ((40, 10), (80, 24), (120, 40), (160, 50))
STATES: dict[str, Callable[[], Fleet]] = {
    "busy": fleets.busy,
    "idle": fleets.idle,
    "connecting": fleets.connecting,
    "stale-lost-mig": fleets.three_hosts,
    "hung-down": fleets.down,
    "paused": fleets.paused,
    "errors": fleets.errors,
    "many": fleets.many,
}


def with_past(shown: Shown) -> None:
    """Give every GPU a past: memory filling, work that comes and goes, a gap."""
    for host in shown.monitor.fleet.hosts[:3]:
        shown.monitor.history.forget(host.name)
        for number, gpu in enumerate(host.gpus):
            rows: list[tuple[int | None, ...]] = []
            for second in range(590):
                if 200 <= second < 240:
                    rows.append((None, None, None, None))
                    continue
                work = 0 if second < 120 else 90 - number * 5 - second % 7
                rows.append((min(7_800, second * 30), work, 80 + 4 * work, 40 + work // 4))
            seed(shown.monitor.history, host.name, gpu.info.key, int(fleets.NOW) + 1, rows)


def screen_of(shown: Shown) -> DetailsScreen:
    screen = shown.app.screen
    assert isinstance(screen, DetailsScreen)
    return screen


async def settled(shown: Shown) -> None:
    """Wait until a question is answered."""
    for _ in range(100):
        await shown.pilot.pause()
        if "asking" not in shown.text():
            return


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", ["busy", "paused"])
async def test_a_gpu(state: str, size: tuple[int, int]) -> None:
    async with showing(STATES[state](), *size) as shown:
        with_past(shown)
        await shown.press("enter")
        rows = shown.rows()
        assert len(rows) == size[1]
        assert all(len(row) == size[0] for row in rows)
        check_golden(f"details-{state}-{size[0]}x{size[1]}", shown.text())


@pytest.mark.parametrize("page", ["facts", "processes"])
@pytest.mark.parametrize("size", SIZES[:3], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_page(page: str, size: tuple[int, int]) -> None:
    async with showing(fleets.busy(), *size) as shown:
        with_past(shown)
        await shown.press("enter", *["f"] * (1 if page == "facts" else 2))
        check_golden(f"details-{page}-{size[0]}x{size[1]}", shown.text())


async def test_a_host_and_ascii() -> None:
    async with showing(fleets.busy(), 160, 50) as shown:
        with_past(shown)
        await shown.press("enter", "shift+tab")
        check_golden("details-host-160x50", shown.text())
    async with showing(fleets.busy(), 120, 40, glyphs=ASCII) as shown:
        with_past(shown)
        await shown.press("enter")
        assert shown.text().isascii()


@pytest.mark.parametrize("state", STATES)
async def test_every_state_can_be_opened_and_left(state: str) -> None:
    async with showing(STATES[state](), 160, 50) as shown:
        before = shown.text()
        await shown.press("enter")
        screen_of(shown)
        await shown.press("tab", "w", "f", "down", "f", "up", "f", "shift+tab", "shift+tab")
        (name,) = (one.name for one in shown.monitor.fleet.hosts if one.name == shown.scene.focus)
        is_simulated = shown.monitor.fleet.host(name).is_simulated
        assert ("SIMULATED" in shown.text()) is is_simulated
        await shown.press("escape")
        assert not isinstance(shown.app.screen, DetailsScreen)
        await shown.press("home")
        assert shown.text().splitlines()[:3] == before.splitlines()[:3]


async def test_keys_choose_the_gpu() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("enter")
        assert "GPU 0  of 8" in shown.text()
        for key, header in (
            ("tab", "GPU 1"),
            ("right", "GPU 2"),
            ("l", "GPU 3"),
            ("left", "GPU 2"),
            ("h", "GPU 1"),
            ("7", "GPU 7"),
            ("9", "GPU 7"),
            ("tab", "host"),
            ("shift+tab", "GPU 7"),
        ):
            await shown.press(key)
            assert f"{header}  of 8" in shown.rows()[0], key
        await shown.press("enter")
        assert shown.scene.cursor == 7, "the dashboard's cursor went along"


async def test_the_window_goes_round() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        with_past(shown)
        await shown.press("enter")
        for words, mark in (("past 10 m", "−8m"), ("past 1 h", "−45m"), ("past 1 m", "−45s")):
            assert words in shown.text()
            assert mark in shown.text()
            await shown.press("w")
        assert "past 10 m" in shown.text()


async def test_the_cursor_stays_in_sight() -> None:
    async with showing(fleets.busy(), 80, 16) as shown:
        await shown.press("enter", "shift+tab", "f", "f")
        for key in ("end", "up", "home", "pagedown", "j", "k", "G", "g", "pageup"):
            await shown.press(key)
            assert sum("▌" in row for row in shown.rows()) == 1, key


async def test_clicks() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("enter", "shift+tab")
        footer = shown.rows()[-1]
        await shown.pilot.click(offset=(footer.index("f facts"), 39))
        await shown.pilot.pause()
        assert "zero?" in shown.text()
        await shown.press("f")
        place = next(y for y, row in enumerate(shown.rows()) if "scheduler TP3" in row)
        await shown.pilot.click(offset=(20, place))
        await shown.pilot.pause()
        assert "▌" in shown.rows()[place]
        footer = shown.rows()[-1]
        await shown.pilot.click(offset=(footer.index("esc back"), 39))
        await shown.pilot.pause()
        assert not isinstance(shown.app.screen, DetailsScreen)


async def test_keys_of_the_app_work_there() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("enter", "t")
        assert shown.app.theme == "gpudash-light"
        await shown.press("question_mark")
        assert "─ help ─" in shown.text()
        await shown.press("escape", "e")
        assert "no open problem" in shown.text()
        await shown.press("escape", "p")
        assert any(word.startswith("pause") for word in shown.monitor.said)
        screen_of(shown)
        await shown.press("c")
        screen_of(shown)


async def test_copying_takes_what_is_shown() -> None:
    async with showing(fleets.busy(), 160, 50) as shown:
        await shown.press("enter", "y")
        await shown.app.workers.wait_for_complete()
        copied = shown.app.clipboard
        assert "zero?" in copied
        assert "q quit" not in copied
        for row in shown.rows()[2:40]:
            assert row.rstrip()[:60] in copied


async def test_an_environment_is_asked_for_and_shown_masked() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("enter", "i")
        assert "processes" in shown.text()
        screen_of(shown)
        name = shown.monitor.fleet.hosts[0].name
        source = shown.monitor._watches[name].source
        source.variables = (("HF_TOKEN", "…"), ("A", "[red]x\x1b[31m"))  # type: ignore[attr-defined]
        await shown.press("down", "i")
        await settled(shown)
        assert isinstance(shown.app.screen, EnvironmentScreen)
        text = shown.text()
        assert "HF_TOKEN=…" in text
        assert "A=[red]x" in text
        assert "\x1b" not in text
        await shown.press("escape")
        screen_of(shown)


async def test_where_nobody_is_there_is_no_environment() -> None:
    async with showing(fleets.idle(), 120, 40) as shown:
        await shown.press("enter", "f", "f", "i")
        screen_of(shown)
        assert "no living process" in shown.text()


async def test_a_refused_environment_says_why() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("enter", "f", "f", "down", "i")
        await settled(shown)
        assert "can't be shown: no" in shown.text()


async def test_a_host_whose_gpus_are_gone_is_still_shown() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("enter", "3")
        (host,) = shown.monitor.fleet.hosts
        shown.monitor.become(replace(shown.monitor.fleet, hosts=(replace(host, gpus=()),)))
        await shown.after(1)
        await shown.press("tab", "3", "i", "w", "f", "f", "y")
        shown.monitor.become(replace(shown.monitor.fleet, hosts=(host,)))
        await shown.after(1)
        await shown.press("3")
        assert "GPU 3  of 8" in shown.text()


@pytest.mark.parametrize(
    "size", [(1, 1), (10, 3), (39, 9), (139, 20), (141, 27), (320, 90)], ids=str
)
async def test_odd_sizes(size: tuple[int, int]) -> None:
    async with showing(fleets.three_hosts(), *size) as shown:
        await shown.press("enter", "w", "f", "f", "f", "tab", "end", "y")
        assert len(shown.rows()) == size[1]
        await shown.pilot.resize_terminal(120, 40)
        await shown.pilot.pause()
        assert len(shown.rows()) == 40


async def test_nothing_is_imported_or_asked_before_it_is_opened() -> None:
    sys.modules.pop("plotext", None)
    async with showing(fleets.busy(), 120, 40) as shown:
        assert "plotext" not in sys.modules
        source = shown.monitor._watches[shown.monitor.fleet.hosts[0].name].source
        assert source.closer == []  # type: ignore[attr-defined]
        await shown.press("enter", "escape")
        assert shown.app.is_running
