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
