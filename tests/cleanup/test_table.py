"""Every case is played, or a sentence says why that can't be."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "data" / "cases" / "cleanup.jsonl"
MODULES = ("holders", "managers", "protected", "signals", "readings", "leftovers")
AT_LEAST = 55
NOT_PLAYED: dict[str, str] = {}
"""Id and why no processes can play it: only where the hardware is the scenario."""


def cases() -> dict[str, str]:
    """Return the title of each case by its id."""
    rows = [json.loads(line) for line in CASES.read_text().splitlines()]
    return {row["id"]: row["title"] for row in rows}


def played() -> dict[str, list[str]]:
    """Return the scenes of each id; a test says in its name what it plays."""
    found: dict[str, list[str]] = {}
    for name in MODULES:
        module = importlib.import_module(f"tests.cleanup.test_{name}")
        for test in vars(module):
            case = test.removeprefix("test_").partition("_")[0].upper()
            if test.startswith("test_"):
                found.setdefault(case, []).append(f"test_{name}.py::{test}")
    return found


@pytest.mark.parametrize("case", sorted(cases()))
def test_a_case_is_played_or_named(case: str) -> None:
    scenes = played().get(case, [])
    assert bool(scenes) != bool(NOT_PLAYED.get(case)), f"{case}: {cases()[case]}"


def test_enough_are_played() -> None:
    assert len(cases()) == 62
    assert len(set(played()) & set(cases())) >= AT_LEAST


def test_no_scene_plays_an_unknown_case() -> None:
    assert set(played()) <= set(cases())
    assert set(NOT_PLAYED) <= set(cases())


def test_scenes_really_play() -> None:
    """Each one is a scene in a room of its own, and not an empty promise."""
    for scenes in played().values():
        for scene in scenes:
            module, _, name = scene.partition("::")
            test = getattr(importlib.import_module(f"tests.cleanup.{module[:-3]}"), name)
            assert callable(test.scene)
