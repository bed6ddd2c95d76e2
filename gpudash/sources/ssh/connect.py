"""Logs in to a host, through its jump hosts; few at a time, for an sshd drops what comes in crowds.

A jump host is reached once for all hosts behind it. One that needs a person is not tried again
until somebody is there; all who wait for it are told the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import asyncssh

from gpudash.core.model import Problem
from gpudash.core.names import printable_lines
from gpudash.core.ssh_settings import SshSettings, expand_tokens
from gpudash.sources.base import SourceError
from gpudash.sources.expired import expiry
from gpudash.sources.ssh.client import Client
from gpudash.sources.ssh.known import Known
from gpudash.sources.ssh.problems import key_problem, person_problem, problem_of
from gpudash.sources.ssh.resolve import Destination, resolve
from gpudash.sources.ssh.space import Jump, SshSpace
from gpudash.sources.ssh.tcp import connected

CONNECT_LIMIT_S = 20.0
LOGIN_LIMIT_S = 30.0
PERSON_LIMIT_S = 300.0
"""A login during which somebody types."""
ALIVE_INTERVAL_S = 5.0
ALIVE_COUNT = 2

Connection = asyncssh.SSHClientConnection


async def connect(
    host: str, settings: SshSettings, space: SshSpace, to: Destination, *, is_attended: bool = False
) -> Connection:
    """Log in; `host` is its name as typed. Raises SourceError."""
    if not is_attended and space.logins.asks_once(settings.place):
        raise SourceError(person_problem(settings.place, host, "a code that is good once"))
    tunnel = None
    if settings.proxy_jump:
        tunnel = await _through_jumps(settings, space, to, is_attended=is_attended)
    client = Client(settings, space, space.known(settings), is_attended=is_attended)
    slots = space.person if is_attended else space.handshakes
    limit_s = settings.connect_timeout_s or CONNECT_LIMIT_S
    options = _options(host, settings, space, is_attended=is_attended)
    try:
        if tunnel is not None or settings.proxy_command:
            async with slots:
                return await _handshake(settings, client, options, tunnel=tunnel or ())
        async with connected(settings, slots, limit_s) as sock:
            return await _handshake(settings, client, options, sock=sock)
    except (asyncssh.Error, OSError, TimeoutError, ValueError) as error:
        raise SourceError(_problem(error, client, host, settings, space)) from error


async def _handshake(
    settings: SshSettings,
    client: Client,
    options: asyncssh.SSHClientConnectionOptions,
    **through: Any,
) -> Connection:
    # One loop turn between two handshakes: their key exchange is pure CPU.
    await asyncio.sleep(0)
    limit_s = PERSON_LIMIT_S if client.is_attended else CONNECT_LIMIT_S + LOGIN_LIMIT_S
    async with asyncio.timeout(limit_s):
        return await asyncssh.connect(
            settings.hostname,
            settings.port,
            client_factory=lambda: client,
            options=options,
            **through,
        )


def _problem(
    error: Exception, client: Client, host: str, settings: SshSettings, space: SshSpace
) -> Problem:
    if client.refused is not None:
        problem = key_problem(client.refused, host)
        if problem.title == "host key unknown":
            space.logins.offered[host] = client.refused
        return problem
    is_ended = isinstance(error, asyncssh.DisconnectError | asyncssh.ConnectionLost)
    if is_ended and (expired := expiry(printable_lines(client.banner))) is not None:
        return expired
    if isinstance(error, asyncssh.PermissionDenied) and client.wanted:
        return person_problem(settings.place, host, client.wanted)
    return problem_of(error, host, settings.place.rpartition("@")[2])


# -- jump hosts --------------------------------------------------------------------------------


async def _through_jumps(
    settings: SshSettings, space: SshSpace, to: Destination, *, is_attended: bool
) -> Connection:
    """Return the connection to the last jump host; it is one for all who go through it."""
    key = (settings.proxy_jump, *to.configuration)
    while True:
        jump = space.jumps.get(key)
        if jump is None or jump.is_dead or (is_attended and jump.has_failed):
            reach = _jump(settings.proxy_jump, space, to, is_attended=is_attended)
            task = asyncio.create_task(reach, name=f"jump {settings.proxy_jump}")
            task.add_done_callback(_seen)
            jump = space.jumps[key] = Jump(task, is_attended)
        try:
            return await asyncio.shield(jump.task)
        except SourceError as error:
            # One that needs a person stays here: whoever comes by itself is told the same.
            if not error.problem.needs_person and space.jumps.get(key) is jump:
                del space.jumps[key]
            if error.problem.needs_person and is_attended and not jump.is_attended:
                continue
            gate = error.problem.gate or settings.proxy_jump
            raise SourceError(replace(error.problem, gate=gate)) from error


def _seen(task: asyncio.Task[Connection]) -> None:
    """Take the failure of an attempt that nobody waits for any more."""
    if not task.cancelled():
        task.exception()


async def _jump(chain: str, space: SshSpace, to: Destination, *, is_attended: bool) -> Connection:
    before, _, last = chain.rpartition(",")
    there = to.of_jump(last)
    settings = await resolve(there)
    if before:
        settings = replace(settings, proxy_jump=before)
    return await connect(last, settings, space, there, is_attended=is_attended)


# -- what asyncssh is told ---------------------------------------------------------------------


def _options(
    host: str, settings: SshSettings, space: SshSpace, *, is_attended: bool
) -> asyncssh.SSHClientConnectionOptions:
    known = space.known(settings)
    chosen: dict[str, object] = {
        "config": None,
        "username": settings.user,
        "known_hosts": (list(known.trusted), list(known.authorities), list(known.revoked)),
        "connect_timeout": settings.connect_timeout_s or CONNECT_LIMIT_S,
        "login_timeout": PERSON_LIMIT_S if is_attended else LOGIN_LIMIT_S,
        "keepalive_interval": settings.alive_interval_s or ALIVE_INTERVAL_S,
        "keepalive_count_max": settings.alive_count if settings.alive_interval_s else ALIVE_COUNT,
        "agent_forwarding": False,
        # Keys come from the client, by our order; asyncssh would fall back to files of its own.
        "client_keys": None,
        "public_key_auth": settings.has_public_key,
        "password_auth": settings.has_password,
        "kbdint_auth": settings.has_interactive,
        "gss_host": None,
        **_algorithms(settings, known),
    }
    if settings.preferred_methods:
        chosen["preferred_auth"] = list(settings.preferred_methods)
    if settings.host_key_alias:
        chosen["host_key_alias"] = settings.host_key_alias
    if settings.proxy_command:
        # As ssh does it: by a shell, which gives its place to the command.
        line = expand_tokens(settings.proxy_command, settings, host)
        chosen["proxy_command"] = ["sh", "-c", f"exec {line}"]
    return asyncssh.SSHClientConnectionOptions(**chosen)


_FASTEST = "aes128-gcm@openssh.com"
"""A third less CPU than the usual first choice, where the processor has AES."""


def _algorithms(settings: SshSettings, known: Known) -> dict[str, object]:
    """Return the algorithms that both the user's ssh and asyncssh know.

    Kinds of host keys that are known come first, else a host with several could never be checked.
    """
    chosen: dict[str, object] = {}
    for option, wanted, there in (
        ("encryption_algs", settings.ciphers, asyncssh.encryption.get_encryption_algs),
        ("mac_algs", settings.macs, asyncssh.mac.get_mac_algs),
        ("kex_algs", settings.key_exchanges, asyncssh.kex.get_kex_algs),
    ):
        if common := _common(wanted, there):
            chosen[option] = sorted(common, key=lambda name: name != _FASTEST)
    kinds = {
        name.decode() for key in known.trusted for name in (key.algorithm, *key.sig_algorithms)
    }
    public = asyncssh.public_key
    hosts = [
        *_common(settings.host_key_algorithms, public.get_certificate_algs),
        *_common(settings.host_key_algorithms, public.get_public_key_algs),
    ]
    if not known.authorities:
        hosts = [name for name in hosts if "-cert-" not in name]
    if hosts:
        chosen["server_host_key_algs"] = sorted(hosts, key=lambda name: name not in kinds)
    return chosen


def _common(wanted: tuple[str, ...], there: Callable[[], list[bytes]]) -> list[str]:
    names = {name.decode() for name in there()}
    return [name for name in wanted if name in names]
