"""Hosts in this process, by asyncssh: for faults that a real sshd can't be told to have."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

import asyncssh

_TOKEN = re.compile(rb'"token": ?"([^"]+)"')
_HELLO = {
    "t": "hello",
    "v": 1,
    "seq": 0,
    "mono": 1.0,
    # It says only one sample, and must not look stale for that.
    "interval": 60.0,
    "source": "nvml",
    "python": "3.11",
    "driver": "580.1",
    "nvml": "13",
    "boot": "boot-1",
    "uid": 0,
    "pidns": 1,
    "roster": [{"index": 0, "uuid": "GPU-1", "name": "NVIDIA H200", "total": 1 << 37}],
}
_SAMPLE = {"t": "sample", "seq": 1, "mono": 2.0, "gpus": [[0, 0, 70000, 30, 345, 0, 0, 0, []]]}

Process = asyncssh.SSHServerProcess[bytes]
Handler = Callable[[Process], Awaitable[None]]


async def token_of(process: Process) -> bytes:
    """Take the probe's text from stdin, as a host would, and return its token."""
    length = int(await process.stdin.readexactly(8))
    text = zlib.decompress(await process.stdin.readexactly(length))
    found = _TOKEN.search(text.replace(b"\\\\", b"").replace(b'\\"', b'"'))
    assert found is not None
    return found[1]


def line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


async def greet(process: Process) -> None:
    """Say token, hello and one sample."""
    process.stdout.write(await token_of(process) + b"\n" + line(_HELLO) + line(_SAMPLE))


async def healthy(process: Process) -> None:
    """A probe that ticks once and stays until its stdin ends."""
    await greet(process)
    while await process.stdin.read(4096):
        pass
    process.exit(0)


class FakeHost:
    """One server; counts what it was asked."""

    def __init__(
        self, handler: Handler = healthy, *, password: str | None = None, code: str | None = None
    ) -> None:
        self.handler = handler
        self.password = password
        self.banner = ""
        self.code = code
        self.challenges = 0
        self.passwords: list[str] = []
        self.logins = 0
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.connections: list[asyncssh.SSHServerConnection] = []
        self._server: asyncssh.SSHAcceptor | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        return self._server.get_port()

    @property
    def known_line(self) -> str:
        public = self.key.export_public_key("openssh").decode().strip()
        return f"[127.0.0.1]:{self.port} {public}\n"

    async def __aenter__(self) -> FakeHost:
        self._server = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=lambda: _Login(self),
            server_host_keys=[self.key],
            process_factory=self._run,
            encoding=None,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.cut()
        self._server.close()
        await self._server.wait_closed()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Lose every connection."""
        connections, self.connections = self.connections, []
        for connection in connections:
            connection.abort()

    async def _run(self, process: Process) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, asyncssh.Error, OSError):
            await self.handler(process)


class _Login(asyncssh.SSHServer):
    def __init__(self, host: FakeHost) -> None:
        self._host = host
        self._is_counted = False

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._host.connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        if self._host.banner:
            self._host.connections[-1].send_auth_banner(self._host.banner)
        needs = self._host.password is not None or self._host.code is not None
        if not needs:
            self._host.logins += 1
        return needs

    def auth_completed(self) -> None:
        if not self._is_counted and (self._host.password or self._host.code):
            self._is_counted = True
            self._host.logins += 1

    def password_auth_supported(self) -> bool:
        return self._host.password is not None

    def validate_password(self, username: str, password: str) -> bool:
        self._host.passwords.append(password)
        return password == self._host.password

    def kbdint_auth_supported(self) -> bool:
        return self._host.code is not None

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        self._host.challenges += 1
        return "", "", "", [("One-time code: ", False)]

    def validate_kbdint_response(self, username: str, responses: list[str]) -> bool:
        return responses == [self._host.code]

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> bool:
        return True
