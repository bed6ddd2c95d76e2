"""Carries proofs over the live fleet: steps them by what the monitor tells, does what they ask.

The monitor runs at the rate of a hold all the time, so a proof's wish for another rate is met
already. A scan that can't be had is answered as failed: the proof then says how far it sees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gpudash.core.events import Event
from gpudash.core.holding import Scan
from gpudash.core.model import Host
from gpudash.core.proof import (
    Effect,
    HostProof,
    Input,
    Observed,
    Proof,
    RequestScan,
    Scanned,
    Tell,
    step,
)
from gpudash.services.clock import Clock
from gpudash.sources.base import SourceError

SCAN_S = 10.0
"""So long a scan is waited for."""

Scan_ = Callable[[str], Awaitable[Scan]]
Heard = Callable[[Tell, HostProof], None]
"""Told what happened, and the proof of that host after it."""


class Keeping:
    """Some proofs, each by a name of its own."""

    def __init__(self, clock: Clock, heard: Heard, scan: Scan_ | None = None) -> None:
        """Keep none yet; `scan` asks a host's hand, None where nobody can."""
        self.proofs: dict[str, Proof] = {}
        self._clock = clock
        self._heard = heard
        self._scan = scan
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, event: Event, host: Host) -> None:
        """Step every proof that is about this host. Raises UsageError as a scope does."""
        for name, proof in tuple(self.proofs.items()):
            if any(one.name == host.name for one in proof.hosts):
                self._step(name, Observed(event=event, host=host))

    def _step(self, name: str, told: Input) -> None:
        proof, effects = step(self.proofs[name], told, self._clock.now())
        self.proofs[name] = proof
        for effect in effects:
            self._carry_out(name, effect)

    def _carry_out(self, name: str, effect: Effect) -> None:
        match effect:
            case Tell():
                self._heard(effect, self.proofs[name].host(effect.host))
            case RequestScan():
                if self._scan is None:
                    self._step(name, Scanned(host=effect.host, scan=None))
                    return
                task = asyncio.create_task(self._ask(name, effect.host, self._scan))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case _:
                return

    async def _ask(self, name: str, host: str, scan: Scan_) -> None:
        found: Scan | None = None
        try:
            async with asyncio.timeout(SCAN_S):
                found = await scan(host)
        except (SourceError, TimeoutError):
            found = None  # said by the proof's reach
        self._step(name, Scanned(host=host, scan=found))

    async def close(self) -> None:
        """End what is still asked."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
