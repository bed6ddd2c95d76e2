"""What an SSH failure means for a person; asyncssh's exceptions end here."""

from __future__ import annotations

import errno
import socket

import asyncssh

from gpudash.core.errors import ExitCode
from gpudash.core.hostkeys import OfferedKey, Trust
from gpudash.core.model import Problem


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
        case asyncssh.HostKeyNotVerifiable():
            return (
                "not trusted",
                f"The host key of {where} can't be trusted.",
                f"Try: ssh {host} true",
                True,
            )
        case asyncssh.PermissionDenied():
            return (
                "login refused",
                f"{where} refuses the login.",
                f"Try: ssh {host} true. gpudash does not try again by itself; r does.",
                True,
            )
        case asyncssh.KeyExchangeFailed():
            return (
                "no common algorithm",
                f"{where} and this side share no algorithm.",
                f'Try the OpenSSH client: transport = "openssh" for {host} in the configuration.',
                True,
            )
        case asyncssh.ChannelOpenError() if _is_jump(error):
            return ("no way there", f"The jump host can't reach {where}.", "Is it up?", False)
        case asyncssh.ConnectionLost() | asyncssh.DisconnectError() | ConnectionResetError():
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


def _is_jump(error: asyncssh.ChannelOpenError) -> bool:
    return error.code in (asyncssh.OPEN_CONNECT_FAILED, asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED)


def person_problem(place: str, host: str, what: str) -> Problem:
    """Say that a login needs somebody: a password, a passphrase or a code."""
    return Problem(
        title="needs you",
        sentence=f"{place} asks for {what}.",
        advice="r asks for it; a command asks on a terminal. For scripts: a key, or an agent.",
        detail=f"{host}: nobody was asked, and nothing was sent.",
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )


def key_problem(offered: OfferedKey, host: str) -> Problem:
    """Say that a host key is not trusted; nothing is sent to such a host."""
    shown = f"{offered.algorithm}  {offered.fingerprint}"
    if offered.trust is Trust.CHANGED:
        return _not_trusted(
            "The host key is not the one in known_hosts.",
            f"Check it with whoever runs {host}; then: ssh-keygen -R '{offered.host}' "
            f"and ssh {host}",
            "\n".join(
                [
                    *(f"known  {known}" for known in offered.known_fingerprints[:4]),
                    f"now    {shown}",
                ]
            ),
        )
    if offered.trust is Trust.REVOKED:
        return _not_trusted(
            "The host key is marked as revoked in known_hosts.", f"Ask whoever runs {host}.", shown
        )
    if not offered.file:
        return _not_trusted(
            f"The host key is not known, and StrictHostKeyChecking is yes: {shown}",
            f"Add it to known_hosts, after comparing it with whoever runs {host}.",
            f"{offered.host} {offered.public}",
        )
    return Problem(
        title="host key unknown",
        sentence=f"The key of {offered.host} is not known here: {shown}",
        advice=f"r shows it, to accept or refuse; or log in once: ssh {host}",
        detail=f"{offered.host} {offered.public}",
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )


def _not_trusted(sentence: str, advice: str, detail: str) -> Problem:
    return Problem(
        title="not trusted",
        sentence=sentence,
        advice=advice,
        detail=detail,
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )
