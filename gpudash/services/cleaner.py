"""Cleans hosts, many at once: one consent for all plans, each host's outcome its own.

A cleaner begins to look at once and ends nobody before it is told to. Time and interruptions go
through it: what has not begun ends, what runs is asked to go no further, and what can't answer any
more is left to the record.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import replace

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.results import HostResult, Stop, result_of
from gpudash.core.proof import Moment, Policy, Proof, State, Tell
from gpudash.core.prooflines import line_of
from gpudash.core.scope import exact_scope
from gpudash.core.waiting import waits_for_name
from gpudash.services.cleaning import PACE, Cleaning
from gpudash.services.clock import Clock
from gpudash.services.ground import Ground, Wish
from gpudash.services.monitor import FleetMonitor
from gpudash.services.prover import Prover, Scanner
from gpudash.services.recorder import Run

SETTLE_S = 5.0
"""So long the scan at the end of a proof, and the name of who broke it, is waited for."""
LAST_WORDS_S = 20.0
"""So long an order that was stopped may take to say so."""
CLOSE_S = 3.0


class Cleaner:
    """The cleanups of one command."""

    def __init__(
        self,
        wish: Wish,
        monitor: FleetMonitor,
        clock: Clock,
        scan: Scanner,
        run: Run,
        *,
        hosts: tuple[str, ...] | None = None,
        baselines: Baselines = NO_BASELINES,
        listener: Callable[[str], None] | None = None,
    ) -> None:
        """Begin to look at these hosts, or all of the monitor's; `listener` is told of changes."""
        self._monitor = monitor
        self._run = run
        self._baselines = baselines
        self._listener = listener
        self._prover = Prover(monitor, clock, scan, self._told)
        self._proofs: dict[str, Proof] = {}
        self._numbers: dict[str, int] = {}
        """How many proofs were begun for a host."""
        self._stops: dict[str, Stop] = {}
        self._abandoned: set[str] = set()
        self._timers: list[asyncio.TimerHandle] = []
        self._has_news = asyncio.Event()
        self._clock = clock
        ground = Ground(
            monitor=monitor, clock=clock, run=run, prove=self._prove, changed=self._changed
        )
        self.cleanings = {
            host.name: Cleaning(host.name, wish, ground)
            for host in monitor.fleet.hosts
            if hosts is None or host.name in hosts
        }

    # -- for whoever asked for it --------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Tell whether every host has ended."""
        return all(self._is_over(one) for one in self.cleanings.values())

    def _is_over(self, one: Cleaning) -> bool:
        return one.is_over or one.name in self._abandoned

    @property
    def are_planned(self) -> bool:
        """Tell whether no host is still being looked at for its plan."""
        return all(one.state.phase is not Phase.SCANNING for one in self.cleanings.values())

    @property
    def waiting(self) -> tuple[Cleaning, ...]:
        """Return the hosts whose plan is shown and not agreed to."""
        return tuple(one for one in self.cleanings.values() if one.waits_for_consent)

    def stop(self, why: Stop) -> None:
        """Go no further on any host; orders under way are asked to begin no further step.

        What does not answer is left to itself after a while, or at a second interruption.
        """
        running = {name: one for name, one in self.cleanings.items() if not self._is_over(one)}
        for name, one in running.items():
            if name in self._stops and why is Stop.INTERRUPTED:
                self._abandon(name)
            elif name not in self._stops:
                self._stops[name] = why
                one.stop()
                self._later(LAST_WORDS_S, functools.partial(self._abandon, name))
        self._has_news.set()

    def _abandon(self, name: str) -> None:
        """Wait no longer; the order, if there is one, is carried out by its host alone."""
        self.cleanings[name].give_up()
        self._abandoned.add(name)
        self._has_news.set()

    def force(self) -> None:
        """Kill at once on every host that has an order."""
        for one in self.cleanings.values():
            one.force()

    async def look_for_remains(self, *, remove: bool) -> None:
        """Look on all hosts for what the ended families left behind."""
        looks = (one.look_for_remains(remove=remove) for one in self.cleanings.values())
        await asyncio.gather(*looks)

    async def changed(self) -> None:
        """Wait until anything may look different from when this was awaited before."""
        await self._has_news.wait()
        self._has_news.clear()

    def results(self) -> tuple[HostResult, ...]:
        """Return how each host ended, or where it stands."""
        return tuple(
            replace(self._result(name, one), picked_up=one.picked_up, leavings=one.leavings)
            for name, one in self.cleanings.items()
        )

    def _result(self, name: str, one: Cleaning) -> HostResult:
        return result_of(
            one.host,
            one.state,
            times=one.times,
            hold=one.hold,
            problem=one.problem,
            proof=self._proofs.get(name),
            stop=self._stops.get(name),
        )

    async def close(self) -> None:
        """Let go of all hosts; what was fetched is acknowledged first."""
        for timer in self._timers:
            timer.cancel()
        for one in self.cleanings.values():
            await one.settled(CLOSE_S)
            await one.close()
        await self._prover.close()

    # -- what happens --------------------------------------------------------------------------

    def _changed(self, name: str) -> None:
        self._has_news.set()
        one = self.cleanings.get(name)
        if name in self._stops and one is not None and one.state.phase is Phase.HOLDING:
            one.give_up()
        if self._listener is not None:
            self._listener(name)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))

    def _prove(self, name: str, plan: Plan, hold_s: float) -> None:
        keys = {key for key, _ in plan.scope}
        gpus = (gpu.info for gpu in self._monitor.fleet.host(name).gpus if gpu.info.key in keys)
        scope = exact_scope((name, info) for info in gpus)
        policy = Policy(hold_s=hold_s, scope=scope, baselines=self._baselines)
        self._numbers[name] = self._numbers.get(name, 0) + 1
        self._prover.start(name, policy)

    def _told(self, key: str, tell: Tell, proof: Proof) -> None:
        self._run.write(line_of(tell, proof.host(tell.host), proof.policy.hold_s))
        if tell.moment is Moment.PROVEN:
            one = self.cleanings[key]
            one.times = replace(one.times, proven_s=self._clock.now())
        if tell.moment in (Moment.PROVEN, Moment.BROKE):
            number = self._numbers[key]
            self._later(SETTLE_S, lambda: self._judge(key, must=number))
        # After the event: the prover is in the middle of it.
        asyncio.get_running_loop().call_soon(self._judge, key)

    def _judge(self, key: str, must: int = 0) -> None:
        """End a proof that is decided, when scans and names came that explain it.

        After a while it ends without them: `must` is the number of the proof that was waited for.
        """
        one = self.cleanings[key]
        if one.state.phase is not Phase.HOLDING:
            return
        proof = self._prover.proof(key)
        is_broken = proof.state is State.BROKEN
        if not is_broken and not proof.is_proven:
            return
        is_unsettled = any(map(waits_for_name, proof.hosts)) or not (
            is_broken or proof.is_explained
        )
        if is_unsettled and must != self._numbers[key]:
            return
        self._prover.settle(key)
        self._proofs[key] = self._prover.proof(key)
        self._prover.stop(key)
        self._monitor.rate(key, None, by=PACE)
        one.feed(ev.ProofEnded(is_proven=not is_broken))
