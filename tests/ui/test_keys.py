"""Keys of one's own on every screen, and the palette that finds all actions by name."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpudash.core.actions import ACTIONS, DASHBOARD
from gpudash.core.keymap import actions_with
from gpudash.core.model import Kin
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII
from gpudash.ui.palette import PaletteScreen
from gpudash.ui.screens.errors import ErrorsScreen
from gpudash.ui.screens.help import HelpScreen
from tests.ui import fleets
from tests.ui.showing import Shown, showing
from tests.ui.test_dashboard import click, place

OWN = {"view.theme": "f2", "host.reconnect": "E", "errors.open": "f4,r", "app.help": "f1"}


async def test_other_keys_do_it_and_the_old_ones_do_not() -> None:
    async with showing(fleets.errors(), 120, 40, actions=actions_with(OWN)) as shown:
        theme = shown.app.theme
        await shown.press("t")
        assert shown.app.theme == theme
        await shown.press("f2")
        assert shown.app.theme != theme
        await shown.press("E")
        assert shown.monitor.said[-1].startswith("reconnect ")
        await shown.press("r")
        assert isinstance(shown.app.screen, ErrorsScreen)
        await shown.press("f4")
        assert not isinstance(shown.app.screen, ErrorsScreen)


async def test_the_screen_names_the_keys_that_count() -> None:
    async with showing(fleets.errors(), 160, 40, actions=actions_with(OWN)) as shown:
        foot = shown.rows()[-1]
        assert "f2 theme" in foot
        assert "f4 errors" in foot
        assert "f1 help" in foot
        assert "t theme" not in foot
        assert " E  try again" in shown.text()
        await click(shown, "E  reconnect")
        assert shown.monitor.said[-1].startswith("reconnect ")
        await shown.press("f1")
        assert isinstance(shown.app.screen, HelpScreen)
        assert "↑ k" in shown.text()
        await shown.press("end")
        await shown.press("f1")
        assert not isinstance(shown.app.screen, HelpScreen)


async def test_the_vim_set_moves() -> None:
    async with showing(fleets.three_hosts(), 120, 60, actions=actions_with({}, "vim")) as shown:
        scene = shown.scene
        await shown.press("J", "ctrl+d")
        assert (scene.focus, scene.cursor) == ("root@gpu-c", 0)
        await shown.press("ctrl+u", "K", "G")
        assert (scene.focus, scene.cursor) == ("root@gpu-c", 7)


async def test_pages_scroll_by_the_same_keys() -> None:
    async with showing(fleets.busy(), 100, 20, actions=actions_with({}, "vim")) as shown:
        await shown.press("question_mark")
        before = shown.text()
        await shown.press("ctrl+d")
        assert shown.text() != before


async def found(shown: Shown, words: str) -> None:
    await shown.press("colon")
    assert isinstance(shown.app.screen, PaletteScreen)
    await shown.press(*words)
    await shown.app.workers.wait_for_complete()
    await shown.pilot.pause()


async def test_the_palette_finds_actions_and_themes() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await found(shown, "nxthst")
        assert "next host  (tab, →, l)  host.next" in shown.text()
        await shown.press("enter")
        await shown.pilot.pause()
        assert shown.scene.focus == "root@gpu-b"
        await found(shown, "gpudash-light")
        await shown.press("enter")
        await shown.pilot.pause()
        assert shown.app.theme == "gpudash-light"
        await shown.press("ctrl+p")
        assert isinstance(shown.app.screen, PaletteScreen)
        await shown.press("escape")
        assert not isinstance(shown.app.screen, PaletteScreen)


async def test_the_palette_offers_only_what_can_be_done() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        titles = [one.title for one in shown.app._commands()]
        offered = [one for one in ACTIONS if DASHBOARD in one.screens and not one.acts]
        assert [one.id for one in offered if not any(one.id in title for title in titles)] == []
        assert not any("cleanup." in title for title in titles)


@pytest.mark.parametrize("size", [(40, 10), (80, 24)])
async def test_the_palette_opens_on_a_small_screen(size: tuple[int, int]) -> None:
    async with showing(fleets.busy(), *size) as shown:
        await found(shown, "theme")
        assert place(shown, "theme")


async def test_text_of_the_palette_is_no_markup() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        command = shown.app._commands()[0]._replace(title="[red]not red", help="[b]")
        shown.app._commands = lambda: (command,)
        await found(shown, "not red")
        assert "[red]not red" in shown.text()


@pytest.mark.parametrize("key", ["question_mark", "e", "colon", "slash"])
async def test_dialogs_are_ascii_where_the_screen_is(key: str) -> None:
    async with showing(fleets.errors(), 100, 30, glyphs=ASCII) as shown:
        await shown.press(key)
        await shown.app.workers.wait_for_complete()
        await shown.pilot.pause()
        # The column of a scrollbar is the terminal's background, in any character.
        for row in shown.rows():
            assert re.sub("[▁-█ ]", "", row).isascii(), row


def test_the_head_of_the_holders_names_the_key_that_counts() -> None:
    (host,) = fleets.busy().hosts
    one = host.processes[0]
    kin = Kin(
        root_pid=one.pid,
        root_start_ticks=one.start_ticks,
        members=frozenset({(one.pid, one.start_ticks)}),
        dead=frozenset(),
        is_leftover=False,
        verb="ask",
        words="1 client",
        evidence="",
    )
    fleet = fleets.lettered(replace(host, kin=(kin,)))
    view = FrameView(fleet=fleet, now_s=fleets.NOW, renamed={"c": "f9"})
    text = "\n".join("".join(part for part, _ in row) for row in frame_rows(view, 120, 40))
    assert "f9 would" in text
    assert "c would" not in text
