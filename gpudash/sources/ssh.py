"""Hosts over SSH, by asyncssh: one connection a host, one channel a program, shared jumps.

Everything that the user's configuration says of a host comes from `ssh -G` and is given to
asyncssh explicitly; asyncssh's own parser stays off, for one odd line of a configuration would
cost it every host. Handshakes are few at a time: an sshd drops what comes in a crowd.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from gpudash.core.events import Event, LinkUp
from gpudash.core.model import Problem
from gpudash.core.remote import login_command, probe_script
from gpudash.core.ssh_settings import SshSettings, expand_tokens
from gpudash.core.wire import LineDecoder, encode_command, ending
from gpudash.sources import shipping
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.host_keys import OfferedKey, Trust, judge_key, read_known, remember_key
from gpudash.sources.oneshot import new_token
from gpudash.sources.ssh_login import Logins
from gpudash.sources.ssh_problems import key_problem, problem_of
from gpudash.sources.ssh_resolve import resolve

HANDSHAKES = 4
"""In flight in all: 8 cost 0.4 s of loop lag, and sshd drops a sixth of 128 at 16 (MaxStartups)."""
CONNECT_LIMIT_S = 20.0
LOGIN_LIMIT_S = 30.0
ALIVE_INTERVAL_S = 5.0
ALIVE_COUNT = 2
STDERR_TAIL = 8192


@dataclass(slots=True)
class SshSpace:
    """What all hosts of one run share."""

    logins: Logins = field(default_factory=Logins)
    accepted: dict[str, str] = field(default_factory=dict)
    """Host name to the key line that the user accepted for this run."""
    offered: dict[str, OfferedKey] = field(default_factory=dict)
    """Host name to the key that waits for a decision."""
    handshakes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(HANDSHAKES))
    jumps: dict[str, asyncio.Task[asyncssh.SSHClientConnection]] = field(default_factory=dict)
    known: dict[tuple[str, ...], asyncssh.SSHKnownHosts] = field(default_factory=dict)

    def known_hosts(self, files: tuple[str, ...]) -> asyncssh.SSHKnownHosts:
        """Return the parsed known_hosts files; read once, again after a key was saved."""
        if files not in self.known:
            self.known[files] = asyncssh.import_known_hosts(read_known(files))
        return self.known[files]

    def accept(self, host: str, *, save: bool) -> str:
        """Trust the key that waits: for this run, or by writing it down. Raises KeyError, OSError."""
        offered = self.offered.pop(host)
        self.accepted[host] = offered.line
        if not save:
            return ""
        path = remember_key(offered.line, ())
        self.known.clear()
        return str(path)


class _Client(asyncssh.SSHClient):
    """Decides on keys and answers prompts of one connection."""

    def __init__(self, host: str, settings: SshSettings, space: SshSpace) -> None:
        self._host = host
        self._settings = settings
        self._space = space
        self.offered: OfferedKey | None = None
        self._passwords = 0

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        files = (*self._settings.user_known_hosts, *self._settings.global_known_hosts)
        offered = judge_key(self._space.known_hosts(files), host, addr, port, key)
        if offered.trust in (Trust.TRUSTED,):
            return True
        if offered.trust is Trust.UNKNOWN:
            if self._space.accepted.get(self._host) == offered.line:
                return True
            if self._settings.strict_host_keys == "accept-new":
                remember_key(offered.line, self._settings.user_known_hosts)
                self._space.known.clear()
                return True
        if not self._settings.checks_host_keys and offered.trust is not Trust.REVOKED:
            return True
        self.offered = offered
        return False

    async def _ask(self, prompt: str, *, is_seen: bool = False) -> str | None:
        return await self._space.logins.answer(self._host, prompt, is_seen=is_seen)

    async def password_auth_requested(self) -> str | None:  # type: ignore[override]
        if self._passwords:
            self._space.logins.forget(self._host)
            return None
        self._passwords += 1
        user = self._settings.user
        return await self._ask(f"{user}@{self._settings.hostname}'s password: ")

    async def kbdint_auth_requested(self) -> str | None:  # type: ignore[override]
        return "" if self._space.logins.ask is not None else None

    async def kbdint_challenge_received(  # type: ignore[override]
        self, name: str, instructions: str, lang: str, prompts: list[tuple[str, bool]]
    ) -> list[str] | None:
        answers = []
        for prompt, is_seen in prompts:
            given = await self._ask(prompt, is_seen=is_seen)
            if given is None:
                return None
            answers.append(given)
        return answers


class SshSource:
    """One host over SSH."""

    def __init__(
        self,
        name: str,
        destination: str,
        space: SshSpace,
        *,
        options: tuple[str, ...] = (),
        python: str = "",
    ) -> None:
        """`destination` and `options` are what the user would give ssh."""
        self._name = name
        self._destination = destination
        self._options = options
        self._space = space
        self._python = python
        self._connection: asyncssh.SSHClientConnection | None = None

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        return self._name

    async def open_sampler(self, interval_s: float) -> Stream:
        """Log in where needed and start the sampler. Raises SourceError."""
        await self._close_connection()
        settings = await resolve(self._destination, self._options)
        self._connection = await connect(self._name, settings, self._space)
        notes = () if settings.checks_host_keys else (NOT_CHECKED,)
        first = [LinkUp(transport="ssh", notes=notes)]
        document = shipping.sampler_payload()
        return await self._open(document, {"interval": interval_s}, first, self._close_connection)

    async def open_hand(self) -> Stream:
        """Start the hand on the same connection. Raises SourceError."""
        return await self._open(shipping.hand_payload(), {}, [], None)

    async def _open(
        self,
        document: bytes,
        options: dict[str, object],
        first: list[LinkUp],
        on_close: Callable[[], object] | None,
    ) -> Stream:
        connection = self._connection
        if connection is None:
            raise SourceError(problem_of(ConnectionResetError(), self._name, self._destination))
        token = new_token()
        line = json.dumps({"token": token, **options}).encode()
        command = login_command(probe_script(shipping.COMMAND, self._python))
        try:
            channel, session = await connection.create_session(
                lambda: _Session(token, first), command, encoding=None
            )
        except (asyncssh.Error, OSError) as error:
            await self._close_connection()
            raise SourceError(problem_of(error, self._name, self._destination)) from error
        channel.write(shipping.with_options(document, line))
        return SshStream(channel, session, self._name, on_close)

    async def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()


NOT_CHECKED = "host key not checked: StrictHostKeyChecking no in the ssh configuration"


class _Session(asyncssh.SSHClientSession[bytes]):
    """Bytes of one program, by callbacks: 30 % cheaper than asyncssh's streams."""

    def __init__(self, token: str, first: list[LinkUp]) -> None:
        self.decoder = LineDecoder(token)
        self.events: list[Event] = list(first)
        self.wake = asyncio.Event()
        self.has_ended = False
        self.exit_status: int | None = None
        self.errors = b""
        self.lost: Exception | None = None
        if first:
            self.wake.set()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if datatype is not None:
            self.errors = (self.errors + data)[-STDERR_TAIL:]
            return
        self.events += self.decoder.feed(data)
        if self.decoder.is_hopeless:
            self.has_ended = True
        self.wake.set()

    def exit_status_received(self, status: int) -> None:
        self.exit_status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.exit_status = {"KILL": 137, "TERM": 143, "HUP": 129}.get(signal, 128)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc
        self.has_ended = True
        self.wake.set()


