"""The hand that launches: checks, the start, and how the command ends.

It is a hand of its own: the one that looks at processes comes and goes with the sampler, and an
exit code is told only by the hand that started the command.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from gpudash.core.errors import ExitCode
from gpudash.core.events import Ack, Exited, Launched, Preflighted
from gpudash.core.launch.checks import Check, Result
from gpudash.core.model import Problem
from gpudash.services.hand import Hand, Heard
from gpudash.sources.base import HostSource, SourceError

log = logging.getLogger(__name__)

CHECK_S = 30.0
"""Beyond the time that the checks' own commands may take."""
LAUNCH_S = 60.0
"""A login shell may take a while to give its environment."""


class Refused(Exception):
    """The host said why it was not done: nothing was started."""


class Launcher:
    """One command on one host."""

    def __init__(self, source: HostSource, ended: Callable[[int | None], None]) -> None:
        """Start nothing yet; `ended` is told the exit code, None where nobody can tell it."""
        self._ended = ended
        self._hand = Hand(source, self._hear, self._lose)
        self._launched: Launched | None = None
        self._early: dict[int, int | None] = {}
        """Ends that were told before anybody knew of the start."""

    def _hear(self, answer: Heard) -> None:
        if not isinstance(answer, Exited):
            return
        if self._launched is None:
            self._early[answer.id] = answer.code
        elif answer.id == self._launched.id:
            self._launched = None
            self._ended(answer.code)

    def _lose(self) -> None:
        """The hand has ended: what was launched goes on, and nobody is told how it ends."""
        self._launched = None

    @property
    def is_watching(self) -> bool:
        """Tell whether the exit code will be told."""
        return self._launched is not None

    async def check(self, checks: tuple[Check, ...]) -> tuple[Result, ...]:
        """Return what the host says of checks. Raises SourceError."""
        if not checks:
            return ()
        limits = [one.arguments.get("timeout_s") for one in checks]
        longest_s = sum(float(limit) for limit in limits if isinstance(limit, int | float))
        rows = {"checks": [one.row for one in checks]}
        try:
            events = await self._hand.ask("preflight", rows, CHECK_S + longest_s)
        except TimeoutError as error:
            raise SourceError(_silent("checks", CHECK_S + longest_s)) from error
        for event in events:
            if isinstance(event, Preflighted) and len(event.results) == len(checks):
                pairs = zip(checks, event.results, strict=True)
                return tuple(Result(check=one, is_ok=ok, said=said) for one, (ok, said) in pairs)
        refused = " ".join(event.error for event in events if isinstance(event, Ack))
        raise SourceError(
            Problem(
                title="not checked",
                sentence=f"The host did not answer the checks. {refused}".strip(),
                exit_code=ExitCode.UNKNOWN,
            )
        )

    async def launch(self, arguments: Mapping[str, object]) -> Launched:
        """Start a command. Raises Refused; SourceError where nobody knows whether it was."""
        try:
            events = await self._hand.ask("launch", arguments, LAUNCH_S)
        except TimeoutError as error:
            raise SourceError(_silent("the launch", LAUNCH_S)) from error
        for event in events:
            if isinstance(event, Launched):
                if event.id in self._early:
                    # After whoever launched it has said so.
                    loop = asyncio.get_running_loop()
                    loop.call_soon(self._ended, self._early.pop(event.id))
                else:
                    self._launched = event
                return event
        raise Refused(" ".join(event.error for event in events if isinstance(event, Ack)))

    async def close(self) -> None:
        """Let go; what was launched goes on."""
        self._launched = None
        await self._hand.close()


def _silent(what: str, patience_s: float) -> Problem:
    return Problem(
        title="no answer", sentence=f"The hand said nothing about {what} within {patience_s:.0f} s."
    )
