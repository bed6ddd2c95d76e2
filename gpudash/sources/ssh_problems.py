"""What an SSH failure means for a person; asyncssh's exceptions end here."""

from __future__ import annotations

import errno
import socket

import asyncssh

from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.sources.host_keys import OfferedKey, Trust


def problem_of(error: BaseException, host: str, where: str) -> Problem:
    """Return the named state for a failed connection; `where` is the address that was tried."""
    title, sentence, advice, needs_person = _words(error, host, where)
    return Problem(
        title=title,
        sentence=sentence,
        advice=advice,
        detail=f"{type(error).__name__}: {error}"[:2000],
        exit_code=ExitCode.UNREACHABLE,
        needs_person=needs_person,
    )


def _words(error: BaseException, host: str, where: str) -> tuple[str, str, str, bool]:
    match error:
        case asyncssh.PermissionDenied():
            return (
                "login refused",
                f"{where} refuses the login.",
                f"Try: ssh {host} true. It is not tried again by itself; r tries again.",
                True,
            )
        case asyncssh.KeyExchangeFailed():
            return (
                "no common algorithm",
                f"{where} and this side share no algorithm.",
                f'Try the OpenSSH client: transport = "openssh" for {host} in the configuration.',
                True,
            )
        case asyncssh.ConnectionLost() | asyncssh.DisconnectError():
            return ("link lost", f"The connection to {where} was lost.", "", False)
        case TimeoutError():
            return (
                "timed out",
                f"{where} does not answer.",
                "Is it up, and is the way there open?",
                False,
            )
        case socket.gaierror():
            return (
                "name not found",
                f"The name {where} is not known here.",
                "Check the spelling, ~/.ssh/config and the DNS.",
                False,
            )
        case ConnectionRefusedError():
            return (
                "refused",
                f"{where} refuses the connection.",
                "Does sshd run there, on this port?",
                False,
            )
        case OSError() if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
            return ("no way there", f"There is no way to {where}.", "Is the VPN up?", False)
        case asyncssh.ChannelOpenError():
            return (
                "session refused",
                f"{where} opens no session.",
                "Too many sessions (MaxSessions), or the account has no shell.",
                False,
            )
        case asyncssh.KeyImportError() | asyncssh.KeyEncryptionError():
            return (
                "key not readable",
                f"A private key for {host} can't be used: {error}.",
                "Load it into the agent: ssh-add",
                True,
            )
        case _:
            return ("not reached", f"{where} could not be reached.", f"Try: ssh {host} true", False)


def key_problem(offered: OfferedKey, host: str, name: str) -> Problem:
    """Say that a host key is not trusted; nothing is sent to such a host."""
    shown = f"{offered.algorithm}  {offered.fingerprint}"
    if offered.trust is Trust.CHANGED:
        known = ", ".join(offered.known_fingerprints[:4])
        return Problem(
            title="not trusted",
            sentence="The host key is not the one in known_hosts.",
            advice=f"Check it with whoever runs {host}, then: ssh-keygen -R '{name}' and ssh {host}",
            detail=f"known  {known}\nnow    {shown}",
            exit_code=ExitCode.UNREACHABLE,
            needs_person=True,
        )
    if offered.trust is Trust.REVOKED:
        return Problem(
            title="not trusted",
            sentence="The host key is marked as revoked in known_hosts.",
            advice=f"Ask whoever runs {host}.",
            detail=shown,
            exit_code=ExitCode.UNREACHABLE,
            needs_person=True,
        )
    return Problem(
        title="host key unknown",
        sentence=f"The key of {host} is not known here: {shown}",
        advice=f"Compare the fingerprint, then accept it; or log in once: ssh {host}",
        detail=offered.line,
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )
