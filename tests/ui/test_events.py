"""`e`: the event log, key by key; alerts as toasts and by the bell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from gpudash.core.alert_levels import Bounds
from gpudash.core.model import Fleet, Happening, Link
from gpudash.services.reloading import Loaded
from gpudash.ui.alarming import AlertWays
from gpudash.ui.reloading import Live
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.screens.errors import ErrorsScreen
from gpudash.ui.voice import Voice, voiced
from tests.config.making import configuration
from tests.ui import fleets
from tests.ui.showing import Shown, showing
from tests.ui.test_dashboard import click

NEWS = tuple(
    Happening(
        at_s=fleets.NOW - at,
        host="root@gpu-a",
        words=f"{'Lost' if at % 10 == 0 else 'gone'} number {at}",
        tone="bad" if at % 10 == 0 else "",
    )
    for at in range(60)
)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def eventful() -> Fleet:
    return replace(fleets.three_hosts(), happenings=NEWS)


def page(shown: Shown) -> ErrorsScreen:
    screen = shown.app.screen
    assert isinstance(screen, ErrorsScreen)
    return screen


def toasts(shown: Shown) -> list[tuple[str, str]]:
    return [(one.title, one.message) for one in shown.app._notifications]


async def done(shown: Shown) -> None:
    await shown.app.workers.wait_for_complete()
    await shown.pilot.pause()


async def test_it_opens_closes_and_scrolls() -> None:
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e")
        assert "open problems" in shown.rows()[1]
        await shown.press("down", "j")
        assert page(shown).page.top == 2
        await shown.press("up", "k", "pagedown")
        assert page(shown).page.top == 21
        await shown.press("G")
        assert "gone number 59" in shown.rows()[-2]
        await shown.press("g")
        assert page(shown).page.top == 0
        await shown.pilot._post_mouse_events([events.MouseScrollDown], offset=(9, 9), button=0)
        await shown.pilot.pause()
        assert page(shown).page.top == 3
        for close in ("escape", "e", "enter"):
            await shown.press(close)
            assert isinstance(shown.app.screen, DashboardScreen)
            await shown.press("e")
            page(shown)


async def test_search_goes_from_place_to_place_and_round() -> None:
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e", "slash", *"Number")
        assert "/Number_" in shown.rows()[0]
        await shown.press("enter")
        assert "/Number  nowhere" in shown.rows()[0]
        await shown.press("slash", *"lost n", "enter")
        assert "/lost n  6 times" in shown.rows()[0]
        first = page(shown).page
        assert first.here is not None
        assert first.lines[first.here].words == "Lost number 0"

        def words() -> str:
            now = page(shown).page
            assert now.here is not None
            return now.lines[now.here].words

        await shown.press("n", "n")
        assert words() == "Lost number 20"
        await shown.press("N", "N", "N")
        assert words() == "Lost number 50"
        assert "Lost number 50" in shown.text()
        await shown.press("escape")
        assert page(shown).page.words == ""
        await shown.press("escape")
        assert isinstance(shown.app.screen, DashboardScreen)


async def test_while_words_are_typed_letters_are_letters() -> None:
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e", "slash", *"qbxe[red]", "backspace")
        assert "/qbxe[red_" in shown.rows()[0]
        await shown.press("escape")
        assert page(shown).page.words == ""
        assert not page(shown).page.is_bad_only


async def test_bad_only_and_everything_again() -> None:
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e", "b", "G")
        assert " bad only " in shown.rows()[0]
        assert "6 events" in shown.rows()[0]
        assert "gone number" not in shown.text()
        await shown.press("b")
        assert "60 events" in shown.rows()[0]


async def test_what_is_listed_is_copied_and_saved(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "gpudash" / "exports"
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e", "b", "y", "x", "x")
        await done(shown)
        text = shown.app.clipboard
        assert text.startswith("open problems\n")
        assert "Lost number 50" in text
        assert "gone number" not in text
        files = sorted(folder.glob("*.txt"))
        assert [path.read_text() for path in files] == [text + "\n"] * 2
        said = [message for _, message in toasts(shown)]
        assert set(said[1:]) == {f"saved to {path}" for path in files}


async def test_keys_can_be_clicked_and_the_theme_changes() -> None:
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e")
        await click(shown, "b bad only")
        assert page(shown).page.is_bad_only
        theme = shown.app.theme
        await shown.press("t")
        assert shown.app.theme != theme
        await click(shown, "esc back")
        assert isinstance(shown.app.screen, DashboardScreen)


async def test_the_reader_stays_where_they_read() -> None:
    async with showing(eventful(), 100, 24) as shown:
        await shown.press("e", "slash", *"number 31", "enter", "down", "down")
        before = shown.rows()[2]
        assert "number" in before
        new = tuple(replace(NEWS[0], at_s=fleets.NOW + at) for at in range(7))
        shown.monitor.become(replace(eventful(), happenings=(*new, *NEWS)))
        await shown.after(1)
        assert shown.rows()[2] == before
        now = page(shown).page
        assert now.here is not None
        assert now.lines[now.here].words == "gone number 31"
        await shown.press("g")
        shown.monitor.become(replace(eventful(), happenings=(*new, *NEWS)))
        await shown.after(1)
        assert page(shown).page.top == 0


async def test_what_is_made_up_is_marked() -> None:
    made_up = replace(
        eventful(), hosts=tuple(replace(one, is_invented=True) for one in eventful().hosts)
    )
    async with showing(made_up, 40, 10) as shown:
        await shown.press("e")
        assert "SIMULATED" in shown.rows()[0]
        await shown.press("G")
        assert "number 59" in shown.text()
        await shown.press("y")
        await done(shown)
        assert shown.app.clipboard.startswith("SIMULATED: every host here is made up\n")


async def test_long_lines_go_on_below_and_nothing_is_cut() -> None:
    words = " ".join(f"word{at}" for at in range(40))
    fleet = replace(fleets.busy(), happenings=(replace(NEWS[0], words=words),))
    async with showing(fleet, 40, 10) as shown:
        await shown.press("e")
        seen: list[str] = []
        for _ in range(60):
            seen += shown.text().split()
            await shown.press("down")
        assert set(words.split()) <= set(seen)


# -- alerts ------------------------------------------------------------------------------------


def hot(count: int = 1, *, is_invented: bool = False) -> Fleet:
    gpus = tuple(fleets.gpu(at, temp=95 if at < count else 40) for at in range(8))
    return Fleet(hosts=(replace(fleets.host("gpu-a", gpus), is_invented=is_invented),))


def listening(shown: Shown) -> list[str]:
    """Return what the terminal is told from now on."""
    heard: list[str] = []
    shown.app.bell = lambda: heard.append("bell")
    shown.app._voice = Voice()
    shown.app._voice.write = heard.append
    return heard


async def test_several_alerts_are_one_toast_and_one_bell() -> None:
    async with showing(hot(8), 120, 40) as shown:
        heard = listening(shown)
        await shown.after(4)
        assert (toasts(shown), heard) == ([], [])
        await shown.after(1)
        ((title, message),) = toasts(shown)
        assert title == "8 alerts"
        assert message.startswith("GPU 0  95°C, the bound is 90°C\n")
        assert message.endswith("and 3 more: e lists them")
        assert heard == ["bell"]
        await shown.after(1)
        assert len(toasts(shown)) == 1
        assert " 8 alerts " in shown.rows()[0]
        assert "GPU 7  95°C, the bound is 90°C" in [
            one.words for one in shown.monitor.fleet.happenings
        ]
        await shown.press("e")
        assert "8 alerts" in shown.rows()[0]
        assert "GPU 0  95°C, the bound is 90°C, for 1 s" in shown.text()


async def test_on_a_small_screen_the_banner_stays_in_sight() -> None:
    for count in (1, 8):
        async with showing(hot(count), 40, 10) as shown:
            listening(shown)
            before = shown.rows()[:2]
            await shown.after(5)
            assert len(toasts(shown)) == 1
            assert shown.rows()[0] == before[0]
            assert "alert" in shown.text()


async def test_what_is_over_leaves_the_count_and_stays_in_the_log() -> None:
    async with showing(hot(1), 120, 40) as shown:
        listening(shown)
        await shown.after(5)
        assert " 1 alert " in shown.rows()[0]
        shown.monitor.become(replace(hot(0), happenings=shown.monitor.fleet.happenings))
        await shown.after(1)
        await shown.after(30)
        assert "alert" not in shown.rows()[0]
        assert len(toasts(shown)) == 1
        await shown.press("e")
        assert "no alert is raised" in shown.text()
        assert "GPU 0  is cool enough again, after 31 s" in shown.text()


async def test_a_simulated_host_rings_no_bell_and_its_toast_is_marked() -> None:
    async with showing(hot(1, is_invented=True), 120, 40) as shown:
        heard = listening(shown)
        shown.app.use_alerts(AlertWays(has_osc9=True))
        await shown.after(5)
        assert toasts(shown)[0][0] == "alert · SIMULATED"
        assert heard == []


async def test_the_desktop_is_told_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with showing(hot(1), 120, 40) as shown:
        heard = listening(shown)
        shown.app.use_alerts(AlertWays(has_bell=False, has_osc9=True))
        await shown.after(5)
        assert heard == ["\x1b]9;gpudash: gpu-a  GPU 0  95°C, the bound is 90°C\x07"]
    monkeypatch.setenv("TMUX", "/tmp/tmux,1,0")
    async with showing(hot(1), 120, 40) as shown:
        heard = listening(shown)
        shown.app.use_alerts(AlertWays(has_osc9=True))
        await shown.after(5)
        assert heard[0] == "bell"
        assert heard[1].startswith("\x1bPtmux;\x1b\x1b]9;")


async def test_text_of_an_alert_is_no_markup() -> None:
    fleet = hot(1)
    fleet = replace(fleet, hosts=(replace(fleet.hosts[0], name="[red]a[/]"), fleets.host("b", ())))
    async with showing(fleet, 120, 40) as shown:
        listening(shown)
        await shown.after(5)
        assert "[red]a[/]  GPU 0  95°C" in shown.text()


async def test_a_lost_host_is_told_once() -> None:
    async with showing(hot(0), 120, 40) as shown:
        heard = listening(shown)
        lost = replace(hot(0).hosts[0], link=Link.STALE)
        shown.monitor.become(replace(hot(0), hosts=(lost,)))
        # Nothing came from it: it is a listener that tells of changes.
        shown.app._alarm.look_again()
        await shown.after(0)
        for _ in range(20):
            await shown.after(1)
        assert [message for _, message in toasts(shown)] == ["does not answer any more"]
        assert heard == ["bell"]


async def test_other_bounds_count_at_once(tmp_path: Path) -> None:
    async with showing(hot(1), 120, 40) as shown:
        listening(shown)
        shown.app.live = Live(config=configuration(tmp_path), environ={})
        await shown.after(5)
        assert " 1 alert " in shown.rows()[0]
        text = "[alerts]\ntemperature = false\nbell = false\n"
        shown.app.take_files(Loaded(configuration(tmp_path, user=text)))
        assert shown.app.alert_ways == AlertWays(bounds=Bounds(temperature_c=None), has_bell=False)
        await shown.after(1)
        assert " alert " not in shown.rows()[0]
        assert ("configuration", "alerts.temperature = false\nalerts.bell = false") in toasts(shown)


async def test_another_fleet_has_alerts_of_its_own() -> None:
    async with showing(hot(1), 120, 40) as shown:
        listening(shown)
        await shown.after(5)
        before = shown.monitor
        await shown.app._watch(type(before)(fleets.idle(), shown.clock))
        await shown.pilot.pause()
        assert " alert " not in shown.rows()[0]
        assert before.listeners == []


def test_a_voice_speaks_through_the_driver_that_is_made() -> None:
    written: list[str] = []

    class Base:
        def __init__(self, app: object) -> None:
            self.app = app

        def write(self, data: str) -> None:
            written.append(data)

    voice = Voice()
    voice.say("lost: there is no driver yet")
    voiced(Base, voice)("app")  # type: ignore[arg-type]
    voice.say("heard")
    assert written == ["heard"]
