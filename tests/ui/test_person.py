"""Dialogs of a login: what is asked is answered there, and an unknown host key decided on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gpudash.core.hostkeys import OfferedKey, Trust
from gpudash.core.model import Fleet, Host, Link, Problem
from gpudash.services.door import Door
from gpudash.sources.logins import Logins
from gpudash.ui.screens import person
from tests.ui import fleets
from tests.ui.showing import Shown, showing

OFFERED = OfferedKey(
    host="gpu-a",
    trust=Trust.UNKNOWN,
    fingerprint="SHA256:3vT0k9Qw",
    algorithm="ssh-ed25519",
    public="ssh-ed25519 AAAA",
    file="~/.ssh/known_hosts",
)


def waiting(gate: str = "") -> Fleet:
    problem = Problem(
        title="needs you", sentence="ana@gpu-a asks for a code.", needs_person=True, gate=gate
    )
    host = Host(name="gpu-a", link=Link.DOWN, link_since_s=fleets.NOW, problem=problem, retry=1)
    return Fleet(hosts=(host,))


async def ask(shown: Shown, logins: Logins, prompt: str, is_seen: bool) -> asyncio.Task[str | None]:
    """Ask as a login does: from a task that knows nothing of the screen."""
    assert logins.ask is not None
    task = asyncio.ensure_future(logins.ask("ana@gpu-a", prompt, is_seen))
    await shown.pilot.pause()
    await shown.pilot.pause()
    return task


async def test_r_lets_the_login_ask() -> None:
    logins = Logins()
    async with showing(waiting(), door=Door(logins)) as shown:
        assert "needs you" in shown.text()
        await shown.press("r")
        assert shown.monitor.said == ["start", "reconnect gpu-a"]
        assert logins.take_invitation("gpu-a")
        assert not logins.take_invitation("gpu-a")


@pytest.mark.parametrize("is_seen", [False, True])
async def test_an_answer(is_seen: bool) -> None:
    logins = Logins()
    async with showing(waiting(), door=Door(logins)) as shown:
        task = await ask(shown, logins, "One-time code: ", is_seen)
        assert "One-time code:" in shown.text()
        await shown.press(*"4711")
        assert ("4711" in shown.text()) is is_seen
        await shown.press("enter")
        assert await task == "4711"
        assert "One-time code:" not in shown.text()


async def test_no_answer() -> None:
    logins = Logins()
    async with showing(waiting(), door=Door(logins)) as shown:
        task = await ask(shown, logins, "Password: ", False)
        await shown.press("q", "escape")
        assert await task is None
        assert "Password:" not in shown.text()


async def test_a_question_that_nobody_waits_for_goes() -> None:
    logins = Logins()
    async with showing(waiting(), door=Door(logins)) as shown:
        task = await ask(shown, logins, "Password: ", False)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await shown.pilot.pause()
        assert "Password:" not in shown.text()


async def test_outside_text_is_only_text() -> None:
    logins = Logins()
    async with showing(waiting(), door=Door(logins)) as shown:
        task = await ask(shown, logins, "[bold]\x1b[2J[/bold] \u202epassword: ", False)
        assert "[bold]" in shown.text()
        assert "\u202e" not in shown.text()
        await shown.press("escape")
        assert await task is None


@pytest.mark.parametrize(
    ("key", "is_accepted", "is_saved"),
    [("y", True, True), ("o", True, False), ("n", False, False), ("escape", False, False)],
)
@pytest.mark.parametrize("gate", ["", "other,jump"])
async def test_an_unknown_host_key(
    key: str, is_accepted: bool, is_saved: bool, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person, "GUARD_S", 3600.0)
    logins = Logins()
    logins.offered["jump" if gate else "gpu-a"] = OFFERED
    async with showing(waiting(gate), door=Door(logins)) as shown:
        await shown.press("r")
        for words in ("SHA256:3vT0k9Qw", "ssh-ed25519", "~/.ssh/known_hosts"):
            assert words in shown.text()
        assert shown.monitor.said == ["start"]
        screen = shown.app.screen
        assert isinstance(screen, person.HostKeyScreen)
        # A key that was meant for what stood there before decides nothing.
        await shown.press("y", "o")
        assert shown.app.screen is screen
        screen.arm()
        await shown.press(key)
        assert logins.is_accepted(OFFERED) is is_accepted
        assert (OFFERED in logins.saved) is is_saved
        assert ("reconnect gpu-a" in shown.monitor.said) is is_accepted
        assert "SHA256" not in shown.text()


async def test_those_behind_one_gate_are_one_pane() -> None:
    (first,) = waiting("jump").hosts
    others = tuple(replace(first, name=f"node{number:02}") for number in range(59))
    apart = replace(waiting().hosts[0], name="apart")
    async with showing(Fleet(hosts=(first, *others, apart)), door=Door(Logins())) as shown:
        panes = [row for row in shown.rows() if row.startswith("╭─ × ")]
        assert [row.split()[2] for row in panes] == ["gpu-a", "apart"]
        assert "and 59 others behind jump" in panes[0]
        assert "61 hosts" in shown.text()
        await shown.press("tab")
        assert shown.scene.focus == "apart"
        await shown.press("tab")
        assert shown.scene.focus == "gpu-a"
