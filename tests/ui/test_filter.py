"""The filter's prompt and the order of hosts, by keys, as a user sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual import events

from gpudash.core.arranging import PATIENCE_S, Sort
from gpudash.core.model import Link
from gpudash.ui.paint.glyphs import ASCII
from gpudash.ui.paint.view import Density
from gpudash.ui.screens.filter import FilterScreen
from tests.ui import fleets
from tests.ui.showing import Shown, showing

NAMES = {
    " ": "space",
    "=": "equals_sign",
    "%": "percent_sign",
    ">": "greater_than_sign",
    "*": "asterisk",
    '"': "quotation_mark",
    "-": "minus",
}


async def typed(shown: Shown, text: str) -> None:
    await shown.press("slash", *(NAMES.get(char, char) for char in text))


def hosts_on(shown: Shown) -> list[str]:
    text = shown.text()
    found = [
        (text.index(f"{name}  "), name)
        for name in ("gpu-a", "gpu-b", "gpu-c")
        if f"● root@{name}" in text or f"… root@{name}" in text or f"× root@{name}" in text
    ]
    return [name for _, name in sorted(found)]


async def test_what_is_typed_shows_at_once_what_it_finds() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        banner = shown.rows()[1:3]
        await typed(shown, "vllm")
        assert isinstance(shown.app.screen, FilterScreen)
        assert hosts_on(shown) == ["gpu-a", "gpu-c"]
        assert shown.rows()[-2].rstrip() == " /vllm"
        assert shown.rows()[-1].startswith(" 2 of 3 hosts match")
        assert "1 of 8 GPUs shown" in shown.text()
        assert shown.rows()[1:3] == banner
        await shown.press("enter")
        assert not isinstance(shown.app.screen, FilterScreen)
        assert hosts_on(shown) == ["gpu-a", "gpu-c"]
        assert "/vllm 2 of 3 hosts" in shown.rows()[0]
        assert shown.rows()[-1].startswith(" esc show all")
        await shown.press("escape")
        assert hosts_on(shown) == ["gpu-a", "gpu-b", "gpu-c"]
        assert "/vllm" not in shown.text()


async def test_escape_in_the_prompt_goes_back_to_what_was_there() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await typed(shown, "vllm")
        await shown.press("enter")
        await typed(shown, " gpu=0")
        assert hosts_on(shown) == ["gpu-c"]
        await shown.press("escape")
        assert hosts_on(shown) == ["gpu-a", "gpu-c"]
        assert shown.scene.filter == "vllm"


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40)])
async def test_a_mistake_is_said_under_its_place(size: tuple[int, int]) -> None:
    async with showing(fleets.three_hosts(), *size) as shown:
        await typed(shown, "gpu=1 usr=me")
        line, hint = shown.rows()[-2:]
        if size[0] > 40:
            assert line.index("usr") == hint.index("^^^")
        assert "no field usr; did you mean user?"[:30] in hint
        await shown.press("enter")
        assert isinstance(shown.app.screen, FilterScreen)
        assert not shown.scene.arrangement.is_filtered


async def test_nothing_found_says_so_and_how_to_go_on() -> None:
    async with showing(fleets.many(32), 120, 40) as shown:
        await typed(shown, "abc")
        await shown.press("enter")
        assert '0 of 32 hosts match "abc"   esc shows all' in shown.text()
        assert "32 hosts" in shown.rows()[0]
        for key in ("down", "space", "a", "c", "p", "r", "d", "v"):
            await shown.press(key)
        assert not shown.scene.marks
        await shown.press("escape")
        assert "node00" in shown.text()
        assert "abc" not in shown.text()
        assert shown.scene.focus


async def test_of_a_single_host_gpus_are_counted() -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        await typed(shown, "user=ana")
        await shown.press("enter")
        assert "/user=ana 1 of 8 GPUs" in shown.rows()[0]
        assert (shown.scene.focus, shown.scene.cursor) == ("root@gpu-a", 5)
        await shown.press("down", "end", "home")
        assert shown.scene.cursor == 5


async def test_what_a_filter_hides_is_not_marked_and_marks_of_it_are_counted() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        scene = shown.scene
        await shown.press("space", "down", "space")
        await typed(shown, "gpu=1")
        await shown.press("enter", "a")
        assert len(scene.marks) == 4
        assert scene.marked(shown.monitor.fleet).words.endswith("of 3 hosts, 1 of them hidden")
        await shown.press("a")
        assert len(scene.marks) == 1


async def test_an_action_is_about_what_is_shown_of_a_host() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        scene = shown.scene
        assert scene.target(shown.monitor.fleet).words == "root@gpu-a"
        await typed(shown, "vllm")
        await shown.press("enter")
        target = scene.target(shown.monitor.fleet)
        assert target.words == "GPU 6 of root@gpu-a"
        assert target.scope is not None


@pytest.mark.parametrize("text", ["cCyq!", "user=me", "vllm gpu=6"])
async def test_keys_that_come_at_once_are_text_and_nothing_else(text: str) -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        for char in f"/{text}":
            name = {"/": "slash", "!": "exclamation_mark"}.get(char, NAMES.get(char, char))
            key = events.Key(name, char)
            key.set_sender(shown.app)
            shown.app.post_message(key)
        await shown.pilot.pause()
        await shown.pilot.pause()
        assert isinstance(shown.app.screen, FilterScreen)
        assert shown.rows()[-2].rstrip() == f" /{text}"
        assert shown.monitor.said == ["start"]


async def test_a_paste_is_text() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await shown.press("slash")
        shown.app.post_message(events.Paste("q\nuser=me"))
        await shown.pilot.pause()
        assert isinstance(shown.app.screen, FilterScreen)


async def test_sorting_goes_round_and_says_so() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await shown.press("o")
        assert hosts_on(shown) == ["gpu-b", "gpu-c", "gpu-a"]
        assert "by trouble" in shown.rows()[0]
        await shown.press("down", "o")
        assert shown.scene.sort is Sort.NAME
        assert hosts_on(shown) == ["gpu-a", "gpu-b", "gpu-c"]
        await shown.press("o", "o", "o")
        assert shown.scene.sort is Sort.GIVEN
        assert "by " not in shown.rows()[0].replace("by 1.0", "")


async def test_nothing_moves_within_five_seconds_of_a_key() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await shown.press("o")
        fleet = shown.monitor.fleet
        first = replace(fleet.hosts[0], link=Link.STALE)
        healed = replace(fleet.hosts[1], link=Link.LIVE, received_s=fleets.NOW)
        shown.monitor.become(replace(fleet, hosts=(first, healed, fleet.hosts[2])))
        await shown.after(PATIENCE_S - 1)
        assert hosts_on(shown) == ["gpu-b", "gpu-c", "gpu-a"]
        await shown.after(2)
        await shown.after(0)
        assert hosts_on(shown) == ["gpu-a", "gpu-c", "gpu-b"]


@pytest.mark.parametrize("density", list(Density))
@pytest.mark.parametrize("size", [(40, 10), (80, 24), (200, 60)])
async def test_every_density_and_size_holds(density: Density, size: tuple[int, int]) -> None:
    async with showing(fleets.three_hosts(), *size, glyphs=ASCII) as shown:
        shown.scene.density = density
        await typed(shown, "vllm or ana")
        assert shown.text().isascii()
        await shown.press("enter", *["down"] * 12, "o", "home")
        assert len(shown.rows()) == size[1]
        assert shown.text().isascii()


async def test_n_walks_over_what_is_wrong() -> None:
    async with showing(fleets.three_hosts(), 120, 24) as shown:
        seen = []
        for _ in range(4):
            await shown.press("n")
            seen.append((shown.scene.focus, shown.scene.cursor))
            assert "▌" in shown.text()
        assert seen == [
            ("root@gpu-b", 0),
            ("root@gpu-c", 5),
            ("root@gpu-c", 7),
            ("root@gpu-b", 0),
        ]
    async with showing(fleets.idle()) as shown:
        await shown.press("n")
        assert [one.message for one in shown.app._notifications] == [
            "nothing is wrong on what is shown"
        ]
