"""A host behind any words that run a program there: the OpenSSH client, kubectl, docker, srun.

The same probe and the same wire as here; only what is started differs.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from gpudash.core.model import Problem
from gpudash.core.remote import login_command, probe_script, program_argv
from gpudash.core.wire import LineDecoder
from gpudash.sources import shipping
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.local import ChildStream
from gpudash.sources.oneshot import new_token
from gpudash.sources.process import Child

OPENSSH_OFF = (
    "-T",
    "-a",
    "-x",
    "-o",
    "BatchMode=yes",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "PermitLocalCommand=no",
    "-o",
    "RequestTTY=no",
    "-o",
    "RemoteCommand=none",
    "-o",
    "Tunnel=no",
    "-o",
    "EscapeChar=none",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=2",
)
"""What a user's configuration may ask for in a shell session and a probe must not have."""


class ArgvSource:
    """One host behind a command."""

    def __init__(self, name: str, prefix: tuple[str, ...], *, python: str = "") -> None:
        """`prefix` are the words before the program, with a shell as the last one or none."""
        self._name = name
        self._prefix = prefix
        self._python = python

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        return self._name

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the sampler there. Raises SourceError."""
        return self._open(shipping.sampler_payload, {"interval": interval_s})

    async def open_hand(self) -> Stream:
        """Start the hand there. Raises SourceError."""
        return self._open(shipping.hand_payload, {})

    def _argv(self) -> tuple[str, ...]:
        return program_argv(self._prefix, probe_script(shipping.COMMAND, self._python))

    def _open(self, payload: Callable[[], bytes], options: dict[str, object]) -> Stream:
        token = new_token()
        try:
            document = payload()
            child = Child(list(self._argv()))
        except OSError as error:
            raise SourceError(not_started(self._argv()[0], error)) from error
        line = json.dumps({"token": token, **options}).encode()
        child.write(shipping.with_options(document, line))
        return ChildStream(child, LineDecoder(token))


class OpenSshSource(ArgvSource):
    """One host through the OpenSSH client of this machine."""

    def __init__(self, name: str, words: tuple[str, ...], *, python: str = "") -> None:
        """`words` are ssh's own options and the destination, last."""
        super().__init__(name, ("ssh", *OPENSSH_OFF, *words), python=python)

    def _argv(self) -> tuple[str, ...]:
        script = probe_script(shipping.COMMAND, self._python)
        return (*self._prefix, login_command(script))


def not_started(program: str, error: OSError) -> Problem:
    """Say that a program of this machine could not be started."""
    return Problem(
        title=f"{program} not started",
        sentence=f"{program} could not be started here: {error.strerror or error}.",
        advice=f"Is {program} installed on this machine?",
    )
