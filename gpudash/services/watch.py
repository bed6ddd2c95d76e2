"""What the monitor keeps of one host beside its value."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from gpudash.services.looking import Looking
from gpudash.services.trace import Pacer
from gpudash.sources.base import HostSource, Stream


@dataclass(slots=True)
class Watch:
    """One host that is watched."""

    source: HostSource
    looking: Looking
    task: asyncio.Task[None] | None = None
    sampler: Stream | None = None
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    paused_s: float | None = None
    missed_hello: bool = False
    """A greeting came while the values stood still: they fit no more to what comes."""
    pacer: Pacer = field(default_factory=Pacer)
    interval_s: float | None = None
    """Between two ticks, where this host has a pace of its own."""
    last_id: int = 0
    """Of the commands to samplers of this host."""

    def release(self, paused_s: float) -> None:
        """End the sampler of a pause that still lasts."""
        if self.paused_s == paused_s:
            self.wake.set()

    def resume(self) -> None:
        """Go on after a pause."""
        if self.paused_s is not None:
            self.paused_s = None
            if self.sampler is None or self.missed_hello:
                self.wake.set()

    def pace(self, usual_s: float) -> None:
        """Tell a sampler that runs how often to tick."""
        self.command("rate", interval=self.interval_s or usual_s)

    def command(self, do: str, **arguments: object) -> None:
        """Send one command to the sampler, where one runs."""
        if self.sampler is not None:
            self.last_id += 1
            self.sampler.send(self.last_id, do, arguments)
