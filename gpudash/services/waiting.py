"""Waits until GPUs are proven, or until waiting makes no sense any more.

A wait is told every event by the monitor, writes what happens into the record, and ends once,
with one sentence. Here: all GPUs in scope at once; `some` of this machine: services/some.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gpudash.core.choosing import (
    Wish,
)
from gpudash.core.errors import ExitCode, GpudashError
from gpudash.core.events import Event
from gpudash.core.model import Fleet, Gpu, Host, Link
from gpudash.core.proof import HostProof, Moment, Policy, Proof, State, Tell, begin
from gpudash.core.prooflines import evidence_words, line_of, tell_words
from gpudash.core.units import format_duration
from gpudash.core.waiting import (
    Ending,
    hopeless,
    in_the_way,
    out_of_time,
)
from gpudash.services.clock import Clock
from gpudash.services.keeping import Keeping, Scan_
from gpudash.services.recorder import Run

SETTLE_S = 5.0
"""So long the scan at the end of a proof is waited for."""
_DURABLE = frozenset({Moment.PROVEN, Moment.BROKE})


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


class Wait:
    """One wait; `take` is the monitor's listener."""

    def __init__(
        self,
        goal: Goal,
        fleet: Fleet,
        clock: Clock,
        run: Run,
        say: Callable[[str], None],
        scan: Scan_ | None = None,
    ) -> None:
        """Begin to wait. Raises UsageError for a scope that names an unknown host."""
        self.ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self.goal = goal
        self.chosen: tuple[Gpu, ...] = ()
        self._hosts = {host.name: host for host in fleet.hosts}
        self._run = run
        self._say = say
        self._keeping = Keeping(clock, self._heard, scan)
        self._said = ""
        self._timers: list[asyncio.TimerHandle] = []
        if goal.timeout_s is not None:
            self._later(goal.timeout_s, self._time_is_up)

    @property
    def fleet(self) -> Fleet:
        """Return the hosts as told."""
        return Fleet(hosts=tuple(self._hosts.values()))

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """Return the proofs as they stand."""
        return tuple(self._keeping.proofs.values())

    def end(self, ending: Ending) -> None:
        """End the wait; only the first end counts."""
        if not self.ended.done():
            self.ended.set_result(ending)

    def take(self, event: Event, before: Host, after: Host) -> None:
        """Take note of one event."""
        del before
        if self.ended.done():
            return
        self._hosts[after.name] = after
        try:
            self._prepare(after)
            self._keeping.take(event, after)
            self._look()
        except GpudashError as error:
            self.ended.set_exception(error)

    async def close(self) -> None:
        """Stop what still runs for it."""
        for timer in self._timers:
            timer.cancel()
        await self._keeping.close()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))

    def _time_is_up(self) -> None:
        hosts = tuple(host for host in self._hosts.values() if self._concerns(host))
        timeout_s = self.goal.timeout_s or 0.0
        self.end(out_of_time(hosts, self.goal.local, self._missing, timeout_s))

    def _concerns(self, host: Host) -> bool:
        scope = self.goal.policy.scope
        return scope is None or scope.concerns(host.name)

    def _heard(self, tell: Tell, proof: HostProof) -> None:
        line = line_of(tell, proof, self.goal.policy.hold_s)
        if tell.moment in _DURABLE:
            self._run.begin_durably(line)
        else:
            self._run.write(line)

    def _say_new(self, words: str) -> None:
        """Say something unless it was the last thing said."""
        if words and words != self._said:
            self._said = words
            self._say(words)

    # -- what the two kinds differ in ----------------------------------------------------------

    @property
    def _missing(self) -> str:
        """What had not come true, as a clause."""
        raise NotImplementedError

    def _prepare(self, host: Host) -> None:
        """Get ready for an event of this host."""

    def _look(self) -> None:
        """Look whether the wait is over."""
        raise NotImplementedError

    def status(self) -> str:
        """Return where it stands, for a line that is written again and again."""
        raise NotImplementedError


class WaitForAll(Wait):
    """Waits until every GPU in scope held."""

    def __init__(
        self,
        goal: Goal,
        fleet: Fleet,
        clock: Clock,
        run: Run,
        say: Callable[[str], None],
        scan: Scan_ | None = None,
    ) -> None:
        super().__init__(goal, fleet, clock, run, say, scan)
        self._keeping.proofs["all"] = begin(fleet, goal.policy, clock.now())
        self._settles = False

    @property
    def proof(self) -> Proof:
        """Return the proof as it stands."""
        return self._keeping.proofs["all"]

    @property
    def _missing(self) -> str:
        return f"no proof of {format_duration(self.goal.policy.hold_s, tenths=True)} came"

    def _heard(self, tell: Tell, proof: HostProof) -> None:
        super()._heard(tell, proof)
        if tell.moment is not Moment.SCANNED and not self.proof.is_proven:
            self._say_new(f"{tell.host}: {tell_words(tell, self.goal.policy.hold_s)}")

    def _look(self) -> None:
        policy = self.goal.policy
        if policy.restarts and (ending := hopeless(self.fleet, policy.scope)):
            self.end(ending)
        elif self.proof.is_proven or self.proof.is_over:
            self._settle()
        else:
            self._say_in_the_way()

    def _settle(self) -> None:
        """End when the scans came that explain it, or after a while without them."""
        if self.proof.is_explained:
            self.end(self._ending())
        elif not self._settles:
            self._settles = True
            self._later(SETTLE_S, lambda: self.end(self._ending()))

    def _ending(self) -> Ending:
        proof = self.proof
        if proof.is_proven:
            says = "; ".join(
                f"{one.host}: {evidence_words(one)}, "
                f"held {format_duration(one.held_s, tenths=True)}"
                for one in proof.evidence
            )
            return Ending(exit_code=ExitCode.OK, says=says)
        way = [clause for one in proof.hosts if one.judged for clause in in_the_way(one.judged)]
        return Ending(exit_code=proof.exit_code, says="; ".join(way[:4]) or "the hold broke")

    def _say_in_the_way(self) -> None:
        way = self._way()
        if way and not any(one.state is State.BROKEN for one in self.proof.hosts):
            self._say_new(f"waiting: {shortened(way)}")

    def _way(self) -> list[str]:
        idle = (State.NONE, State.BROKEN)
        judged = [one.judged for one in self.proof.hosts if one.judged and one.state in idle]
        judged = [one for one in judged if one.host.link is not Link.CONNECTING]
        return [clause for one in judged for clause in in_the_way(one)]

    def status(self) -> str:
        """Return `3.2 of 10 s, 8 of 8 GPUs at 0 MiB`, or what stands in the way."""
        way = self._way()
        if way:
            return shortened(way)
        holding = [one for one in self.proof.hosts if one.state is State.HOLDING]
        if not holding:
            return "connecting"
        least_s = min(one.held_s for one in holding)
        of = format_duration(self.goal.policy.hold_s, tenths=True)
        words = [evidence_words(one.evidence) for one in holding if one.evidence]
        return f"{least_s:.1f} of {of} · {'; '.join(words[:2])}"


def shortened(clauses: list[str], most: int = 3) -> str:
    """Join the first of several clauses, and say how many more there are."""
    more = f" (and {len(clauses) - most} more)" if len(clauses) > most else ""
    return f"{'; '.join(clauses[:most])}{more}"
