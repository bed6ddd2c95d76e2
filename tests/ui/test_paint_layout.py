"""Which parts a screen has, by its size (mockups spec §2)."""

from __future__ import annotations

import pytest

from gpudash.ui.paint.columns import card_columns, line_columns
from gpudash.ui.paint.layout import plan
from gpudash.ui.paint.view import Density
from tests.ui import fleets

ONE = fleets.busy().hosts
THREE = fleets.three_hosts().hosts


@pytest.mark.parametrize(
    ("size", "density", "heights"),
    [
        # header, hosts, holders, events, gap, footer
        ((120, 40), Density.CARD, (1, 18, 6, 12, 0, 1)),
        ((80, 24), Density.LINE, (1, 10, 6, 4, 0, 1)),
        ((40, 10), Density.LINE, (0, 8, 0, 0, 0, 0)),
        ((80, 11), Density.LINE, (0, 8, 0, 0, 0, 1)),
        ((80, 19), Density.LINE, (1, 10, 0, 5, 0, 1)),
        ((200, 60), Density.CARD, (1, 26, 6, 12, 12, 1)),
        ((320, 90), Density.CARD, (1, 50, 6, 12, 18, 1)),
    ],
)
def test_one_host(size: tuple[int, int], density: Density, heights: tuple[int, ...]) -> None:
    layout = plan(*size, ONE, holders_wanted=6)
    assert layout.density is density
    assert (
        layout.header,
        layout.hosts,
        layout.holders,
        layout.events,
        layout.gap,
        layout.footer,
    ) == heights


@pytest.mark.parametrize("size", [(120, 40), (200, 60), (320, 90)])
def test_rows_do_not_jump_as_holders_come_and_go(size: tuple[int, int]) -> None:
    heights = {plan(*size, ONE, holders_wanted=wanted).hosts for wanted in range(4, 40)}
    assert len(heights) == 1


def test_a_high_screen_makes_room_for_charts_and_no_more_than_that() -> None:
    assert [plan(120, height, ONE, holders_wanted=6).card_rows for height in (40, 60, 70, 300)] == [
        2,
        3,
        4,
        6,
    ]
    assert plan(120, 300, ONE, holders_wanted=6, density=Density.LINE).hosts == 10


def test_density_shrinks_as_hosts_grow() -> None:
    assert plan(200, 90, THREE, holders_wanted=11).density is Density.CARD
    assert plan(200, 60, THREE, holders_wanted=11).density is Density.LINE
    assert plan(80, 24, THREE, holders_wanted=11).density is Density.CELL
    assert plan(80, 24, THREE, holders_wanted=11, density=Density.LINE).density is Density.LINE


def test_holders_give_way_to_lines_of_several_hosts() -> None:
    tall = plan(120, 46, THREE, holders_wanted=11)
    assert (tall.density, tall.hosts, tall.holders) == (Density.LINE, 33, 9)
    tight = plan(120, 40, THREE, holders_wanted=11)
    assert (tight.density, tight.hosts, tight.holders) == (Density.LINE, 33, 0)
    assert plan(120, 39, THREE, holders_wanted=11).density is Density.CELL


def test_holders_take_a_quarter_unless_rows_are_left_over() -> None:
    assert plan(80, 24, ONE, holders_wanted=30).holders == 6
    assert plan(200, 64, ONE, holders_wanted=20).holders == 20


@pytest.mark.parametrize(
    ("width", "bar", "memory", "spark", "process"),
    [
        (200, 48, 16, 36, 52),
        (160, 40, 16, 28, 38),
        (120, 28, 16, 16, 22),
        (100, 24, 12, 8, 25),
        (80, 18, 12, 0, 27),
        (40, 12, 6, 0, 16),
    ],
)
def test_line_columns(width: int, bar: int, memory: int, spark: int, process: int) -> None:
    columns = line_columns(width)
    assert (columns.bar, columns.memory, columns.spark) == (bar, memory, spark)
    assert columns.process == process


def test_the_bar_takes_the_slack_up_to_the_next_step() -> None:
    bars = [line_columns(width).bar for width in range(120, 160)]
    assert bars == sorted(bars)
    assert bars[-1] == 40


@pytest.mark.parametrize(("width", "bar"), [(100, 30), (120, 44), (160, 64), (200, 84)])
def test_card_columns(width: int, bar: int) -> None:
    assert card_columns(width).bar == bar
