"""What the monitor keeps of one host beside its value."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from gpudash.core.events import Ack, DetailTold, Event
from gpudash.core.model import Host
from gpudash.services.clock import Clock
from gpudash.services.gpudetails import Details
from gpudash.services.looking import Looking
from gpudash.services.pulse import Pulse
from gpudash.services.trace import Pacer
from gpudash.sources.base import HostSource, Stream


@dataclass(slots=True)
class Watch:
    """One host that is watched."""

    source: HostSource
    looking: Looking
    pulse: Pulse
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

    details: Details = field(default_factory=Details)
    """What the slow calls of its GPUs answered."""
    wishes: dict[object, float] = field(default_factory=dict)
    """Who wants it to tick how often."""

    def wish(self, by: object, interval_s: float | None, usual_s: float) -> None:
        """Take or end somebody's wish for a pace; the fastest counts."""
        self.wishes.pop(by, None)
        if interval_s is not None:
            self.wishes[by] = interval_s
        wanted = min(self.wishes.values(), default=None)
        if wanted != self.interval_s:
            self.interval_s = wanted
            self.pace(usual_s)

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

    def ask_detail(self, index: int | None) -> None:
        """Ask the sampler for the slow calls of one GPU, where one runs."""
        if index is not None and self.sampler is not None and self.paused_s is None:
            self.details.ask(self.sampler, index)

    def heard(self, event: Event) -> Event:
        """Take what answers a question of ours; return what is told of it."""
        if isinstance(event, DetailTold):
            self.details.hear(event.detail)
        elif isinstance(event, Ack):
            self.details.hear_ack(event)
            return self.pulse.hear(event) or event
        return event

    def consider(self, host: Host) -> None:
        """After a tick, ask what is not known of it, and measure the way where that is due."""
        self.looking.consider(host)
        if self.sampler is not None:
            self.pulse.beat(host, self.sampler)


def watch_of(source: HostSource, clock: Clock, tell: Callable[[Event], None]) -> Watch:
    """Return a watch that nothing runs in yet; `tell` gets what the hand answers."""
    return Watch(source, Looking(source, clock, tell), Pulse(clock.now, clock.unix))
