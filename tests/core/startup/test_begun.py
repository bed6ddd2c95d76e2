"""Whom the dashboard follows by itself: one's own, young, known by its root, and no notebook."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.model import Link
from gpudash.core.startup.begun import YOUNG_S, newly_begun
from tests.sources.demo_said import fleet_of


def test_a_server_that_began_is_noticed_once() -> None:
    host = fleet_of("startup:ready", at_s=20.0).hosts[0]
    (begun,) = newly_begun(host, 20.0, frozenset())
    assert begun.pid == 51_102
    assert begun.name.startswith("sglang Qwen3-235B-A22B-FP8")
    assert newly_begun(host, 20.0, frozenset({begun.key})) == ()


def test_what_is_old_when_it_is_first_seen_is_no_start_up() -> None:
    host = fleet_of("startup:ready", at_s=20.0).hosts[0]
    assert newly_begun(host, 20.0 + YOUNG_S, frozenset()) == ()


def test_what_a_dead_link_says_is_not_followed() -> None:
    host = replace(fleet_of("startup:ready", at_s=20.0).hosts[0], link=Link.STALE)
    assert newly_begun(host, 20.0, frozenset()) == ()


def test_old_servers_others_and_notebooks_are_left_alone() -> None:
    for name in ("busy", "training", "leftovers"):
        host = fleet_of(name, at_s=7.0).hosts[0]
        assert newly_begun(host, 7.0, frozenset()) == ()
