"""Waits until GPUs are proven, or until waiting makes no sense any more.

A wait hears what the prover tells, writes it into the record, and looks after each event whether
it is over. It ends once, with one sentence. Here: all GPUs in scope at once; some GPUs of this
machine, each by itself, are in `services/some.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gpudash.core.choosing import Wish
from gpudash.core.errors import ExitCode, GpudashError
from gpudash.core.events import Event
from gpudash.core.model import Fleet, Gpu, Host, Link
from gpudash.core.proof import Moment, Policy, Proof, State, Tell
from gpudash.core.proofwords import delay_words, evidence_words, tell_words
from gpudash.core.units import format_duration
from gpudash.core.waiting import Ending, hopeless, in_the_way, out_of_time, waits_for_name
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.proof_record import write_told
from gpudash.services.prover import Prover, Scanner
from gpudash.services.recorder import Run

PROGRESS_S = 0.25
SETTLE_S = 5.0
"""So long the scan at the end of a proof is waited for."""
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is waited for."""

    policy: Policy
    local: frozenset[str]
    """Names of hosts that are this machine."""
    timeout_s: float | None = None
    """None: a proof that is tried once."""
    wish: Wish | None = None
    """None: all GPUs in scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a wait stands on."""

    monitor: FleetMonitor
    clock: Clock
    scan: Scanner
    run: Run
    """Where it is recorded."""
    say: Callable[[str], None]
    """Narrates."""


