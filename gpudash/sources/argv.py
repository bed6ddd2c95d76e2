"""A host behind any words that run a program there: kubectl, docker, srun, the OpenSSH client.

The same probe and the same wire as here; only what is started differs.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from gpudash.core.errors import ExitCode
from gpudash.core.events import Event, LinkUp
from gpudash.core.model import Problem
from gpudash.core.remote import probe_script, program_argv
from gpudash.core.wire import LineDecoder
from gpudash.sources import shipping
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.local import ChildStream
from gpudash.sources.oneshot import new_token
from gpudash.sources.process import Child
from gpudash.sources.smi_child import Runner
from gpudash.sources.sudo import NO_HAND


class ArgvSource:
    """One host behind a command."""

    def __init__(
        self,
        name: str,
        prefix: tuple[str, ...],
        *,
        transport: str = "",
        notes: tuple[str, ...] = (),
        python: str = "",
        has_sudo: bool = False,
        has_hand_sudo: bool = False,
    ) -> None:
        """`prefix` are the words before the program, with a shell as the last one or none."""
        self._has_sudo = has_sudo
        self._has_hand_sudo = has_hand_sudo
        self._name = name
        self._prefix = prefix
        self._python = python
        self._up = LinkUp(transport=transport or f"command: {prefix[0]}", notes=notes)

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        return self._name

    @property
    def is_simulated(self) -> bool:
        """Tell that nothing here is invented."""
        return False

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the sampler there. Raises SourceError."""
        options: dict[str, object] = {"interval": interval_s}
        return self._open(shipping.sampler_payload, options, [self._up], by_sudo=self._has_sudo)

    async def open_hand(self) -> Stream:
        """Start the hand there. Raises SourceError."""
        if self._has_sudo and not self._has_hand_sudo:
            raise SourceError(NO_HAND)
        return self._open(shipping.hand_payload, {}, [], by_sudo=self._has_hand_sudo)

    def carry(self, script: str) -> tuple[str, ...]:
        """Return the argv that has a POSIX sh run a script there."""
        return program_argv(self._prefix, script)

    def runner(self, program: str) -> Runner:
        """Return what runs nvidia-smi there."""
        return Runner(program, self.carry)

    def link_up(self) -> LinkUp:
        """Return what is to be seen of the link as long as it lasts."""
        return self._up

    def hold(self) -> None:
        """Do nothing: each program is a child of its own, nothing is kept open for it."""

    async def release(self) -> None:
        """Do nothing, likewise."""

    def _explain(self, status: int | None, words: str) -> Problem | None:
        """Return what an end means where it is the command's own; None where it is the probe's."""
        del status, words
        return None

    def _open(
        self,
        payload: Callable[[], bytes],
        options: dict[str, object],
        first: list[Event],
        *,
        by_sudo: bool,
    ) -> Stream:
        token = new_token()
        argv = self.carry(probe_script(shipping.COMMAND, self._python, has_sudo=by_sudo))
        try:
            document = payload()
            child = Child(list(argv))
        except OSError as error:
            raise SourceError(not_started(argv[0], error)) from error
        line = json.dumps({"token": token, **options}).encode()
        child.write(shipping.with_options(document, line))
        return ChildStream(child, LineDecoder(token), first, self._explain)


def not_started(program: str, error: OSError) -> Problem:
    """Say that a program of this machine could not be started."""
    return Problem(
        title=f"{program} not started",
        sentence=f"{program} could not be started here: {error.strerror or error}.",
        advice=f"Is {program} installed on this machine?",
        exit_code=ExitCode.UNREACHABLE,
    )
