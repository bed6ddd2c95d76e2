"""Screens of start-ups as rows: every state at every size, and the laws that all of them keep.

`GPUDASH_UPDATE_GOLDEN=1` writes `tests/data/screens/startup-*.txt` anew.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core.startup.following import Life
from gpudash.ui.actions import DEFAULT_ACTIONS
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE
from gpudash.ui.paint.logpage import (
    KEYS,
    LogPage,
    clamped,
    log_page_rows,
    moved,
    page_room,
    searched,
    shown_lines,
    to_cause,
)
from gpudash.ui.paint.spans import plain, row_width
from gpudash.ui.paint.startupframe import frame_rows, story_of
from gpudash.ui.paint.startupview import StartupsView
from gpudash.ui.paint.startupwhy import report_text
from gpudash.ui.plots import Area, areas
from gpudash.ui.theme import load_all
from tests.ui import startups
from tests.ui.test_screens import check_golden

STATES: dict[str, Callable[[], StartupsView]] = {
    "running": lambda: startups.screen(startups.view("serve", 40.0)),
    "late": lambda: startups.screen(startups.late()),
    "ready": lambda: startups.screen(startups.view("serve", 95.0)),
    "failed": lambda: startups.screen(startups.failed()),
    "training": lambda: startups.screen(startups.view("train", 28.0, earlier=None)),
    "list": startups.several,
    "none": startups.screen,
}
SIZES = ((40, 10), (80, 24), (120, 40), (200, 60))
ALL_WORDS = ("start", "connect GPUs", "load weights", "CUDA graphs", "warm-up")


def text(view: StartupsView, width: int, height: int) -> str:
    return "\n".join(plain(row).rstrip() for row in frame_rows(view, width, height))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES)
def test_a_state(state: str, size: tuple[int, int]) -> None:
    rows = frame_rows(STATES[state](), *size)
    assert len(rows) == size[1]
    assert {row_width(row) for row in rows} == {size[0]}
    check_golden(f"startup-{state}-{size[0]}x{size[1]}", text(STATES[state](), *size))


@pytest.fixture(scope="module")
def made() -> dict[str, StartupsView]:
    return {name: make() for name, make in STATES.items()}


@settings(max_examples=60, deadline=None)
@given(state=st.sampled_from(sorted(STATES)), width=st.integers(1, 220), height=st.integers(1, 70))
def test_every_size_is_filled_exactly(
    made: dict[str, StartupsView], state: str, width: int, height: int
) -> None:
    rows = frame_rows(made[state], width, height)
    assert len(rows) == height
    assert {row_width(row) for row in rows} == {width}


@pytest.mark.parametrize("glyphs", [ASCII, MONO, UNICODE], ids=["ascii", "mono", "unicode"])
def test_ascii_is_ascii(glyphs: object) -> None:
    view = startups.screen(startups.view("serve", 66.0, glyphs=glyphs))  # type: ignore[arg-type]
    shown = text(view, 120, 40)
    assert shown.isascii() is (glyphs is ASCII)
    assert "?" not in shown.replace("is it alive?", "").replace("? help", "")
    # What was and what is to come differ without colour, too.
    assert ("|...." in shown) is (glyphs is ASCII)


def test_every_style_is_one_that_all_themes_have(made: dict[str, StartupsView]) -> None:
    themes, wrong = load_all()
    assert not wrong
    for view in made.values():
        for size in SIZES:
            for row in frame_rows(view, *size):
                for _, style in row:
                    for theme in themes.values():
                        theme.look(style)


def test_the_running_one_says_how_far_and_when() -> None:
    shown = text(STATES["running"](), 120, 40)
    for words in ALL_WORDS:
        assert words in shown
    assert "46 of 62 shards" in shown
    assert "ready in 26 s to 59 s" in shown
    assert "Memory is flat: normal here." in shown
    assert "expected, as on 28 Nov 18:40" in shown


def test_the_laggard_is_named_and_nobody_is_declared_dead() -> None:
    shown = text(STATES["late"](), 120, 40)
    assert "TP5 is behind: 7 of 8 ranks are done." in shown
    assert "No sign of progress for 3m 12s" in shown
    assert "dead" not in shown
    assert "hang" not in shown


def test_what_reads_while_its_log_is_silent_is_alive() -> None:
    quiet = Life(silent_s=90.0, read_bps=2.9e9, cpu_pct=820.0, gpu_pct=3.0, processes=9)
    shown = text(startups.screen(startups.view("serve", 40.0, life=quiet)), 120, 40)
    assert "log silent for 1m 30s" in shown
    assert "reads 2.9 GB/s" in shown


def test_the_failed_one_says_why_first_with_its_line_and_what_to_try() -> None:
    shown = text(STATES["failed"](), 120, 40).splitlines()
    assert shown[1].startswith(" × FAILED")
    why = next(number for number, row in enumerate(shown) if "─ why ─" in row)
    phases = next(number for number, row in enumerate(shown) if "─ phases ─" in row)
    assert why < phases
    assert "CUDA out of memory during CUDA graph capture" in shown[why + 1]
    assert any("[TP5] torch.OutOfMemoryError" in row for row in shown[why:phases])
    assert sum(row.strip("│ ").startswith(("try", "2 ", "3 ")) for row in shown[why:phases]) == 3
    assert any("▌" in row and "TP5" in row for row in shown[phases:])
    assert any("left behind" in row for row in shown)


@pytest.mark.parametrize(
    ("state", "badge"), [("running", "STARTING"), ("ready", "READY"), ("failed", "FAILED")]
)
def test_the_banner_says_what_became_of_it(state: str, badge: str) -> None:
    assert story_of(STATES[state](), is_wide=True).word == badge


def test_nothing_to_show_says_how_one_comes_here() -> None:
    shown = text(STATES["none"](), 80, 24)
    for words in ("gpudash run -- CMD", "gpudash follow --log FILE", "followed by itself"):
        assert words in shown


def test_the_report_begins_with_whom_and_says_the_cause() -> None:
    report = report_text(startups.failed())
    assert report.startswith("sglang Qwen3-235B-A22B-FP8 on gpu-a")
    assert "CUDA out of memory during CUDA graph capture (bs=80)" in report
    assert "log line 95 of /var/log/sglang/a.log" in report
    assert "try 1: --mem-fraction-static 0.93" in report
    assert "again: gpudash run --host gpu-a --clean --zero -- python3 -m sglang" in report


# -- the chart -------------------------------------------------------------------------------------


def test_an_area_has_its_height_and_its_style() -> None:
    rows = areas((Area(2, (0.5, 1.0, 0.0), "alive-bar"),), 8, 4, is_ascii=False)
    assert [plain(row) for row in rows] == ["   █    ", "   █    ", "  ██    ", "  ██    "]
    assert {style for row in rows for text, style in row if "█" in text} == {"alive-bar"}


def test_anything_above_zero_shows() -> None:
    rows = areas((Area(0, (0.001,), "alive-bar"),), 4, 3, is_ascii=False)
    assert [plain(row) for row in rows] == ["    ", "    ", "▁   "]


@settings(max_examples=40, deadline=None)
@given(
    heights=st.lists(st.floats(0.0, 1.2), max_size=90),
    start=st.integers(-5, 60),
    width=st.integers(1, 80),
    height=st.integers(1, 20),
    is_ascii=st.booleans(),
)
def test_a_chart_fills_its_room(
    heights: list[float], start: int, width: int, height: int, is_ascii: bool
) -> None:
    drawn = (Area(start, tuple(heights), "alive-bar"), Area(0, (0.3,) * 9, "bar-plan"))
    rows = areas(drawn, width, height, is_ascii=is_ascii)
    assert len(rows) == height
    assert {row_width(row) for row in rows} == {width}


# -- the whole log ---------------------------------------------------------------------------------


def page(**more: object) -> LogPage:
    view = startups.failed()
    failure = view.followed.startup.failure
    assert failure is not None
    known = LogPage(
        "sglang",
        lines=view.lines,
        cause=failure.line,
        wall_of=startups.wall_of,
        keys=DEFAULT_ACTIONS.named(KEYS),
    )
    return known._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES[:3], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_log_at_its_cause(size: tuple[int, int]) -> None:
    at = to_cause(page(), page_room(size[1]))
    rows = log_page_rows(at, *size)
    assert len(rows) == size[1]
    assert {row_width(row) for row in rows} == {size[0]}
    check_golden(f"startup-log-{size[0]}x{size[1]}", "\n".join(plain(row).rstrip() for row in rows))


def test_a_search_goes_round_and_a_rank_filters() -> None:
    room = 20
    found = page(words="Load weight")
    places = []
    for _ in range(17):
        found = searched(found, room, 1)
        places.append(found.here)
    assert len(set(places)) == 16
    assert places[16] == places[0]
    only = page(rank="TP5")
    assert {line.rank for line in shown_lines(only)} == {"TP5"}
    assert searched(only, room, 1).here is None


def test_the_cause_is_found_through_a_filter() -> None:
    at = to_cause(page(rank="TP0"), 10)
    assert at.rank == ""
    assert at.here is not None
    assert at.lines[at.here].number == at.cause
    assert not at.follows


def test_it_follows_until_somebody_scrolls_and_again_at_the_end() -> None:
    room = 20
    end = clamped(page(), room)
    assert end.follows
    up = moved(end, -1, room)
    assert not up.follows
    assert moved(up, 1, room).follows


def test_what_a_log_says_is_never_markup() -> None:
    lines = tuple(
        line._replace(text="[red]not[/red] [link=x]markup[/]") for line in page().lines[:1]
    )
    rows = log_page_rows(page(lines=lines), 120, 12)
    assert any("[red]not[/red] [link=x]markup[/]" in plain(row) for row in rows)
