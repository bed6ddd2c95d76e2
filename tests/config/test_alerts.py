"""[alerts] of a configuration: bounds and how loudly they are told, mistakes with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudash.config.alerts import bounds_of, is_on
from gpudash.config.document import parse_document
from gpudash.config.layers import Origin
from gpudash.core.alert_levels import Bounds
from tests.config.making import configuration

ALL = """\
[alerts]
memory = 95
temperature = false
throttle = false
ecc = false
lost = false
bell = false
osc9 = true
"""


def test_without_a_word_the_defaults_are_those_of_the_bounds(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    assert bounds_of(config) == Bounds()
    assert (is_on(config, "bell"), is_on(config, "osc9")) == (True, False)


def test_all_can_be_said(tmp_path: Path) -> None:
    config = configuration(tmp_path, user=ALL)
    assert bounds_of(config) == Bounds(
        memory_pct=95, temperature_c=None, throttle=False, ecc=False, lost=False
    )
    assert (is_on(config, "bell"), is_on(config, "osc9")) == (False, True)


def test_the_user_speaks_over_the_site(tmp_path: Path) -> None:
    config = configuration(
        tmp_path,
        site="[alerts]\nmemory = 80\ntemperature = 70\n",
        user="[alerts]\nmemory = false\n",
    )
    assert bounds_of(config) == Bounds(memory_pct=None, temperature_c=70)
    assert config.alert("temperature").where.endswith(":3")


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        (
            "[alerts]\ntemperture = 80",
            2,
            "unknown key alerts.temperture",
            "Did you mean temperature?",
        ),
        ("[alert]\nmemory = 3", 1, "unknown key alert", "Did you mean alerts?"),
        ("osc9 = true", 1, "unknown key osc9", "osc9 stands in [alerts]."),
        (
            "[alerts]\n\nmemory = true",
            3,
            "alerts.memory must be a number of percent from 1 to 100, or false, "
            "not a truth value: true",
            "",
        ),
        (
            "[alerts]\nmemory = 101",
            2,
            "alerts.memory must be a number of percent from 1 to 100, or false, not a number: 101",
            "",
        ),
        (
            "[alerts]\ntemperature = 0",
            2,
            "alerts.temperature must be a number of °C from 1 to 150, or false, not a number: 0",
            "",
        ),
        (
            '[alerts]\nbell = "loud"',
            2,
            'alerts.bell must be true or false, not a text: "loud"',
            "",
        ),
        ("alerts = 3", 1, "alerts must be a table, [alerts], not a number: 3", ""),
    ],
)
def test_mistakes_are_named(text: str, line: int, message: str, hint: str) -> None:
    layer, (problem,) = parse_document(text, "config.toml", Origin.USER)
    assert (problem.line, problem.message, problem.hint) == (line, message, hint)
    assert not layer.alerts
