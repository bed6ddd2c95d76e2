"""Keys, clicks and ticks of the running app, over fleets that stand still."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from textual import events
from textual.screen import Screen

from gpudash.core.actions import ACTIONS, DASHBOARD
from gpudash.core.eventlog import event_lines, log_text
from gpudash.core.model import Fleet, GpuState, Link, Problem
from gpudash.ui.paint import hostpane
from gpudash.ui.paint.ansi import Depth
from gpudash.ui.paint.glyphs import ASCII, MONO
from gpudash.ui.paint.view import Density
from gpudash.ui.screens.dashboard import DashboardScreen
from gpudash.ui.screens.errors import ErrorsScreen
from gpudash.ui.screens.help import HelpScreen
from gpudash.ui.widgets.hostpane import HostPane
from tests.ui import fleets
from tests.ui.showing import HandClock, Shown, no_driver, showing


def cursor_rows(shown: Shown) -> list[int]:
    return [y for y, row in enumerate(shown.rows()) if "▌" in row]


def place(shown: Shown, text: str) -> tuple[int, int]:
    """Return column and row where a text begins on the screen."""
    for y, row in enumerate(shown.rows()):
        if text in row:
            return row.index(text), y
    raise AssertionError(f"{text!r} is not on the screen:\n{shown.text()}")


async def click(shown: Shown, text: str) -> None:
    await shown.pilot.click(offset=place(shown, text))
    await shown.pilot.pause()


async def test_every_action_of_the_dashboard_has_a_method() -> None:
    async with showing(fleets.busy()) as shown:
        for action in ACTIONS:
            name = action.action.partition("(")[0]
            if DASHBOARD in action.screens:
                assert hasattr(shown.app, f"action_{name}"), action


async def test_it_paints_first_and_connects_after() -> None:
    async with showing(fleets.busy()) as shown:
        assert "IN USE" in shown.text()
        assert shown.monitor.said == ["start"]
    assert shown.monitor.said == ["start", "stop"]


async def test_the_cursor_walks_over_gpus_and_hosts() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        scene = shown.scene
        await shown.press("down", "j")
        assert (scene.focus, scene.cursor) == ("root@gpu-a", 2)
        await shown.press("up", "k", "k", "k")
        assert (scene.focus, scene.cursor) == ("root@gpu-a", 0)
        await shown.press("tab")
        assert (scene.focus, scene.cursor) == ("root@gpu-b", 0)
        await shown.press("shift+tab", "shift+tab")
        assert (scene.focus, scene.cursor) == ("root@gpu-c", 0)
        await shown.press("G")
        assert (scene.focus, scene.cursor) == ("root@gpu-c", 7)
        await shown.press("home", "pagedown")
        assert (scene.focus, scene.cursor) == ("root@gpu-b", 0)
        assert len(cursor_rows(shown)) == 1


async def test_the_cursor_stays_in_sight() -> None:
    async with showing(fleets.three_hosts(), 120, 24) as shown:
        shown.scene.density = Density.LINE
        for key in ["down"] * 12 + ["end"] + ["up"] * 5 + ["home"]:
            await shown.press(key)
            assert cursor_rows(shown), shown.text()
        assert "root@gpu-a" in shown.rows()[3]


async def test_in_cells_the_cursor_walks_over_hosts_and_scrolls() -> None:
    async with showing(fleets.many(12), 80, 11) as shown:
        for number in range(1, 12):
            await shown.press("down")
            assert shown.scene.focus == f"node{number:02d}"
            (y,) = cursor_rows(shown)
            assert f"node{number:02d}" in shown.rows()[y]
        await shown.press("home")
        assert "one cell is one GPU" in shown.text()
        await click(shown, "node03")
        assert (shown.scene.focus, shown.scene.cursor) == ("node03", 0)


async def test_density_goes_round() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        seen = []
        for _ in range(4):
            seen.append(shown.app.screen.shown_density)
            await shown.press("d")
        assert seen == [Density.CARD, Density.LINE, Density.CELL, Density.CARD]


async def test_pause_reconnect_and_what_the_footer_says() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        assert "p pause" in shown.rows()[-1]
        await shown.press("tab", "p")
        assert "pause root@gpu-b" in shown.monitor.said
        assert "p go on" in shown.rows()[-1]
        await shown.press("tab")
        assert "p pause" in shown.rows()[-1]
        await shown.press("shift+tab", "p", "r")
        assert shown.monitor.said[-2:] == ["resume root@gpu-b", "reconnect root@gpu-b"]


async def test_keys_can_be_clicked() -> None:
    async with showing(fleets.errors(), 120, 40) as shown:
        await click(shown, "r  reconnect")
        assert shown.monitor.said[-1] == "reconnect gpu-d"
        await click(shown, "? help")
        assert isinstance(shown.app.screen, HelpScreen)
        await shown.press("escape")
        await click(shown, "e  errors")
        assert isinstance(shown.app.screen, ErrorsScreen)


async def test_a_click_moves_the_cursor() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        shown.scene.density = Density.LINE
        await shown.after(1)
        await click(shown, "MIG  3 slices")
        assert (shown.scene.focus, shown.scene.cursor) == ("root@gpu-c", 2)
        await click(shown, "root@gpu-b  last seen")
        assert (shown.scene.focus, shown.scene.cursor) == ("root@gpu-b", 0)


async def test_the_wheel_scrolls_hosts_and_shows_them_as_they_are_now() -> None:
    async with showing(fleets.three_hosts(), 120, 24) as shown:
        shown.scene.density = Density.LINE
        await shown.after(1)
        before = shown.text()
        assert "eval.py" not in before
        for _ in range(12):
            x, y = 20, 8
            await shown.pilot._post_mouse_events([events.MouseScrollDown], offset=(x, y), button=0)
        await shown.pilot.pause()
        assert "eval.py" in shown.text()


async def test_help_and_errors_open_and_close() -> None:
    async with showing(fleets.errors(), 120, 40) as shown:
        for key, screen in (("question_mark", HelpScreen), ("e", ErrorsScreen)):
            for close in ("escape", key):
                await shown.press(key)
                assert isinstance(shown.app.screen, screen)
                await shown.press("down", "pagedown", "G", "t", "d", "p")
                assert isinstance(shown.app.screen, screen)
                await shown.press(close)
                assert isinstance(shown.app.screen, DashboardScreen)
        assert not [word for word in shown.monitor.said if word.startswith("pause")]


async def test_under_a_dialog_the_screen_lives_on() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await shown.press("slash")
        assert "12:06:23" in shown.rows()[0]
        await shown.after(61)
        assert "12:07:24" in shown.rows()[0]
        assert "seen 1m 01s" in shown.text()


async def test_errors_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    async with showing(fleets.errors(), 120, 40) as shown:
        await shown.press("e", "y")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        assert shown.app.clipboard.startswith(
            "SIMULATED: gpu-sim is made up\n\nopen problems\n11:16:23  gpu-e  no GPUs found\n"
        )
        assert "nvmlDeviceGetMemoryInfo of GPU 2" in shown.app.clipboard
        assert "OSC 52" in shown.text()


async def test_themes_change_every_colour() -> None:
    async with showing(fleets.three_hosts(), 120, 40) as shown:
        dark = {segment.style.bgcolor.name for segment in _segments(shown)}
        await shown.press("t")
        light = {segment.style.bgcolor.name for segment in _segments(shown)}
        assert shown.app.theme == "gpudash-light"
        assert "#0e1217" in dark
        assert "#0e1217" not in light
        assert "#fbfaf7" in light
        await shown.press("t")
        assert shown.app.theme == "gpudash-dark"


def _segments(shown: Shown) -> list:  # type: ignore[type-arg]
    strips = shown.app.screen._compositor.render_strips()
    return [one for strip in strips for one in strip if one.style and one.style.bgcolor]


@pytest.mark.parametrize("depth", [Depth.NONE, Depth.FEW])
async def test_without_true_colour_only_the_terminals_own_are_used(depth: Depth) -> None:
    async with showing(fleets.three_hosts(), 80, 24, depth=depth, glyphs=MONO) as shown:
        for key in ("question_mark", "escape", "e", "escape", "t"):
            await shown.press(key)
            for strip in shown.app.screen._compositor.render_strips():
                for one in strip:
                    for colour in (one.style.color, one.style.bgcolor) if one.style else ():
                        assert colour is None or colour.is_default or colour.number is not None
                        assert (
                            depth is Depth.FEW
                            or colour is None
                            or colour.name
                            in (
                                "default",
                                "color(8)",
                            )
                        )


async def test_ascii_stays_ascii() -> None:
    async with showing(fleets.three_hosts(), 100, 30, glyphs=ASCII) as shown:
        assert shown.text().isascii()
        shown.scene.density = Density.LINE
        await shown.after(1)
        for row in shown.rows():
            assert row[:-1].isascii()


async def test_only_rows_that_changed_are_drawn_again() -> None:
    fleet = fleets.busy()
    async with showing(fleet, 120, 40) as shown:
        pane = shown.app.query_one(HostPane)
        drawn: list[int] = []
        render = pane.render_line
        pane.render_line = lambda y: (drawn.append(y), render(y))[1]  # type: ignore[method-assign]
        await shown.after(0)
        assert drawn == []
        host = fleet.hosts[0]
        reading = replace(host.gpus[3].reading, utilisation_pct=7)  # type: ignore[type-var]
        gpus = (*host.gpus[:3], replace(host.gpus[3], reading=reading), *host.gpus[4:])
        shown.monitor.become(replace(fleet, hosts=(replace(host, gpus=gpus),)))
        await shown.after(0)
        assert drawn == [8] or drawn == [7]


async def test_hosts_out_of_sight_are_not_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: set[str] = set()
    rows = hostpane.HostPane.rows

    def noted(self: hostpane.HostPane) -> tuple:  # type: ignore[type-arg]
        painted.add(self.view.host.name)
        return rows(self)

    monkeypatch.setattr(hostpane.HostPane, "rows", noted)
    async with showing(fleets.many(), 120, 40) as shown:
        shown.scene.density = Density.LINE
        await shown.after(1)
        await shown.after(1)
        assert painted <= {f"node{n:02d}" for n in range(4)}
        painted.clear()
        await shown.press("end")
        assert "node31" in painted
        assert "node15" not in painted


@pytest.mark.parametrize(("key", "kind"), [("question_mark", HelpScreen), ("e", ErrorsScreen)])
async def test_a_key_that_is_held_opens_one_page(key: str, kind: type[Screen[None]]) -> None:
    async with showing(fleets.busy()) as shown:
        for _ in range(5):
            # As from a burst of keys: the page is not on top yet when the next one comes.
            shown.app.action_help() if kind is HelpScreen else shown.app.action_errors()
        await shown.pilot.pause()
        assert [type(one) for one in shown.app.screen_stack] == [DashboardScreen, kind]
        await shown.press("escape")
        await shown.press(key)
        assert isinstance(shown.app.screen, kind)


async def test_escape_leaves_the_demo_that_the_first_screen_opened() -> None:
    async with showing(no_driver(), 40, 10) as shown:
        assert "d demo" in shown.text()
        await shown.press("escape", "d")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        assert "IN USE" in shown.text()
        await shown.press("escape")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        assert "nothing to watch yet" in shown.text()
        assert shown.monitor.said == ["start", "stop", "start"]


async def test_the_first_screen_opens_the_demo() -> None:
    async with showing(no_driver(), 80, 24) as shown:
        await shown.press("p", "r", "d")
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        assert "root@gpu-a" in shown.text()
        assert shown.monitor.said == ["start", "reconnect local", "stop"]


async def test_keys_without_a_meaning_and_pasted_text_do_nothing() -> None:
    async with showing(fleets.busy()) as shown:
        before = shown.text()
        await shown.press("z", "c", "f1", "ctrl+t", "ctrl+a", "delete")
        shown.app.post_message(events.Paste("qpdt?e\nq"))
        await shown.pilot.pause()
        assert shown.text() == before
        assert shown.app.is_running
        assert shown.monitor.said == ["start"]


@pytest.mark.parametrize(
    "keys", [("q",), ("ctrl+c",), ("e", "ctrl+c"), ("question_mark", "ctrl+c")]
)
async def test_it_leaves_from_everywhere(keys: tuple[str, ...]) -> None:
    async with showing(fleets.busy()) as shown:
        await shown.press(*keys)
        assert not shown.app.is_running
    assert shown.app.return_code == 0
    assert shown.monitor.said[-1] == "stop"


async def test_a_monkey() -> None:
    """1 000 keys and clicks over changing fleets and sizes: the frame stays whole."""
    draw = random.Random(8)
    keys = [key for one in ACTIONS if one.id != "app.quit" for key in one.keys.split(",")]
    keys += ["escape", "enter", "space", "y", "x", "1", "left", "right", "ctrl+a"]
    everything = fleets.many(10)
    async with showing(everything, 100, 30) as shown:
        for _ in range(20):
            width, height = draw.randint(20, 160), draw.randint(6, 50)
            await shown.pilot.resize_terminal(width, height)
            for _ in range(45):
                shown.app.simulate_key(draw.choice(keys))
            await shown.pilot.pause()
            for _ in range(5):
                # The last row has `q quit`.
                at = (draw.randrange(width), draw.randrange(height - 1))
                await shown.pilot.click(offset=at)
            hosts = tuple(
                replace(host, link=draw.choice(list(Link)))
                for host in everything.hosts
                if draw.random() < 0.9
            )
            shown.monitor.become(replace(everything, hosts=hosts or everything.hosts[:1]))
            await shown.after(draw.random() * 100)
            rows = shown.rows()
            assert len(rows) == height
            assert all(len(row) == width for row in rows)
            assert shown.app.is_running


def tricky() -> Fleet:
    """A host whose every text tries to steer the terminal."""
    trick = "\x1b[2J\u202ex"
    gpu = fleets.gpu(0, None, state=GpuState.LOST, name=trick)
    problem = Problem(title=trick, sentence=trick, advice=trick, detail=f"{trick}\n{trick}")
    return Fleet(hosts=(fleets.host(f"a{trick}", (gpu,), problem=problem),))


def test_no_text_of_errors_steers_the_terminal() -> None:
    text = log_text(event_lines(tricky(), (), is_bad_only=False), HandClock().wall)
    assert "[2Jx" in text
    assert all(line.isprintable() for line in text.split("\n"))


def simulated() -> Fleet:
    return Fleet(hosts=tuple(replace(one, is_invented=True) for one in fleets.errors().hosts))


@pytest.mark.parametrize("size", [(40, 10), (120, 40)], ids=str)
async def test_what_is_made_up_is_marked_in_dialogs_and_in_what_is_copied(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    monkeypatch.delenv("TMUX", raising=False)
    async with showing(simulated(), *size) as shown:
        await shown.press("question_mark")
        assert "SIMULATED" in shown.rows()[0 if size[0] == 40 else place(shown, "help ·")[1]]
        await shown.press("escape", "e")
        assert " SIMULATED  events " in shown.rows()[0]
        monkeypatch.setattr(shown.app, "copy_to_clipboard", copied.append)
        await shown.press("y")
        await shown.press("b", "y")
        await shown.app.workers.wait_for_complete()
    assert len(copied) == 2
    assert all(text.startswith("SIMULATED") for text in copied)


async def test_what_is_real_is_not_marked() -> None:
    real = Fleet(hosts=fleets.errors().hosts[:3])
    async with showing(real) as shown:
        await shown.press("e")
        assert "SIMULATED" not in shown.text()


async def test_marks_stay_with_what_they_mark() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        shown.scene.density = Density.LINE
        await shown.press("down", "space")
        (marked,) = [row for row in shown.rows() if "•" in row]
        assert marked.startswith("│▌• 1 ")
        await shown.press("down")
        (marked,) = [row for row in shown.rows() if "•" in row]
        assert marked.startswith("│ • 1 ")
        await shown.press("up", "space")
        assert not shown.scene.marks


async def test_a_marks_everything_and_then_nothing() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        every = sum(len(host.gpus) for host in shown.monitor.fleet.hosts)
        await shown.press("a")
        assert len(shown.scene.marks) == every
        await shown.press("space", "a")
        assert len(shown.scene.marks) == every
        await shown.press("a")
        assert not shown.scene.marks


async def test_in_cells_a_mark_is_on_the_host() -> None:
    async with showing(fleets.many(12), 80, 24) as shown:
        await shown.press("down", "space")
        assert {host for host, _ in shown.scene.marks} == {"node01"}
        assert len(shown.scene.marks) == 8
        (row,) = [row for row in shown.rows() if "•" in row]
        assert row.startswith("│▌•")
        assert "node01" in row
