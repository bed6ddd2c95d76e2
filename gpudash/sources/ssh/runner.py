"""nvidia-smi over a connection that is open: each call is a channel, and looks like a child."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import asyncssh

from gpudash.core.remote import login_command, marked_script
from gpudash.sources.smi_child import Runner, Running
from gpudash.sources.smi_output import Reader

LINK_LOST = 255


class ChannelRunner(Runner):
    """Starts nvidia-smi on a host."""

    def __init__(self, program: str, connected: Callable[[], asyncssh.SSHClientConnection]) -> None:
        """`connected` returns the connection. It raises OSError where there is none."""
        super().__init__(program)
        self._connected = connected

    @property
    def is_elsewhere(self) -> bool:
        """A login shell stands between."""
        return True

    async def _start(self, what: tuple[str, ...] | str, mark: str, *, has_stderr: bool) -> Running:
        command = login_command(what if isinstance(what, str) else marked_script(what, mark))
        try:
            connection = self._connected()
            process = await connection.create_process(
                command,
                encoding=None,
                stdin=asyncssh.DEVNULL,
                stderr=asyncssh.PIPE if has_stderr else asyncssh.DEVNULL,
            )
        except asyncssh.Error as error:
            raise OSError(str(error)) from error
        return ChannelChild(process, connection, has_stderr=has_stderr)


class ChannelChild:
    """A program at the end of a channel."""

    def __init__(
        self,
        process: asyncssh.SSHClientProcess[bytes],
        connection: asyncssh.SSHClientConnection,
        *,
        has_stderr: bool,
    ) -> None:
        self._process = process
        self._connection = connection
        self._has_ended = False
        self.stdout: Reader = _ChannelReader(process.stdout)
        self.stderr: Reader | None = _ChannelReader(process.stderr) if has_stderr else None

    @property
    def returncode(self) -> int | None:
        """How it ended; a channel that closed without a word is a lost link."""
        if not self._has_ended and not self._connection.is_closed():
            return None
        code = self._process.returncode
        return LINK_LOST if code is None else code

    async def wait(self) -> int:
        """Wait until the channel is closed."""
        await self._process.wait_closed()
        self._has_ended = True
        return self.returncode or 0

    def terminate(self) -> None:
        """Send SIGTERM; sshd passes it on to the whole session."""
        with contextlib.suppress(OSError):
            self._process.terminate()

    def kill(self) -> None:
        """Close the channel: what still writes there ends by SIGPIPE."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.close()


class _ChannelReader:
    def __init__(self, reader: asyncssh.SSHReader[bytes]) -> None:
        self._reader = reader

    async def read(self, n: int = -1) -> bytes:
        try:
            return await self._reader.read(n)
        except (asyncssh.Error, OSError):
            return b""
