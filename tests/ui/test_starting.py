"""Start-ups in the app: their screen, the log, the keys in them, and the demo's whole job."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpudash.core.startup.following import Followed
from gpudash.core.startup.logbook import Logbook
from gpudash.core.startup.model import Outcome
from gpudash.services.startup.past import Past
from gpudash.sources.demo.earlier import earlier_runs
from gpudash.sources.demo.logs import Script
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.screens.log import LogScreen
from gpudash.ui.screens.plan import PlanScreen
from gpudash.ui.screens.startups import StartupsScreen
from tests.ui import fleets, startups
from tests.ui.cleaning import Cleaned, cleaned
from tests.ui.showing import Shown, showing

SPEED = 8.0


@dataclass(eq=False)
class Told:
    """A start-up that stands still."""

    followed: Followed
    book: Logbook
    key: tuple[str, int, int]


def told(name: str, after_s: float, *, host: str = "gpu-a", exit_code: int | None = None) -> Told:
    one, _ = startups.followed(name, after_s, host=host, exit_code=exit_code)
    book = Logbook()
    book.feed(Script(name=name, pid=51_102, unix_s=startups.UNIX).text(after_s), startups.BEGAN)
    return Told(one, book, (host, len(name), int(after_s)))


@asynccontextmanager
async def with_startups(*every: Told, width: int = 120, height: int = 40) -> AsyncIterator[Shown]:
    """Run the app over a still fleet in which these are followed."""
    async with showing(fleets.idle(), width, height) as shown:
        if every:
            shown.clock.at_s = max(one.followed.now_s for one in every)
        shown.app.startups._noticing.all = every  # type: ignore[assignment]
        shown.app.repaint()
        await shown.pilot.pause()
        yield shown
        shown.app.startups._noticing.all = ()


def failed() -> Told:
    return told("oom", 48.0, exit_code=1)


# -- the screen ------------------------------------------------------------------------------------


async def test_s_shows_the_only_one_and_goes_back() -> None:
    async with with_startups(told("serve", 40.0)) as shown:
        await shown.press("s")
        assert isinstance(shown.app.screen, StartupsScreen)
        assert "load weights  46 of 62 shards" in shown.text()
        await shown.press("escape")
        assert isinstance(shown.app.screen, DashboardScreen)
        await shown.press("s", "s")
        assert isinstance(shown.app.screen, DashboardScreen)


async def test_s_without_any_says_how_one_comes_here() -> None:
    async with with_startups() as shown:
        await shown.press("s")
        assert "gpudash run -- CMD" in shown.text()
        await shown.press("y", "c", "enter", "tab", "down", "L")
        assert isinstance(shown.app.screen, StartupsScreen)
        assert "no start-up is followed yet" in shown.text()


async def test_several_are_a_list_that_opens() -> None:
    every = (told("serve", 40.0), failed(), told("train", 60.0))
    async with with_startups(*every) as shown:
        await shown.press("s")
        assert "1 starting" in shown.text()
        await shown.press("down", "enter")
        assert "× FAILED" in shown.text()
        await shown.press("tab")
        assert "√ READY" in shown.text()
        await shown.press("escape")
        assert "1 starting" in shown.text()
        await shown.press("escape")
        assert isinstance(shown.app.screen, DashboardScreen)


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60)], ids=str)
async def test_a_new_size_is_filled(size: tuple[int, int]) -> None:
    async with with_startups(told("serve", 40.0)) as shown:
        await shown.press("s")
        await shown.pilot.resize_terminal(*size)
        await shown.pilot.pause()
        assert "STARTING" in shown.text()
        assert [len(row) for row in shown.rows()] == [size[0]] * size[1]


async def test_the_theme_changes_on_the_screen_and_on_the_log() -> None:
    async with with_startups(told("serve", 40.0)) as shown:
        await shown.press("s", "t")
        assert shown.app.theme == "gpudash-light"
        (rows,) = shown.app.screen.query("#startup-rows")
        assert rows._ink.theme.name == "gpudash-light"  # type: ignore[attr-defined]


async def test_y_copies_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.delenv("TMUX", raising=False)
    async with with_startups(failed()) as shown:
        monkeypatch.setattr(shown.app, "copy_to_clipboard", copied.append)
        await shown.press("s", "y")
        await shown.pilot.pause()
        assert "CUDA out of memory during CUDA graph capture (bs=80)" in copied[0]
        assert "copied to the terminal's clipboard" in shown.text()


async def test_a_click_does_what_the_key_does() -> None:
    async with with_startups(failed()) as shown:
        await shown.press("s")
        row = shown.rows()[-1]
        await shown.pilot.click(offset=(row.index("L log"), len(shown.rows()) - 1))
        await shown.pilot.pause()
        assert isinstance(shown.app.screen, LogScreen)


async def test_read_only_offers_no_cleanup() -> None:
    async with with_startups(failed()) as shown:
        await shown.press("s")
        assert "c clean" not in shown.text()
        await shown.press("c")
        assert isinstance(shown.app.screen, StartupsScreen)


# -- the dashboard's banner ------------------------------------------------------------------------


async def test_the_banner_of_the_dashboard_speaks_of_what_starts() -> None:
    async with with_startups(told("serve", 40.0)) as shown:
        assert "» STARTING" in shown.text()
        assert "s  start-up" in shown.text()


async def test_ready_stands_in_the_banner_for_a_minute() -> None:
    async with with_startups(told("serve", 95.0)) as shown:
        assert "√ READY" in shown.text()
        await shown.after(59.0)
        assert "√ READY" in shown.text()
        await shown.after(3.0)
        assert "√ READY" not in shown.text()


# -- the log ---------------------------------------------------------------------------------------


async def test_l_opens_the_log_at_the_cause() -> None:
    async with with_startups(failed()) as shown:
        await shown.press("L")
        screen = shown.app.screen
        assert isinstance(screen, LogScreen)
        assert screen.page.here is not None
        assert screen.page.lines[screen.page.here].number == screen.page.cause
        await shown.press("escape")
        assert isinstance(shown.app.screen, DashboardScreen)


async def test_the_log_is_searched_filtered_and_followed() -> None:
    async with with_startups(failed()) as shown:
        await shown.press("s", "L", "slash", *"weight")
        screen = shown.app.screen
        assert isinstance(screen, LogScreen)
        assert screen.page.is_typing
        assert "/weight_" in shown.text()
        # Letters are letters while they are typed: q leaves nothing.
        await shown.press("q", "backspace", "enter")
        assert not screen.page.is_typing
        assert "/weight  16 times" in shown.text()
        first = screen.page.here
        await shown.press("n")
        assert screen.page.here != first
        await shown.press("N")
        assert screen.page.here == first
        await shown.press("r")
        assert screen.page.rank == "TP0"
        await shown.press("R")
        assert screen.page.rank == ""
        await shown.press("f")
        assert screen.page.follows
        await shown.press("up")
        assert not screen.page.follows
        await shown.press("w")
        assert screen.page.here is not None
        assert screen.page.lines[screen.page.here].number == screen.page.cause
        await shown.press("right")
        assert screen.page.column > 0
        await shown.press("home")
        assert screen.page.top == 0
        # The search goes first, then the screen.
        await shown.press("escape")
        assert screen.page.words == ""
        await shown.press("escape")
        assert isinstance(shown.app.screen, StartupsScreen)


async def test_a_search_that_is_given_up_leaves_the_one_before() -> None:
    async with with_startups(failed()) as shown:
        await shown.press("L", "slash", *"begin", "enter", "slash", *"xy", "escape")
        screen = shown.app.screen
        assert isinstance(screen, LogScreen)
        assert screen.page.words == "begin"


async def test_the_log_follows_what_comes() -> None:
    one = told("serve", 20.0)
    async with with_startups(one) as shown:
        await shown.press("L")
        one.book.feed(b"[2026-11-30 12:13:40 TP4] something new\n", shown.clock.now())
        shown.app.repaint()
        await shown.pilot.pause()
        assert "TP4  something new" in shown.text()


async def test_y_copies_the_lines_that_pass_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.delenv("TMUX", raising=False)
    async with with_startups(failed()) as shown:
        monkeypatch.setattr(shown.app, "copy_to_clipboard", copied.append)
        await shown.press("L", "r", "y")
        await shown.pilot.pause()
        assert copied
        assert all(line.startswith("[TP0] ") for line in copied[0].splitlines())


async def test_brackets_in_a_log_are_text() -> None:
    one = told("serve", 20.0)
    async with with_startups(one) as shown:
        one.book.feed(b"[bold red]x[/bold red] [@click=app.quit]y[/]\n", shown.clock.now())
        await shown.press("s", "L")
        assert "[bold red]x[/bold red] [@click=app.quit]y[/]" in shown.text()


# -- the demo --------------------------------------------------------------------------------------


def with_past(folder: Path) -> Past:
    past = Past(folder / "startups.jsonl")
    for run in earlier_runs():
        past.add(run)
    return past


def outcome(shown: Cleaned) -> Outcome | None:
    newest = shown.app.startups.newest
    return newest.followed.startup.outcome if newest is not None else None


async def test_the_whole_job_from_leftovers_to_ready(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "startup", past=with_past(tmp_path)) as shown:
        assert "NOT CLEAR" in shown.text()
        await shown.opened("c")
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        await shown.until(lambda: "ALL CLEAR" in shown.text())
        assert "SIMULATED" in shown.text()
        shown.clock.go(SPEED)
        await shown.until(lambda: outcome(shown) is Outcome.STARTING)
        await shown.until(lambda: "STARTING" in shown.text())
        await shown.press("s")
        await shown.until(
            lambda: "load weights  " in shown.text() and "of 62 shards" in shown.text()
        )
        assert "ready in " in shown.text()
        assert "against last time" in shown.text()
        assert "SIMULATED" in shown.text()
        await shown.until(lambda: outcome(shown) is Outcome.READY)
        await shown.until(lambda: "√ READY" in shown.text())
        await shown.press("escape")
        await shown.until(lambda: "is ready, after " in shown.text())
        newest = shown.app.startups.newest
        assert newest is not None
        assert newest.followed.is_simulated


async def test_a_failing_start_is_explained_and_its_leftovers_cleaned(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "startup:failed", speed=SPEED) as shown:
        await shown.until(lambda: outcome(shown) is Outcome.FAILED)
        await shown.until(lambda: "× FAILED" in shown.text())
        await shown.press("s")
        assert "CUDA out of memory" in shown.text()
        await shown.until(lambda: "left behind" in shown.text())
        await shown.press("c")
        await shown.until(lambda: isinstance(shown.app.screen, PlanScreen))


async def test_the_training_twin_comes_to_its_first_step(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "startup:training", speed=SPEED) as shown:
        await shown.until(lambda: outcome(shown) is Outcome.STARTING)
        await shown.press("s")
        await shown.until(lambda: outcome(shown) is Outcome.READY)
        await shown.until(lambda: "training steps" in shown.text())


async def test_what_was_cleaned_away_does_not_hide_the_proof(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "startup:ready", speed=SPEED) as shown:
        await shown.until(lambda: outcome(shown) is Outcome.READY)
        await shown.until(lambda: "√ READY" in shown.text())
        shown.clock.go(1.0)
        await shown.opened("c")
        shown.let_read()
        await shown.press("a")
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        await shown.until(lambda: "ZERO, HOLDING" in shown.text() or "ALL CLEAR" in shown.text())
        assert "√ READY" not in shown.text()
