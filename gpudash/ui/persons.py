"""Puts what only a person can say in front of them: a login's question, an unknown host key."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable

from textual.app import App

from gpudash.core.model import Host
from gpudash.services.door import Door
from gpudash.ui.screens.person import ONCE, SAVE, HostKeyScreen, QuestionScreen


class Persons:
    """The screen's end of the door."""

    def __init__(self, app: App[None], door: Door | None) -> None:
        """Without a door nobody is asked anything."""
        self._app = app
        self._door = door

    def attend(self) -> None:
        """Take the questions of logins from now on."""
        if self._door is not None:
            self._door.be_asked(self._ask)

    def reconnect(self, host: Host, again: Callable[[str], None]) -> None:
        """Call `again` for a host, after its person was asked what is to be asked."""
        if self._door is None or not self._door.needs_person(host):
            again(host.name)
        elif (offered := self._door.offered(host)) is not None:
            decided = functools.partial(self._decided, host, again)
            self._app.push_screen(HostKeyScreen(host.name, offered), decided)
        else:
            self._door.invite(host)
            again(host.name)

    def _decided(self, host: Host, again: Callable[[str], None], decision: str | None) -> None:
        """Go on with a host whose key was shown."""
        if self._door is not None and decision in (SAVE, ONCE):
            self._door.accept(host, save=decision == SAVE)
            self._door.invite(host)
            again(host.name)

    async def _ask(self, place: str, prompt: str, is_seen: bool) -> str | None:
        """Show a login's question; it comes from a task of the monitor."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def give(value: str | None) -> None:
            if not answer.done():
                answer.set_result(value)

        screen = QuestionScreen(place, prompt, is_seen=is_seen)
        self._app.call_later(self._app.push_screen, screen, give)
        try:
            return await answer
        finally:
            # A login that timed out, or a host that was left: its question goes too.
            if not answer.done() or answer.cancelled():
                self._app.call_later(screen.withdraw)