class Wait:
    """One wait; it begins with its first event."""

    def __init__(self, goal: Goal, stage: Stage) -> None:
        """Begin to wait. Raises UsageError for a scope that names an unknown host."""
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.chosen: tuple[Gpu, ...] = ()
        self.goal = goal
        self.stage = stage
        self.prover = Prover(stage.monitor, stage.clock, stage.scan, self.heard)
        self._said = ""
        self._timers: list[asyncio.TimerHandle] = []
        # After the prover: what it makes of an event is known when we look.
        stage.monitor.listeners.append(self._take)
        if goal.timeout_s is not None:
            self.later(goal.timeout_s, self._time_is_up)

    def end(self, ending: Ending) -> None:
        """End the wait; only the first end counts."""
        if not self.ended.done():
            self.ended.set_result(ending)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call this in a while, unless the wait was closed."""
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))

    def say(self, words: str, *, gist: str = "") -> None:
        """Say something unless it was the last thing said; `gist` is what is compared."""
        gist = gist or words
        if words and gist != self._said:
            self._said = gist
            self.stage.say(words)

    def _take(self, event: Event, before: Host, after: Host) -> None:
        del event, before
        try:
            self.prepare(after)
        except GpudashError as error:
            self._fail(error)
        self.check()

    def check(self) -> None:
        """Look whether it is over."""
        if self.ended.done():
            return
        try:
            self.look()
        except GpudashError as error:
            self._fail(error)

    async def watched(self, show: Callable[[str], None]) -> Ending:
        """Wait for the end; `show` is told where it stands again and again.

        Raises UsageError for a scope that is not there.
        """
        while not self.ended.done():
            self.check()
            if not self.ended.done():
                show(self.status())
            await asyncio.wait((self.ended,), timeout=PROGRESS_S)
        return self.ended.result()

    def _fail(self, error: GpudashError) -> None:
        if not self.ended.done():
            self.ended.set_exception(error)

    def _time_is_up(self) -> None:
        if self.ended.done():
            return
        scope = self.goal.policy.scope
        hosts = self.stage.monitor.fleet.hosts
        hosts = tuple(host for host in hosts if scope is None or scope.concerns(host.name))
        timeout_s = self.goal.timeout_s or 0.0
        why = dict.fromkeys(clause for proof in self.proofs for clause in delay_words(proof))
        ending = out_of_time(hosts, self.goal.local, self.missing, timeout_s, shortened([*why]))
        self.end(ending)

    def heard(self, key: str, tell: Tell, proof: Proof) -> None:
        """Write down what a proof tells."""
        del key
        write_told(self.stage.run, tell, proof)

    async def close(self) -> None:
        """Stop what still runs for it."""
        for timer in self._timers:
            timer.cancel()
        self.stage.monitor.listeners.remove(self._take)
        await self.prover.close()

    # -- what kinds of waits differ in ---------------------------------------------------------

    @property
    def missing(self) -> str:
        """What has not come true, as a clause."""
        raise NotImplementedError

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """The proofs as they stand."""
        raise NotImplementedError

    def prepare(self, host: Host) -> None:
        """Get ready for what this host has. Raises UsageError."""

    def look(self) -> None:
        """End the wait where it is over. Raises UsageError."""
        raise NotImplementedError

    def status(self) -> str:
        """Return where it stands, for a line that is written again and again."""
        raise NotImplementedError


class WaitForAll(Wait):
    """Waits until every GPU in scope held."""

    def __init__(self, goal: Goal, stage: Stage) -> None:
        super().__init__(goal, stage)
        self.prover.start(ALL, goal.policy)
        self._settles = False
        self.final: Proof | None = None
        """As it was at the end of the wait."""
        self.decided: Fleet | None = None
        """As it was when the proof was decided; what came after explains and does not count."""

    def end(self, ending: Ending) -> None:
        """End the wait; from then on nobody asks who broke it."""
        if not self.ended.done():
            self.prover.settle(ALL)
            self.final = self.prover.proof(ALL)
        super().end(ending)

    @property
    def proof(self) -> Proof:
        """Return the proof as it stands, or stood at the end.

        Raises UsageError for GPUs that are not there.
        """
        return self.final or self.prover.proof(ALL)

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """The one proof."""
        return (self.proof,)

    @property
    def missing(self) -> str:
        """What has not come true."""
        return f"no proof of {format_duration(self.goal.policy.hold_s, tenths=True)} came"

    def heard(self, key: str, tell: Tell, proof: Proof) -> None:
        """Write it down and say it."""
        super().heard(key, tell, proof)
        if tell.moment is not Moment.SCANNED and not proof.is_proven:
            delay = proof.host(tell.host).delay
            words = f"{tell.host}: {tell_words(tell, proof.policy.hold_s, delay)}"
            self.say(words, gist=tell.host if tell.moment is Moment.ANEW else words)

    def look(self) -> None:
        """End it at the proof, or where there is no hope for one."""
        policy, proof = self.goal.policy, self.proof
        if policy.restarts and (ending := hopeless(self.stage.monitor.fleet, policy.scope)):
            self.end(ending)
        elif proof.is_proven or proof.is_over:
            self._settle(proof)
        elif not any(one.state is State.BROKEN for one in proof.hosts):
            way = _way(proof)
            self.say(f"waiting: {shortened(way)}" if way else "")

    def _settle(self, proof: Proof) -> None:
        """End when the scans and names came that explain it, or after a while without them."""
        self.decided = self.decided or self.stage.monitor.fleet
        if proof.is_explained and not any(waits_for_name(one) for one in proof.hosts):
            self.end(_ending(proof))
        elif not self._settles:
            self._settles = True
            self.later(SETTLE_S, self._settle_without)

    def _settle_without(self) -> None:
        self._settles = False
        proof = self.proof
        if proof.is_proven or proof.is_over:
            self.end(_ending(proof))

    def status(self) -> str:
        """Return `3.2 of 10 s, 8 of 8 GPUs at 0 MiB`, or what stands in the way."""
        proof = self.proof
        if way := _way(proof):
            return shortened(way)
        if delays := delay_words(proof):
            return shortened(delays)
        holding = [one for one in proof.hosts if one.state is State.HOLDING]
        if not holding:
            return "reading"
        least_s = min(one.held_s for one in holding)
        of = format_duration(proof.policy.hold_s, tenths=True)
        words = [evidence_words(one.evidence) for one in holding if one.evidence]
        return f"{least_s:.1f} of {of} · {'; '.join(words[:2])}"


def _ending(proof: Proof) -> Ending:
    if not proof.is_proven:
        return Ending(exit_code=proof.exit_code, says=shortened(_way(proof)) or "the hold broke")
    held = [
        f"{one.host}: {evidence_words(one)}, held {format_duration(one.held_s, tenths=True)}"
        for one in proof.evidence
    ]
    return Ending(exit_code=ExitCode.OK, says=shortened(held))


def _way(proof: Proof) -> list[str]:
    """Return what stands in the way, one clause each."""
    idle = (State.NONE, State.BROKEN)
    judged = [one.judged for one in proof.hosts if one.judged and one.state in idle]
    judged = [one for one in judged if one.host.link is not Link.CONNECTING]
    return [clause for one in judged for clause in in_the_way(one)]


def shortened(clauses: list[str], most: int = 3) -> str:
    """Join the first of several clauses, and say how many more there are."""
    more = f" (and {len(clauses) - most} more)" if len(clauses) > most else ""
    return f"{'; '.join(clauses[:most])}{more}"
