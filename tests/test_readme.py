"""The README names every key and every word of the banner, and no key that is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpudash.core.actions import ACTIONS
from gpudash.ui.paint.glyphs import UNICODE
from gpudash.ui.paint.help import word_entries
from tests.readme import written

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def table(header: str, *, whole: bool = False) -> list[str]:
    """Return the rows of the table with this header, or their first columns."""
    _, _, rest = README.partition(f"\n{header}\n")
    rows = rest.split("\n\n", 1)[0].splitlines()[1:]
    return rows if whole else [row.split("|")[1] for row in rows]


def shown(cells: list[str]) -> set[str]:
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_key_is_named_and_no_other() -> None:
    keys = {key for action in ACTIONS for key in action.shown.split()}
    assert shown(table("| key | does | id |")) == keys


def test_the_tables_that_are_made_are_fresh() -> None:
    assert written(README) == README, "python -m tests.readme writes them"


@pytest.mark.parametrize(
    "words",
    [
        *(entry[0] for entry in word_entries(UNICODE)),
        "√ MARKED CLEAR",
        "AT BASELINE",
        "ALL AT BASELINE",
        "MARKED: BASELINE",
    ],
)
def test_every_word_of_the_banner_is_named(words: str) -> None:
    rows = table("| banner | means |", whole=True)
    assert any(words in shown([row]) for row in rows)
