"""One host over SSH as a source: a connection, and a channel for each program."""

from __future__ import annotations

import asyncio
import contextlib
import json

import asyncssh

from gpudash.core.events import Event, LinkUp
from gpudash.core.remote import login_command, probe_script
from gpudash.core.ssh_settings import SshSettings
from gpudash.core.ways import Way
from gpudash.sources import shipping
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.oneshot import new_token
from gpudash.sources.ssh.connect import Connection, connect
from gpudash.sources.ssh.problems import problem_of
from gpudash.sources.ssh.resolve import Destination
from gpudash.sources.ssh.runner import ChannelRunner
from gpudash.sources.ssh.session import OnClose, Session, SshStream
from gpudash.sources.ssh.space import SshSpace
from gpudash.sources.sudo import NO_HAND

NOT_CHECKED = "host key not checked (StrictHostKeyChecking no)"
OPEN_LIMIT_S = 20.0


class SshSource:
    """One host over SSH."""

    def __init__(self, way: Way, to: Destination, space: SshSpace) -> None:
        self._name = way.name
        self._way = way
        self._to = to
        self._space = space
        self._connection: Connection | None = None
        self._holds = 0
        self._settings: SshSettings | None = None

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        return self._name

    @property
    def is_simulated(self) -> bool:
        """Tell that nothing here is invented."""
        return False

    async def log_in(self, settings: SshSettings, *, is_attended: bool) -> None:
        """Connect; the next sampler finds the way open. Raises SourceError."""
        await self.close()
        self._settings = settings
        self._connection = await connect(
            self._name, settings, self._space, self._to, is_attended=is_attended
        )

    @property
    def is_open(self) -> bool:
        """Tell whether there is a connection."""
        return self._connection is not None and not self._connection.is_closed()

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the sampler on the open connection. Raises SourceError."""
        document = shipping.sampler_payload()
        self.hold()
        try:
            return await self._open(
                document,
                {"interval": interval_s},
                (self.link_up(),),
                self.release,
                by_sudo=self._way.has_sudo,
            )
        except BaseException:
            await self.release()
            raise

    def hold(self) -> None:
        """Keep the connection open until `release`."""
        self._holds += 1

    async def release(self) -> None:
        """End the connection where nobody else holds it."""
        self._holds -= 1
        if self._holds <= 0:
            await self.close()

    def link_up(self) -> LinkUp:
        """Return what is to be seen of the link as long as it lasts."""
        is_checked = self._settings is None or self._settings.checks_host_keys
        return LinkUp(transport="ssh", notes=() if is_checked else (NOT_CHECKED,))

    async def open_hand(self) -> Stream:
        """Start the hand on the same connection. Raises SourceError."""
        by_sudo = self._way.has_hand_sudo
        if self._way.has_sudo and not by_sudo:
            raise SourceError(NO_HAND)
        return await self._open(shipping.hand_payload(), {}, (), None, by_sudo=by_sudo)

    async def _open(
        self,
        document: bytes,
        options: dict[str, object],
        first: tuple[Event, ...],
        on_close: OnClose | None,
        *,
        by_sudo: bool,
    ) -> Stream:
        token = new_token()
        session = Session(token)
        line = json.dumps({"token": token, **options}).encode()
        command = login_command(self._script(by_sudo=by_sudo))
        try:
            async with asyncio.timeout(OPEN_LIMIT_S):
                channel, _ = await self._connected().create_session(
                    lambda: session, command, encoding=None
                )
        except (asyncssh.Error, OSError, TimeoutError) as error:
            raise SourceError(problem_of(error, self._name, self._name)) from error
        # A program that is not there has ended by now; the stream reads that and says why.
        with contextlib.suppress(BrokenPipeError):
            channel.write(shipping.with_options(document, line))
        return SshStream(channel, session, self._name, first, on_close)

    def _script(self, *, by_sudo: bool) -> str:
        return probe_script(shipping.COMMAND, self._way.python, has_sudo=by_sudo)

    def _connected(self) -> Connection:
        if self._connection is None:
            raise ConnectionResetError("not connected")
        return self._connection

    def runner(self, program: str) -> ChannelRunner:
        """Return what runs nvidia-smi over the same connection."""
        return ChannelRunner(program, self._connected)

    async def close(self) -> None:
        """End the connection."""
        connection, self._connection = self._connection, None
        self._holds = 0
        if connection is not None:
            connection.abort()
