"""Drives proofs over a monitor: one or several at once, each under a key, until they are stopped.

A proof only asks. Its effects are carried out here: the fastest rate that any proof wants of a
host, one scan of a host at a time whose answer goes to everybody who asked. What it tells goes to
the caller, at once and in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gpudash.core.errors import UsageError
from gpudash.core.events import Event
from gpudash.core.holding import Scan
from gpudash.core.model import Host
from gpudash.core.proof import (
    Effect,
    Input,
    Observed,
    Policy,
    Proof,
    RequestScan,
    Restart,
    Scanned,
    SetRate,
    Settle,
    Stop,
    Tell,
    begin,
    step,
)
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

Scanner = Callable[[str], Awaitable[Scan | None]]
"""Scans a host, as `FleetMonitor.scan` does: None or SourceError where there is none."""
Listener = Callable[[str, Tell, Proof], None]
"""Is told the proof's key, what happened, and the proof after it."""


class Prover:
    """The proofs that run over one monitor."""

    def __init__(
        self, monitor: FleetMonitor, clock: Clock, scan: Scanner, listener: Listener | None = None
    ) -> None:
        """Prove nothing yet."""
        self._monitor = monitor
        self._clock = clock
        self._scan = scan
        self._listener = listener
        self._proofs: dict[str, Proof] = {}
        self._errors: dict[str, UsageError] = {}
        self._rates: dict[tuple[str, str], float] = {}
        self._scanning: dict[str, set[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_news = asyncio.Event()
        monitor.listeners.append(self._hear)

    def start(self, key: str, policy: Policy) -> Proof:
        """Begin a proof over the monitor's fleet; one that ran under this key is stopped.

        Raises UsageError for a scope that names an unknown host.
        """
        proof = begin(self._monitor.fleet, policy, self._clock.now())
        self.stop(key)
        self._proofs[key] = proof
        self._has_news.set()
        return proof

    def restart(self, key: str, hosts: tuple[str, ...] = ()) -> None:
        """Begin a proof anew on some hosts or on all. Raises KeyError."""
        self._step(key, Restart(hosts=hosts))

    def settle(self, key: str) -> None:
        """Let nobody be asked any more who broke a proof. Raises KeyError."""
        self._step(key, Settle())

    def stop(self, key: str) -> None:
        """End a proof; one that is not there is ended already."""
        self._errors.pop(key, None)
        if key in self._proofs:
            self._step(key, Stop())
            self._proofs.pop(key, None)

    async def close(self) -> None:
        """End all proofs and scans."""
        self._monitor.listeners.remove(self._hear)
        for key in tuple(self._proofs):
            self.stop(key)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def proof(self, key: str) -> Proof:
        """Return a proof as it is now.

        Raises KeyError, or the UsageError of a scope that names a GPU which a host does not have.
        """
        if key in self._errors:
            raise self._errors[key]
        return self._proofs[key]

    async def changed(self) -> None:
        """Wait until any proof may look different from when this was awaited before."""
        await self._has_news.wait()
        self._has_news.clear()

    # -- what proofs are told ----------------------------------------------------------------

    def _hear(self, event: Event, _before: Host, after: Host) -> None:
        for key, proof in tuple(self._proofs.items()):
            if any(host.name == after.name for host in proof.hosts):
                self._step(key, Observed(event=event, host=after))

    def _step(self, key: str, told: Input) -> None:
        try:
            proof, effects = step(self._proofs[key], told, self._clock.now())
        except UsageError as error:
            # Known only now that the host's roster came; whoever asks for the proof is told.
            self._errors[key] = error
            effects = step(self._proofs.pop(key), Stop(), self._clock.now())[1]
        else:
            self._proofs[key] = proof
        self._has_news.set()
        # A listener may stop the proof: what it asked for must have been carried out by then.
        for effect in sorted(effects, key=lambda effect: isinstance(effect, Tell)):
            self._carry_out(key, effect)

    # -- what proofs ask for -----------------------------------------------------------------

    def _carry_out(self, key: str, effect: Effect) -> None:
        match effect:
            case SetRate():
                self._set_rate(key, effect.host, effect.interval_s)
            case RequestScan():
                self._request_scan(key, effect.host)
            case Tell():
                if self._listener is not None and key in self._proofs:
                    self._listener(key, effect, self._proofs[key])

    def _set_rate(self, key: str, host: str, interval_s: float | None) -> None:
        if interval_s is None:
            self._rates.pop((key, host), None)
        else:
            self._rates[key, host] = interval_s
        wanted = [rate for (_, name), rate in self._rates.items() if name == host]
        rate_s = min((*wanted, self._monitor.interval_s)) if wanted else None
        self._monitor.rate(host, rate_s, by=id(self))

    def _request_scan(self, key: str, host: str) -> None:
        waiting = self._scanning.get(host)
        if waiting is not None:
            waiting.add(key)
            return
        self._scanning[host] = {key}
        task = asyncio.get_running_loop().create_task(self._run_scan(host), name=f"scan {host}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_scan(self, host: str) -> None:
        scan: Scan | None = None
        try:
            scan = await self._scan(host)
        except SourceError as error:
            log.warning("[%s] no scan: %s", host, error)
        finally:
            waiting = self._scanning.pop(host)
        for key in sorted(waiting & self._proofs.keys()):
            self._step(key, Scanned(host=host, scan=scan))
