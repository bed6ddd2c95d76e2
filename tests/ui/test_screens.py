"""Every state's screen as text, at the sizes that people have: `tests/data/screens`.

`GPUDASH_UPDATE_GOLDEN=1` writes them anew; look at the difference before you keep it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudash.core.model import Fleet
from tests.ui import fleets
from tests.ui.showing import no_driver, showing

FOLDER = Path(__file__).parent.parent / "data" / "screens"
STATES: dict[str, Callable[[], Fleet]] = {
    "busy": fleets.busy,
    "idle": fleets.idle,
    "connecting": fleets.connecting,
    "stale-lost-mig": fleets.three_hosts,
    "hung-down": fleets.down,
    "paused": fleets.paused,
    "errors": fleets.errors,
    "welcome": no_driver,
    "many": fleets.many,
}
SIZES = ((40, 10), (80, 24), (120, 40))


def check_golden(name: str, text: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("GPUDASH_UPDATE_GOLDEN"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text + "\n"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES)
async def test_a_state(state: str, size: tuple[int, int]) -> None:
    async with showing(STATES[state](), *size) as shown:
        rows = shown.rows()
        assert len(rows) == size[1]
        assert all(len(row) == size[0] for row in rows)
        check_golden(f"{state}-{size[0]}x{size[1]}", shown.text())


@pytest.mark.parametrize(("key", "name"), [("question_mark", "help"), ("e", "problems")])
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40)], ids=str)
async def test_a_dialog(key: str, name: str, size: tuple[int, int]) -> None:
    async with showing(fleets.errors(), *size) as shown:
        await shown.press(key)
        check_golden(f"{name}-{size[0]}x{size[1]}", shown.text())


@pytest.mark.parametrize("size", [(1, 1), (10, 3), (39, 9), (200, 60), (320, 90)], ids=str)
@pytest.mark.parametrize("state", ["stale-lost-mig", "welcome", "many"])
async def test_odd_sizes_do_not_break_it(state: str, size: tuple[int, int]) -> None:
    async with showing(STATES[state](), *size) as shown:
        await shown.press("down", "d", "question_mark", "escape", "e")
        assert len(shown.rows()) == size[1]


async def test_a_storm_of_sizes() -> None:
    async with showing(fleets.three_hosts(), 80, 24) as shown:
        for width in (200, 3, 80, 40, 1, 320, 60, 120):
            await shown.pilot.resize_terminal(width, max(1, width // 3))
        await shown.pilot.resize_terminal(120, 40)
        await shown.pilot.pause()
        check_golden("stale-lost-mig-120x40", shown.text())
