"""What every source of a host offers: a stream of events up, commands down.

A source knows how to start a host's probe programs and nothing of what their answers mean. The
local machine, SSH, the demo and the nvidia-smi fallback differ only behind this interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gpudash.core.errors import GpudashError
from gpudash.core.events import Event
from gpudash.core.model import Problem


class SourceError(GpudashError):
    """A program could not be started on a host, or its stream broke; carries the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence, hint=problem.advice, exit_code=problem.exit_code)
        self.problem = problem


class Stream(Protocol):
    """One running probe program."""

    async def read(self) -> list[Event]:
        """Wait for the next events, in order.

        Raises SourceError once the stream has ended, with the reason; for ever after.
        """
        ...

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        """Send one command; a stream that has ended ignores it (its end is read instead)."""
        ...

    async def close(self) -> None:
        """End the program and free everything; returns within 2 s even when it hangs."""
        ...


class HostSource(Protocol):
    """One host as something to read."""

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        ...

    @property
    def is_simulated(self) -> bool:
        """Whether this host is made up: its name alone is shown with the mark."""
        ...

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the sampler. Raises SourceError."""
        ...

    async def open_hand(self) -> Stream:
        """Start the hand, which answers about processes. Raises SourceError."""
        ...
