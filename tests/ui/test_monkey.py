"""A seeded monkey at keyboard and mouse: nothing raises, nothing sticks, nobody is signalled.

Everything comes in bursts of 50, as from a cat or a paste; so no `y` among it is a person's answer.
`GPUDASH_MONKEY=10000` plays more than the gate does.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.events import Event, MouseDown, MouseScrollDown, MouseScrollUp, MouseUp
from textual.pilot import Pilot
from textual.screen import Screen

from gpudash.ui.app import GpudashApp
from tests.ui.cleaning import Cleaned, cleaned

EVENTS = int(os.environ.get("GPUDASH_MONKEY", "1000"))
BURST = 50
SIZES = ((120, 40), (80, 24), (40, 10), (200, 60))
_NAMED = """
    enter escape tab shift+tab up down left right pageup pagedown home end backspace delete
    space slash question_mark exclamation_mark colon ctrl+p ctrl+a ctrl+e ctrl+z f1 f5
"""
NAMED = _NAMED.split()
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789é模"
CHARACTERS = {"slash": "/", "space": " ", "question_mark": "?", "exclamation_mark": "!"}


def key(chance: random.Random) -> Event:
    name = chance.choice((*NAMED, *LETTERS))
    return events.Key(name, CHARACTERS.get(name, name if len(name) == 1 else None))


def mouse(chance: random.Random, size: tuple[int, int]) -> list[Event]:
    x, y = chance.randrange(size[0]), chance.randrange(size[1])
    kinds = chance.choice(((MouseDown, MouseUp), (MouseScrollDown,), (MouseScrollUp,)))
    button = 1 if kinds[0] is MouseDown else 0
    return [kind(None, x, y, 0, 0, button, False, False, False, x, y) for kind in kinds]


def deeds(chance: random.Random, size: tuple[int, int]) -> list[Event]:
    """Return one key, or one click or turn of the wheel."""
    return [key(chance)] if chance.random() < 0.85 else mouse(chance, size)


async def play(shown: Cleaned, seed: int, number: int, size: tuple[int, int]) -> None:
    chance = random.Random(seed)
    driver = shown.app._driver
    assert driver is not None
    for start in range(0, number, BURST):
        for _ in range(min(BURST, number - start)):
            for event in deeds(chance, size):
                event.set_sender(shown.app)
                driver.send_message(event)
        await shown.pilot.pause()
        # A dialog that was painted in this burst would take a key at the start of the next one.
        shown.let_read()


async def leave_all(pilot: Pilot[None]) -> None:
    """Close whatever is open."""
    for _ in range(12):
        await pilot.press("escape")
    await pilot.pause()


@pytest.mark.parametrize("scenario", ["leftovers", "trouble", "busy", "startup"])
async def test_a_monkey(tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = {"leftovers": 7, "trouble": 11, "busy": 13, "startup": 17}[scenario]
    size = SIZES[seed % len(SIZES)]
    opened: list[Screen[Any]] = []
    async with cleaned(tmp_path, scenario, size) as shown:
        monkeypatch.setattr(shown.app, "action_quit", _stay)
        monkeypatch.setattr(shown.app, "push_screen", _noted(shown.app, opened))
        await play(shown, seed, EVENTS // 4, size)
        await leave_all(shown.pilot)
        assert len(shown.app.screen_stack) == 1, shown.app.screen_stack
        before = shown.app._scene.density
        await shown.press("d")
        assert shown.app._scene.density is not before
        assert shown.orders == []
        assert shown.app._exception is None
    assert opened, "the monkey did nothing"


async def _stay() -> None:
    """Quit nothing: the monkey is not done."""


def _noted(app: GpudashApp, opened: list[Screen[Any]]) -> Callable[..., Any]:
    push = app.push_screen

    def push_screen(screen: Screen[Any], *words: Any, **named: Any) -> Any:
        opened.append(screen)
        return push(screen, *words, **named)

    return push_screen
