"""A host through the OpenSSH client of this machine: for what asyncssh lacks.

Several programs share one login: by the user's own ControlMaster, or by one of ours, whose socket
lies in a private folder here; it is ended with us.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from functools import lru_cache

from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.core.remote import login_command
from gpudash.sources.argv import ArgvSource
from gpudash.sources.expired import expiry
from gpudash.sources.ssh.resolve import output_of

OFF = (
    "-T",
    "-a",
    "-x",
    *("-o", "BatchMode=yes"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "PermitLocalCommand=no"),
    *("-o", "RequestTTY=no"),
    *("-o", "RemoteCommand=none"),
    *("-o", "Tunnel=no"),
    *("-o", "EscapeChar=none"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=2"),
)
"""What a user's configuration may ask for in a shell session and a probe must not have."""
PERSIST_S = 10
"""So long our own master outlives its last program where nobody could end it."""
EXIT_LIMIT_S = 2.0


def own_master() -> tuple[str, ...]:
    """Return the options by which programs share one login, where the user has no ControlPath."""
    path = os.path.join(_folder(), "%C")  # noqa: PTH118
    return (
        *("-o", "ControlMaster=auto"),
        *("-o", f"ControlPath={path}"),
        *("-o", f"ControlPersist={PERSIST_S}"),
    )


@lru_cache(maxsize=1)
def _folder() -> str:
    """Return a folder of this run that nobody else can enter; a socket's path must be short."""
    folder = tempfile.mkdtemp(prefix="gpudash-", dir=os.environ.get("XDG_RUNTIME_DIR") or None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class OpenSshSource(ArgvSource):
    """One host through the OpenSSH client."""

    def __init__(
        self,
        name: str,
        words: tuple[str, ...],
        *,
        reason: str,
        has_master: bool = False,
        notes: tuple[str, ...] = (),
        python: str = "",
        has_sudo: bool = False,
        has_hand_sudo: bool = False,
    ) -> None:
        """`words` are ssh's own options and the destination, last; `reason` is why not asyncssh.

        `has_master` tells that the user's configuration says how programs share a login.
        """
        self._own = () if has_master else own_master()
        super().__init__(
            name,
            ("ssh", *OFF, *self._own, *words),
            transport=f"openssh: {reason}",
            notes=notes,
            python=python,
            has_sudo=has_sudo,
            has_hand_sudo=has_hand_sudo,
        )

    def is_like(self, other: OpenSshSource) -> bool:
        """Tell whether another one would reach the host in the same way, and say the same."""
        return (self._prefix, self._up) == (other._prefix, other._up)

    async def end_master(self) -> None:
        """End the login that our programs share, where it is ours; else it would stay a while."""
        if not self._own:
            return
        with contextlib.suppress(OSError):
            await output_of((*self._prefix[:1], "-O", "exit", *self._prefix[1:]), EXIT_LIMIT_S)

    def carry(self, script: str) -> tuple[str, ...]:
        """Return the argv that has the host run a script, whatever its login shell is."""
        return (*self._prefix, login_command(script))

    def _explain(self, status: int | None, words: str) -> Problem | None:
        return openssh_problem(status, words, self._name)


_WORDS = (
    ("remote host identification has changed", "not trusted", "The host key is not the known one.",
     "Check it with whoever runs {host}; then: ssh-keygen -R {host} and ssh {host}", True),
    ("host key verification failed", "host key unknown", "The host's key is not known here.",
     "Log in once: ssh {host}", True),
    ("permission denied", "login refused", "{host} refuses the login.",
     "Try: ssh {host} true. gpudash does not try again by itself; r does.", True),
    ("too many authentication failures", "login refused", "{host} refuses the login.",
     "The agent offers too many keys: set IdentitiesOnly yes for it.", True),
    ("could not resolve hostname", "name not found", "The name of {host} is not known here.",
     "Check the spelling, ~/.ssh/config and the DNS.", False),
    ("connection refused", "refused", "{host} refuses the connection.",
     "Does sshd run there, on this port?", False),
    ("timed out", "timed out", "{host} does not answer.",
     "Is it up, and is the way there open?", False),
    ("no route to host", "no way there", "There is no way to {host}.", "Is the VPN up?", False),
    ("bad configuration option", "ssh configuration",
     "OpenSSH can't read its configuration for this host.", "Try: ssh -G {host}", True),
)  # fmt: skip
"""What ssh says in lower case, title, sentence, advice, whether a person is needed."""


_LOST = ("", "link lost", "The connection to {host} was lost.", "Try: ssh {host} true", False)


def openssh_problem(status: int | None, words: str, host: str) -> Problem | None:
    """Return the named state for an end of ssh itself, which is exit code 255; else None."""
    if status != 255:
        return None
    if (expired := expiry(words)) is not None:
        return expired
    said = words.lower()
    _, title, sentence, advice, needs_person = next(
        (entry for entry in _WORDS if entry[0] in said), _LOST
    )
    return Problem(
        title=title,
        sentence=sentence.format(host=host),
        advice=advice.format(host=host),
        detail=words[-2000:],
        exit_code=ExitCode.UNREACHABLE,
        needs_person=needs_person,
    )
