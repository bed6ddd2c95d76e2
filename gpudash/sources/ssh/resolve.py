"""Asks OpenSSH what the user's configuration says of a host: `ssh -G`, about 5 ms."""

from __future__ import annotations

import asyncio
import os
import shutil
import weakref
from dataclasses import dataclass
from pathlib import Path

from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.core.ssh_settings import SshSettings, Surroundings, parse_settings
from gpudash.sources.base import SourceError

RESOLVE_LIMIT_S = 10.0
_SK_MARK = b"sk-"


async def output_of(argv: tuple[str, ...], limit_s: float) -> tuple[int, str, str]:
    """Run a program without input; return exit code, stdout and stderr. Raises OSError."""
    child = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(limit_s):
            out, errors = await child.communicate()
    except TimeoutError:
        child.kill()
        await child.wait()
        return 124, "", f"no answer within {limit_s:.0f} s"
    return child.returncode or 0, out.decode(errors="replace"), errors.decode(errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """What the user would give ssh to reach a host."""

    address: str
    """A name or an address, without user and port."""
    options: tuple[str, ...] = ()
    """Words before it: `-l ana -p 2222 -J jump`."""
    configuration: tuple[str, ...] = ()
    """`-F FILE`, which holds for jump hosts too; empty for the user's own."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return all words after `ssh`."""
        return (*self.configuration, *self.options, "--", self.address)

    def of_jump(self, hop: str) -> Destination:
        """Return the destination of a hop as ProxyJump writes it: `[user@]host[:port]`."""
        user, _, place = hop.removeprefix("ssh://").rpartition("@")
        name, port = _split_port(place)
        options = (*(("-l", user) if user else ()), *(("-p", port) if port else ()))
        return Destination(address=name, options=options, configuration=self.configuration)


def _split_port(place: str) -> tuple[str, str]:
    if place.startswith("["):
        name, _, rest = place[1:].partition("]")
        return name, rest.removeprefix(":")
    name, _, port = place.partition(":")
    return name, port


_RESOLVERS = 4
_resolving: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
_resolving = weakref.WeakKeyDictionary()


async def resolve(to: Destination) -> SshSettings:
    """Return what `ssh -G` says of a destination. Raises SourceError with ssh's own words."""
    if not has_openssh():
        from gpudash.sources.ssh.without import settings_without_openssh

        return settings_without_openssh(to)
    slot = _resolving.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_RESOLVERS))
    try:
        async with slot:
            code, out, errors = await output_of(("ssh", "-G", *to.words), RESOLVE_LIMIT_S)
    except OSError as error:
        raise SourceError(_bad_configuration(str(error))) from error
    if code:
        raise SourceError(_bad_configuration(errors.strip() or f"exit code {code}"))
    try:
        return parse_settings(out)
    except ValueError as error:
        raise SourceError(_bad_configuration(str(error))) from error


def _bad_configuration(words: str) -> Problem:
    return Problem(
        title="ssh configuration",
        sentence="OpenSSH can't read its configuration for this host.",
        advice="Try: ssh -G HOST",
        detail=words[:2000],
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )


def has_openssh() -> bool:
    """Tell whether the OpenSSH client is installed here."""
    return shutil.which("ssh") is not None


async def look_around(settings: SshSettings, to: Destination) -> Surroundings:
    """Return what the choice of a transport needs to know about this machine."""
    return Surroundings(
        has_live_master=await _has_live_master(settings, to),
        has_kerberos_ticket=_has_kerberos_ticket(),
        security_key_files=_security_keys(settings),
        can_use_fido=_is_installed("fido2"),
        can_use_pkcs11=_is_installed("pkcs11"),
        can_use_gssapi=_is_installed("gssapi"),
        has_openssh=has_openssh(),
    )


async def _has_live_master(settings: SshSettings, to: Destination) -> bool:
    """Ask the control socket itself: a file that is left over from a crash is no master."""
    if not settings.control_path or not Path(settings.control_path).expanduser().is_socket():
        return False
    try:
        code, _, _ = await output_of(("ssh", "-O", "check", *to.words), RESOLVE_LIMIT_S)
    except OSError:
        return False
    return code == 0


def _has_kerberos_ticket() -> bool:
    name = os.environ.get("KRB5CCNAME", "").removeprefix("FILE:")
    if name:
        return True
    return hasattr(os, "getuid") and Path(f"/tmp/krb5cc_{os.getuid()}").exists()


def _security_keys(settings: SshSettings) -> tuple[str, ...]:
    """Return identity files that are there and whose public half names a security key."""
    found = []
    for name in settings.identity_files:
        public = Path(name).expanduser().with_name(Path(name).name + ".pub")
        try:
            if public.read_bytes()[:64].startswith(_SK_MARK):
                found.append(name)
        except OSError:
            continue
    return tuple(found)


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None