class SshStream:
    """One program on a host as a stream of events."""

    def __init__(
        self,
        channel: asyncssh.SSHClientChannel[bytes],
        session: _Session,
        host: str,
        on_close: Callable[[], object] | None,
    ) -> None:
        self._channel = channel
        self._session = session
        self._host = host
        self._on_close = on_close

    async def read(self) -> list[Event]:
        """Wait for the next events. Raises SourceError once the program or the link ended."""
        session = self._session
        while not session.events:
            if session.has_ended:
                raise SourceError(self._ending())
            await session.wake.wait()
            session.wake.clear()
        events, session.events = session.events, []
        return events

    def _ending(self) -> Problem:
        session = self._session
        words = session.errors.decode("utf-8", "replace").strip()
        if session.lost is not None:
            return problem_of(session.lost, self._host, self._host)
        if session.decoder.is_hopeless:
            title, sentence = "garbage", "The host sends text without end before the probe starts."
            advice = "Is a command in its shell's start-up files talking?"
        else:
            status = session.exit_status
            title, sentence, advice = ending(255 if status is None else status)
        return Problem(title=title, sentence=sentence, advice=advice, detail=words[-2000:])

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Send one command; a link that has gone away ignores it."""
        if not self._session.has_ended:
            self._channel.write(encode_command(command_id, do, **arguments))

    async def close(self) -> None:
        """End the program by closing its stdin, and the connection where it was the last."""
        self._session.has_ended = True
        self._session.wake.set()
        self._channel.abort()
        if self._on_close is not None:
            done = self._on_close()
            if asyncio.iscoroutine(done):
                await done


async def connect(
    host: str, settings: SshSettings, space: SshSpace
) -> asyncssh.SSHClientConnection:
    """Log in to a host, through its jump hosts. Raises SourceError."""
    tunnel = await _through_jumps(settings, space) if settings.proxy_jump else None
    client = _Client(host, settings, space)
    where = f"{settings.hostname}:{settings.port}" if settings.port != 22 else settings.hostname
    try:
        async with space.handshakes:
            # One loop turn between two handshakes: their key exchange is pure CPU.
            await asyncio.sleep(0)
            async with asyncio.timeout(CONNECT_LIMIT_S + LOGIN_LIMIT_S):
                return await asyncssh.connect(
                    settings.hostname,
                    settings.port,
                    tunnel=tunnel or (),
                    client_factory=lambda: client,
                    options=_options(host, settings, space),
                )
    except (asyncssh.Error, OSError, TimeoutError, ValueError) as error:
        if client.offered is not None:
            space.offered[host] = client.offered
            raise SourceError(key_problem(client.offered, host, settings.hostname)) from error
        raise SourceError(problem_of(error, host, where)) from error


async def _through_jumps(settings: SshSettings, space: SshSpace) -> asyncssh.SSHClientConnection:
    """Return the connection to the last jump host; each is one connection for all behind it."""
    chain = settings.proxy_jump
    task = space.jumps.get(chain)
    if task is None or (task.done() and _is_dead(task)):
        task = space.jumps[chain] = asyncio.create_task(_jump(chain, space), name=f"jump {chain}")
    try:
        return await asyncio.shield(task)
    except SourceError:
        if space.jumps.get(chain) is task:
            del space.jumps[chain]
        raise


def _is_dead(task: asyncio.Task[asyncssh.SSHClientConnection]) -> bool:
    if task.cancelled() or task.exception() is not None:
        return True
    return task.result().is_closed()


async def _jump(chain: str, space: SshSpace) -> asyncssh.SSHClientConnection:
    before, _, last = chain.rpartition(",")
    user, _, place = last.rpartition("@")
    name, port = _split_port(place)
    options = (*(("-l", user) if user else ()), *(("-p", port) if port else ()))
    settings = await resolve(name, options)
    if before:
        from dataclasses import replace

        settings = replace(settings, proxy_jump=before)
    return await connect(last, settings, space)


def _split_port(place: str) -> tuple[str, str]:
    if place.startswith("["):
        name, _, rest = place[1:].partition("]")
        return name, rest.removeprefix(":")
    name, _, port = place.partition(":")
    return name, port


def _options(
    host: str, settings: SshSettings, space: SshSpace
) -> asyncssh.SSHClientConnectionOptions:
    files = (*settings.user_known_hosts, *settings.global_known_hosts)
    chosen: dict[str, object] = {
        "config": None,
        "username": settings.user,
        "known_hosts": space.known_hosts(files),
        "connect_timeout": settings.connect_timeout_s or CONNECT_LIMIT_S,
        "login_timeout": LOGIN_LIMIT_S,
        "keepalive_interval": settings.alive_interval_s or ALIVE_INTERVAL_S,
        "keepalive_count_max": settings.alive_count or ALIVE_COUNT,
        "agent_forwarding": False,
        "password_auth": settings.has_password,
        "kbdint_auth": settings.has_interactive,
    }
    if settings.host_key_alias:
        chosen["host_key_alias"] = settings.host_key_alias
    if settings.proxy_command:
        chosen["proxy_command"] = expand_tokens(settings.proxy_command, settings, host)
    chosen |= _identities(settings)
    chosen |= _algorithms(settings)
    return asyncssh.SSHClientConnectionOptions(**chosen)  # type: ignore[arg-type]


def _identities(settings: SshSettings) -> dict[str, object]:
    """Return keys, certificates and agent; a file that is not there is no error, as with ssh."""
    keys = _existing(settings.identity_files)
    found: dict[str, object] = {"client_keys": keys or None, "ignore_encrypted": True}
    certificates = _existing(settings.certificate_files)
    if certificates:
        found["client_certs"] = certificates
    agent = settings.identity_agent
    if agent.lower() == "none":
        found["agent_path"] = None
    elif agent and agent != "SSH_AUTH_SOCK":
        found["agent_path"] = str(Path(agent).expanduser())
    if settings.identities_only and keys:
        found["agent_identities"] = keys
    return found


def _existing(names: tuple[str, ...]) -> list[str]:
    paths = [Path(name).expanduser() for name in names]
    return [str(path) for path in paths if path.is_file()]


def _algorithms(settings: SshSettings) -> dict[str, object]:
    """Return the algorithms that both the user's ssh and asyncssh know; the fastest cipher first."""
    known = {
        "encryption_algs": (settings.ciphers, asyncssh.encryption.get_encryption_algs()),
        "mac_algs": (settings.macs, asyncssh.mac.get_mac_algs()),
        "kex_algs": (settings.key_exchanges, asyncssh.kex.get_kex_algs()),
    }
    chosen: dict[str, object] = {}
    for option, (wanted, there) in known.items():
        names = {name.decode() for name in there}
        common = [name for name in wanted if name in names]
        if common:
            chosen[option] = common
    return chosen
