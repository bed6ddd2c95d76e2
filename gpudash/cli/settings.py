"""Fills the flags that were not given from the configuration."""

from __future__ import annotations

import argparse
import os

from gpudash.cli import arguments, diagnostics
from gpudash.config.load import Config, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpudash.core.actions import Action

AUTO = "auto"


def configured(plan: argparse.Namespace) -> Config:
    """Set interval_s, theme and density, flags first; say what was ignored.

    A theme stays open where nothing chooses one, and under NO_COLOR, where the one without
    colours is the default. Raises UsageError.
    """
    config = load(os.environ)
    for warning in config.warnings:
        diagnostics.say(f"gpudash: {warning}")
    plan.interval_s = arguments.interval(plan.interval or str(config.top("interval").value))
    theme, density = config.top("theme"), config.top("density")
    is_open = "theme" in plan and plan.theme is None and not os.environ.get("NO_COLOR")
    if is_open and theme.where != "default":
        plan.theme = theme.value
    if "density" in plan and plan.density is None and density.value != AUTO:
        plan.density = density.value
    return config


def actions_of(config: Config) -> tuple[Action, ...]:
    """Return the dashboard's actions with the keys that the configuration gives them."""
    from gpudash.core.keymap import actions_with

    own = {id_: str(value.value) for id_, value in config.keys.items()}
    return actions_with(own, str(config.top("keymap").value))
