"""The tour of the demo: from the first look to the details, each step once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.actions import BY_ID
from gpudash.core.startup.model import Outcome
from gpudash.core.tour import STEPS, Signs, Tour
from gpudash.sources.demo import parse_scenario
from gpudash.ui.touring import Guide
from tests.ui.cleaning import Cleaned, cleaned
from tests.ui.test_starting import SPEED, outcome, with_past

START = Signs("dashboard", "NOT CLEAR", ("gpu-a", 0))
signs = st.builds(
    Signs,
    st.sampled_from(["dashboard", "plan", "startups", "log", "details", "HelpScreen"]),
    st.sampled_from(["NOT CLEAR", "CLEANING", "ZERO, HOLDING", "ALL CLEAR", "STARTING", "READY"]),
    st.tuples(st.just("gpu-a"), st.integers(0, 7)),
)


@given(st.lists(signs, max_size=40))
def test_it_goes_on_by_one_and_never_back(walk: list[Signs]) -> None:
    tour = Tour(0, START)
    for now in walk:
        after = tour.after(now)
        assert after.at in (tour.at, tour.at + 1)
        assert after.at < len(STEPS)
        tour = after


@pytest.mark.parametrize("at", range(len(STEPS)))
def test_each_sentence_names_keys_that_there_are(at: int) -> None:
    words = Tour(at, START).words(lambda id_: BY_ID[id_].key)
    assert "{" not in words
    assert words.endswith(".")


def test_its_name() -> None:
    assert parse_scenario("tour").is_tour
    assert not parse_scenario("startup").is_tour


def title(shown: Cleaned) -> str:
    told = [one.title for one in shown.app._notifications if one.title.startswith("tour")]
    return told[-1] if told else ""


async def at_step(shown: Cleaned, number: int) -> None:
    await shown.until(lambda: title(shown) == f"tour {number} of {len(STEPS)}")


async def test_a_newcomer_follows_it_to_its_end(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "startup", past=with_past(tmp_path)) as shown:
        shown.app.guide = Guide(shown.app)
        shown.app.repaint()
        await at_step(shown, 1)
        await shown.press("down")
        await at_step(shown, 2)
        await shown.opened("c")
        await at_step(shown, 3)
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: "ALL CLEAR" in shown.text())
        await at_step(shown, 6)
        shown.clock.go(SPEED)
        await shown.until(lambda: outcome(shown) is Outcome.STARTING)
        await shown.press("s")
        await at_step(shown, 7)
        await shown.press("L")
        await shown.until(lambda: outcome(shown) is Outcome.READY)
        await shown.press("escape", "escape")
        await at_step(shown, 9)
        await shown.press("enter")
        await at_step(shown, 10)
