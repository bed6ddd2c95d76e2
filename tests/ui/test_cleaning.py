"""Cleaning from the dashboard: nothing typed ahead or pasted signals anybody, a plan is kept to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events

from gpudash.core.cleanup.phases import Phase
from gpudash.core.errors import ExitCode
from gpudash.core.model import Happening, Link, Problem
from gpudash.ui.keystrokes import Keystrokes
from tests.ui.cleaning import Cleaned, cleaned
from tests.ui.test_screens import check_golden

RANKS = {48213, 48214, 48215, 48217, 48218, 48219, 48377}


def ordered_pids(shown: Cleaned) -> set[int]:
    return {
        member[0]
        for order in shown.orders
        for family in order["families"]
        for member in family["members"]
    }


# -- what was not meant --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["cy", "ccyy", "C y", "aC y", "cd /data/city\n", "yyyyy\n"])
async def test_keys_typed_ahead_signal_nobody(tmp_path: Path, text: str) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.burst(text)
        await shown.settled()
        assert shown.orders == []
        if shown.is_planning:
            # Also not later, when the plan could be read: what was dropped stays dropped.
            await shown.until(lambda: shown.plan._painted_s is not None)
            shown.let_read()
            await shown.settled()
            assert shown.is_planning
        assert shown.orders == []


@pytest.mark.parametrize("text", ["cd /data/city\n", "y", "yyyy\n", "by\n"])
async def test_a_burst_into_the_plan_is_a_paste(tmp_path: Path, text: str) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.let_read()
        if len(text) > 1:
            await shown.burst(text)
            await shown.settled()
        shown.app.post_message(events.Paste(text))
        await shown.settled()
        assert shown.orders == []
        assert shown.is_planning
        assert not shown.plan.view.toggled


@pytest.mark.parametrize("key", ["c", "C", "enter", "space", "Y", "exclamation_mark"])
async def test_no_other_key_confirms(tmp_path: Path, key: str) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.let_read()
        await shown.press(key)
        await shown.settled()
        assert shown.orders == []
        assert shown.is_planning


async def test_a_click_confirms_nothing(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.let_read()
        rows = shown.rows()
        y = next(number for number, row in enumerate(rows) if " y  stop A" in row)
        await shown.pilot.click(offset=(rows[y].index(" y  stop A") + 1, y))
        await shown.settled()
        assert shown.orders == []
        x = rows[y].index("stop B too")
        await shown.pilot.click(offset=(x, y))
        await shown.settled()
        assert "y  stop A and B" in shown.text()
        x = next(row for row in shown.rows() if "esc  cancel" in row).index("esc  cancel")
        await shown.pilot.click(offset=(x, y))
        await shown.settled()
        assert not shown.is_planning
        assert shown.orders == []


def test_a_key_is_meant_only_after_quiet() -> None:
    keys = Keystrokes()
    keys.note(10.0)
    assert keys.is_after_quiet
    assert keys.is_meant_for(9.6)
    assert not keys.is_meant_for(9.7)
    assert not keys.is_meant_for(None)
    keys.note(10.1)
    assert not keys.is_meant_for(0.0)
    keys.note(10.26)
    assert keys.is_meant_for(0.0)
    # One that was pressed earlier and comes later is no proof of quiet.
    keys.note(9.0)
    assert not keys.is_meant_for(0.0)


# -- what was meant ------------------------------------------------------------------------------


async def test_y_ends_what_needs_no_consent_and_nobody_else(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        assert ordered_pids(shown) == RANKS
        assert not shown.is_planning
        await shown.until(lambda: shown.phase() is Phase.DONE)
        (machine,) = shown.machines
        left = set(machine.tasks(1e6))
        assert not RANKS & left
        assert {31877, 31941, 22310, 1604, 1611, 1702, 40118} <= left
        # The host is let go of: it ticks as all others do, and its record has its last line.
        await shown.until(lambda: shown.app._monitor._watches["gpu-a"].interval_s is None)
        round_ = shown.app._cleanups._round
        assert round_ is not None
        await shown.until(lambda: round_.run.has_ended)
        await shown.until(lambda: "cleaned in" in shown.text())
        assert "7 processes ended, 2 of them forced" in shown.text()


async def test_a_letter_adds_a_family_that_must_be_asked_for(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        plan = await shown.opened("c")
        shown.let_read()
        await shown.press("b")
        await shown.until(lambda: bool(plan.view.toggled))
        assert "y  stop A and B" in shown.text()
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        assert ordered_pids(shown) == {*RANKS, 31877, 31941}


async def test_a_letter_leaves_a_family_out(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        plan = await shown.opened("c")
        for key, wanted in (("a", 1), ("b", 2)):
            shown.let_read()
            await shown.press(key)
            await shown.until(lambda wanted=wanted: len(plan.view.toggled) == wanted)
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        assert ordered_pids(shown) == {31877, 31941}


async def test_with_nothing_to_stop_y_is_nobody(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "busy") as shown:
        await shown.opened("c")
        assert " y  stop" not in shown.text()
        shown.let_read()
        await shown.press("y")
        await shown.settled()
        assert shown.orders == []
        assert shown.is_planning
        await shown.press("escape")
        assert not shown.is_planning


async def test_rows_that_swap_behind_the_plan_change_nobody_in_it(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        plan = await shown.opened("c")
        before = [family.id for family in plan.view.plans[0].families]
        fleet = shown.app._monitor.fleet
        host = fleet.hosts[0]
        swapped = replace(host, kin=tuple(reversed(host.kin)), gpus=tuple(reversed(host.gpus)))
        shown.app._monitor.fleet = replace(fleet, hosts=(swapped,))
        shown.app.repaint()
        await shown.pilot.pause()
        assert [family.id for family in plan.view.plans[0].families] == before
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        assert ordered_pids(shown) == RANKS


async def test_an_old_plan_asks_again(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.clock.ahead_s += 31.0
        await shown.press("y")
        await shown.until(lambda: shown.is_planning and "s old" in shown.text())
        assert shown.orders == []
        await shown.until(lambda: shown.plan._painted_s is not None)
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        assert ordered_pids(shown) == RANKS


async def test_escape_cancels_and_marks_end(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.press("space", "down", "space")
        assert "c clean GPUs 0–1 of gpu-a" in shown.rows()[-1]
        await shown.opened("c")
        assert "Clean GPUs 0–1 of gpu-a" in shown.text()
        await shown.press("escape")
        assert not shown.is_planning
        assert not shown.app._scene.marks
        assert shown.orders == []
        assert "c clean gpu-a" in shown.rows()[-1]


async def test_nothing_marked_says_so(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.press("C")
        assert not shown.is_planning
        assert "nothing is marked" in shown.text()


async def test_force_and_escape_while_it_runs(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.press("exclamation_mark")
        assert shown.orders == []
        await shown.opened("c")
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: shown.phase() is Phase.TERMINATING)
        shown.app.repaint()
        await shown.pilot.pause()
        assert "CLEANING" in shown.text()
        await shown.press("exclamation_mark")
        await shown.until(lambda: len(shown.orders) == 2)
        steps = [family["steps"] for family in shown.orders[1]["families"]]
        assert [[step["send"] for step in one] for one in steps] == [["KILL"]]
        assert shown.orders[0]["run"] == shown.orders[1]["run"]
        await shown.until(lambda: shown.phase() is Phase.DONE)


async def test_escape_ends_nobody_more(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: shown.phase() is Phase.TERMINATING)
        await shown.press("escape")
        await shown.until(lambda: shown.phase() is Phase.DONE)
        (machine,) = shown.machines
        # These two did not end when they were asked, and nobody forced them.
        assert {48217, 48377} <= set(machine.tasks(1e6))


# -- one key ------------------------------------------------------------------------------------


async def test_one_key_only_after_a_first_cleanup_and_for_leftovers_alone(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.press("space")
        await shown.opened("c")
        assert shown.orders == []
        await shown.press("escape")
        shown.app._cleanups._cleaned.add("gpu-a")
        shown.clock.ahead_s += 1.0
        # All of the host has somebody alive on it: the plan shows.
        await shown.opened("c")
        await shown.settled()
        assert shown.orders == []


async def test_one_key_is_enough_where_all_are_leftovers_of_ones_own(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2") as shown:
        name = "node07"
        shown.app._scene.focus = name
        await shown.until(lambda: bool(shown.app._monitor.fleet.host(name).kin))
        await shown.opened("c")
        await shown.settled()
        # The first one there: look at it.
        assert shown.orders == []
        shown.let_read()
        await shown.press("escape")
        shown.app._cleanups.remember(frozenset({name}))
        shown.clock.ahead_s += 1.0
        await shown.press("c")
        await shown.until(lambda: bool(shown.orders))
        assert len(ordered_pids(shown)) == 2


async def test_one_key_with_others_after_it_is_none(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2") as shown:
        name = "node07"
        shown.app._scene.focus = name
        await shown.until(lambda: bool(shown.app._monitor.fleet.host(name).kin))
        shown.app._cleanups.remember(frozenset({name}))
        for text in ("cd /data/city\n", "xc"):
            shown.clock.ahead_s += 1.0
            await shown.burst(text)
            await shown.until(lambda: shown.is_planning and bool(shown.plan.view.plans))
            await shown.settled()
            assert shown.orders == []
            await shown.press("escape")


async def test_always_asks(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2", confirms_always=True) as shown:
        name = "node07"
        shown.app._scene.focus = name
        await shown.until(lambda: bool(shown.app._monitor.fleet.host(name).kin))
        shown.app._cleanups.remember(frozenset({name}))
        shown.clock.ahead_s += 1.0
        await shown.opened("c")
        await shown.settled()
        assert shown.orders == []


# -- read-only ----------------------------------------------------------------------------------


async def test_readonly_has_none_of_it(tmp_path: Path) -> None:
    async with cleaned(tmp_path, is_readonly=True) as shown:
        for key in ("c", "C", "exclamation_mark", "y"):
            await shown.press(key)
            await shown.settled()
            assert not shown.is_planning
        text = shown.text()
        assert "clean" not in text.replace("NOT CLEAR", "")
        await shown.press("question_mark")
        assert "clean" not in shown.text().lower().replace("cleaning", "")
        assert shown.orders == []


async def test_a_read_only_host_is_left(tmp_path: Path) -> None:
    async with cleaned(tmp_path, readonly=frozenset({"gpu-a"})) as shown:
        await shown.press("c")
        assert not shown.is_planning
        assert "gpu-a is read-only" in shown.text()
        assert shown.orders == []


async def test_many_hosts_are_one_dialog_and_each_has_its_own_order(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2", (120, 60)) as shown:
        await shown.press("a")
        plan = await shown.opened("C")
        assert len(plan.view.plans) == 7
        assert "Clean 7 hosts" in shown.text()
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        left = {machine.name: machine.deeds.orders for machine in shown.machines}
        assert [name for name, orders in left.items() if orders] == ["node07"]
        assert not shown.app._scene.marks
        await shown.until(lambda: shown.phase("node01") is Phase.DONE)


# -- as text ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40)], ids=str)
async def test_the_plan_as_text(tmp_path: Path, size: tuple[int, int]) -> None:
    async with cleaned(tmp_path, size=size) as shown:
        plan = await shown.opened("c")
        rows = ["".join(text for text, _ in row) for row in plan._rows.rows]
        assert len({len(row) for row in rows}) == 1
        check_golden(f"plan-{size[0]}x{size[1]}", "\n".join(row.rstrip() for row in rows))


# -- a host that can't be reached, and what changes under a key ------------------------------------

GONE = Problem(
    title="no answer", sentence="The host does not answer.", exit_code=ExitCode.UNREACHABLE
)


def take_down(shown: Cleaned, name: str) -> None:
    """Let a host that is being looked at be lost."""
    round_ = shown.app._cleanups._round
    assert round_ is not None
    round_.cleanings[name]._fail(GONE)


async def test_a_host_that_is_out_of_reach_holds_up_nobody(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2", (120, 60)) as shown:
        await shown.press("a", "C")
        take_down(shown, "node03")
        await shown.until(lambda: shown.is_planning and shown.plan._painted_s is not None)
        assert len(shown.plan.view.plans) == 6
        text = shown.text()
        assert "The host does not answer. Nobody is signalled there" in text
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))
        left = {machine.name: machine.deeds.orders for machine in shown.machines}
        assert [name for name, orders in left.items() if orders] == ["node07"]
        assert shown.phase("node03") is Phase.DONE
        happened = shown.app._monitor.fleet.happenings
        told = [one.words for one in happened if one.host == "node03"]
        assert "left out of the cleanup, nobody was signalled: no answer" in told


async def test_a_host_that_was_down_before_is_not_waited_for(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2", (120, 60)) as shown:
        monitor = shown.app._monitor
        # Its next reading would bring it back.
        task = monitor._watches["node03"].task
        assert task is not None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        host = replace(monitor.fleet.host("node03"), link=Link.DOWN, problem=GONE)
        hosts = tuple(host if one.name == "node03" else one for one in monitor.fleet.hosts)
        monitor.fleet = replace(monitor.fleet, hosts=hosts)
        await shown.opened("a", "C")
        assert "Nobody is signalled there" in shown.text()


async def test_a_host_that_goes_down_under_the_plan_is_read_again(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2", (120, 60)) as shown:
        await shown.press("a")
        plan = await shown.opened("C")
        shown.let_read()
        plan._consider("y")
        take_down(shown, "node03")
        await shown.settled()
        assert shown.orders == []
        assert shown.is_planning
        await shown.until(lambda: plan._painted_s is not None)
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: bool(shown.orders))


async def test_a_host_that_went_down_before_the_agreement_came_is_left(tmp_path: Path) -> None:
    async with cleaned(tmp_path, "fleet:7x2", (120, 60)) as shown:
        await shown.press("a")
        plan = await shown.opened("C")
        round_ = shown.app._cleanups._round
        assert round_ is not None
        seen = plan.view
        round_.cleanings["node07"]._fail(GONE)
        shown.app._cleanups._agree(seen.plans, seen.toggled)
        await shown.settled()
        assert shown.orders == []
        assert shown.phase("node07") is Phase.DONE


async def test_y_means_what_was_on_the_screen_when_it_was_pressed(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        plan = await shown.opened("c")
        shown.let_read()
        plan._consider("y")
        # A click is no key: it comes after the press and before what the press does.
        plan._turn("b")
        assert "y  stop A and B" in shown.text() or plan.view.toggled
        await shown.until(lambda: bool(shown.orders))
        assert ordered_pids(shown) == RANKS


@pytest.mark.parametrize("key", ["y", "b"])
async def test_a_key_for_a_plan_that_is_gone_does_nothing(tmp_path: Path, key: str) -> None:
    async with cleaned(tmp_path) as shown:
        plan = await shown.opened("c")
        shown.let_read()
        plan._consider(key)
        round_ = shown.app._cleanups._round
        assert round_ is not None
        one = round_.cleanings["gpu-a"]
        assert one.state.plan is not None
        other = replace(one.state.plan, scope=one.state.plan.scope[:1])
        one.state = replace(one.state, plan=other)
        shown.app._cleanups._heard()
        # As if it had been read by now: the key was pressed before.
        plan._painted_s = 0.0
        await shown.settled()
        assert shown.orders == []
        assert shown.is_planning
        assert not plan.view.toggled


# -- the mouse, and what was -----------------------------------------------------------------------


async def test_the_wheel_scrolls_and_decides_nothing(tmp_path: Path) -> None:
    async with cleaned(tmp_path, size=(80, 24)) as shown:
        plan = await shown.opened("c")
        shown.let_read()
        await shown.press("d")
        await shown.until(lambda: not plan._folds())
        before = shown.text()
        at = (40, 12)
        await shown.pilot._post_mouse_events([events.MouseScrollDown], offset=at, times=1)
        await shown.pilot.pause()
        assert plan._top > 0
        assert shown.text() != before
        await shown.pilot._post_mouse_events([events.MouseScrollUp], offset=at, times=3)
        await shown.pilot.pause()
        assert plan._top == 0
        assert shown.text() == before
        assert shown.orders == []
        assert shown.is_planning


async def test_a_gpu_at_zero_says_what_it_was_until_it_is_used(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        await shown.opened("c")
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: shown.phase() is Phase.DONE)
        await shown.until(lambda: "was A sglang" in shown.text())
        assert "was free" in shown.text()
        formers = shown.app._cleanups._formers
        words = {one.words for one in formers.values()}
        assert words == {"was A sglang", "was free"}
        # GPUs 5 and 6 are still in use: nothing is said of the time before.
        assert len(formers) == 6
        fleet = shown.app._monitor.fleet
        (host,) = fleet.hosts
        gpu = host.gpus[0]
        assert gpu.reading is not None
        busy = replace(gpu, reading=replace(gpu.reading, used_bytes=1 << 30))
        used = replace(fleet, hosts=(replace(host, gpus=(busy, *host.gpus[1:])),))
        assert len(shown.app._cleanups.formers(used)) == 5
        # At zero again it was somebody else's, and this knows not whose.
        assert len(shown.app._cleanups.formers(fleet)) == 5


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40)])
async def test_work_on_gpus_that_nobody_chose_is_told_at_every_size(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with cleaned(tmp_path, "leftovers", size) as shown:
        await shown.press("space")
        await shown.opened("c")
        told = "+6 GPUs" if size[0] < 72 else "+1–2, 4–7"
        assert told in shown.text()
        shown.let_read()
        await shown.press("a")
        await shown.settled()
        shown.let_read()
        await shown.press("y")
        await shown.until(lambda: any("cleaned in" in one.words for one in happenings(shown)))
        (said,) = [one.words for one in happenings(shown) if "cleaned in" in one.words]
        assert said.endswith(" freed on GPU 0, and its work on GPU 1–2, 4–7 ended")


def happenings(shown: Cleaned) -> tuple[Happening, ...]:
    return shown.app._monitor.fleet.happenings
