"""Consent to a printed plan: what happens to hosts while somebody is asked is read anew after."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gpudash.cli.commands import consenting
from gpudash.cli.commands.consenting import Terms
from gpudash.cli.diagnostics import Progress
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.phases import Phase
from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.services.cleaner import Cleaner
from tests.cleaning.simulated import Fleet, planned

GONE = Problem(
    title="no answer", sentence="The host does not answer.", exit_code=ExitCode.UNREACHABLE
)
GIVEN = Given(is_confirmed=True, covers_alive=True)


@asynccontextmanager
async def asking(folder: Path, scenario: str) -> AsyncIterator[tuple[Cleaner, consenting.Driver]]:
    """Bring the command to where every host of a demo waits for consent."""
    async with planned(Fleet.of(scenario), folder) as begun:
        terms = Terms(given=GIVEN, yes=False, timeout_s=60.0)
        command = consenting.Driver(terms, begun.run, Progress())
        try:
            yield begun.cleaner, command
        finally:
            command.stop_timer()


def asked(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Let somebody say yes, after something happened."""

    async def agreed(_question: str) -> bool:
        meanwhile()
        return True

    monkeypatch.setattr(consenting, "can_ask", lambda: True)
    monkeypatch.setattr(consenting, "agreed", agreed)


async def test_a_host_that_goes_down_while_somebody_is_asked_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with asking(tmp_path, "fleet:7x2") as (cleaner, command):
        asked(monkeypatch, lambda: cleaner.cleanings["node03"]._fail(GONE))
        await command._consent(cleaner)
        assert cleaner.cleanings["node03"].state.phase is Phase.DONE
        assert not cleaner.cleanings["node03"].state.is_sent
        assert cleaner.cleanings["node07"].state.given == GIVEN
        assert not cleaner.waiting
    assert "node03: it went down meanwhile; nobody was signalled" in capsys.readouterr().err


async def test_the_only_host_that_goes_down_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, "leftovers") as (cleaner, command):
        asked(monkeypatch, lambda: cleaner.cleanings["gpu-a"]._fail(GONE))
        await command._consent(cleaner)
        assert cleaner.is_over
        (result,) = cleaner.results()
        assert result.exit_code is ExitCode.UNREACHABLE


async def test_a_plan_that_was_not_shown_is_not_agreed_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(tmp_path, "leftovers") as (cleaner, command):
        one = cleaner.cleanings["gpu-a"]
        plan = one.state.plan
        assert plan is not None

        def other() -> None:
            one.state = replace(one.state, plan=replace(plan, scope=plan.scope[:1]))

        asked(monkeypatch, other)
        await command._consent(cleaner)
        assert one.state.phase is Phase.PLANNED
        assert one.why == "The plan changed."


async def test_consent_that_comes_late_changes_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, "leftovers") as (cleaner, _command):
        one = cleaner.cleanings["gpu-a"]
        one.give_up()
        one.confirm(GIVEN)
        assert one.state.phase is Phase.DONE
        assert one.state.given is None
        assert one.times.confirmed_s is None
