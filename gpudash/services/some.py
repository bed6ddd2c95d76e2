"""Waits until some GPUs of this machine held, each by itself, and claims them at once.

A GPU is claimed in the same step in which enough of them are proven: two waits at the same time
never have the same one.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudash.core.choosing import (
    choosable,
    hopeless_choice,
    in_scope,
    policy_for,
    why_not_ours,
    why_not_usable,
)
from gpudash.core.errors import ExitCode
from gpudash.core.model import Fleet, Gpu, Host, Link
from gpudash.core.proof import Proof, State, begin
from gpudash.core.record import Line
from gpudash.core.units import format_duration, index_list, plural
from gpudash.core.waiting import Ending, without_driver
from gpudash.services.clock import Clock
from gpudash.services.recorder import Run
from gpudash.services.waiting import Goal, Wait, shortened
from gpudash.sources.claims import Claims


class WaitForSome(Wait):
    """Waits until some GPUs of this machine held, each by itself, and claims them."""

    def __init__(
        self,
        goal: Goal,
        fleet: Fleet,
        clock: Clock,
        run: Run,
        say: Callable[[str], None],
        claims: Claims,
    ) -> None:
        super().__init__(goal, fleet, clock, run, say)
        assert goal.wish is not None, "some GPUs are waited for"
        self._wish = goal.wish
        self._clock = clock
        self._claims = claims
        self._is_claimed_by_others = False

    @property
    def _missing(self) -> str:
        hold = format_duration(self.goal.policy.hold_s, tenths=True)
        return f"no {self._wish.words} for {hold}"

    def _host(self) -> Host:
        return next(iter(self._hosts.values()))

    def _prepare(self, host: Host) -> None:
        """Prove each GPU of the roster by itself, from when it is known."""
        for gpu in host.gpus if host.samples else ():
            uuid = gpu.info.uuid
            if uuid is None or uuid in self._keeping.proofs or why_not_usable(gpu):
                continue
            if gpu in in_scope(host, self.goal.policy.scope):
                policy = policy_for(gpu, self.goal.policy)
                self._keeping.proofs[uuid] = begin(self.fleet, policy, self._clock.now())

    def _look(self) -> None:
        host = self._host()
        if ending := without_driver(host):
            self.end(ending)
            return
        if host.link is not Link.LIVE or not host.samples:
            return
        if ending := hopeless_choice(host, self.goal.policy.scope, self._wish):
            self.end(ending)
            return
        free = choosable(host, self._keeping.proofs, self._wish)
        if len(free) >= self._wish.count:
            self._claim(free)
        if not self.ended.done():
            self._say_new(self._summary())

    def _claim(self, free: tuple[Gpu, ...]) -> None:
        by_uuid = {gpu.info.uuid: gpu for gpu in free if gpu.info.uuid}
        taken = self._claims.take(by_uuid, self._wish.count)
        self._is_claimed_by_others = not taken
        if not taken:
            return
        self.chosen = tuple(by_uuid[uuid] for uuid in taken)
        names = index_list([gpu.info.index for gpu in self.chosen])
        says = f"GPU{'s' if len(taken) > 1 else ''} {names}: {self._wish.words}, claimed"
        self._run.begin_durably(
            Line(
                kind="claim",
                says=says,
                host=self._host().name,
                host_monotonic_s=self._host().host_monotonic_s,
                boot_id=facts.boot_id if (facts := self._host().facts) else None,
                details={
                    "claimed": [
                        {"index": gpu.info.index, "uuid": gpu.info.uuid} for gpu in self.chosen
                    ]
                },
            )
        )
        self.end(Ending(exit_code=ExitCode.OK, says=says))

    def _summary(self) -> str:
        """Return which GPUs hold and what keeps the others from it."""
        host, proofs = self._host(), self._keeping.proofs
        holding: list[int] = []
        others: list[str] = []
        for gpu in in_scope(host, self.goal.policy.scope):
            proof = proofs.get(gpu.info.uuid or "")
            if proof is not None and proof.state in (State.HOLDING, State.PROVEN):
                holding.append(gpu.info.index)
                why = why_not_ours(host, gpu) if self._wish.free_bytes is not None else ""
            else:
                why = why_not_usable(gpu) or _reason(proof)
            if why:
                others.append(f"GPU {gpu.info.index}: {why}")
        claimed = "; too few are unclaimed" if self._is_claimed_by_others else ""
        held = f"GPUs {index_list(holding)} hold" if holding else "no GPU holds"
        return f"{held}{claimed}" + (f"; {shortened(others)}" if others else "")

    def status(self) -> str:
        """Return how many hold, and the longest hold."""
        proofs = [one for one in self.proofs if one.state in (State.HOLDING, State.PROVEN)]
        longest_s = sorted((one.hosts[0].held_s for one in proofs), reverse=True)
        enough = longest_s[self._wish.count - 1] if len(longest_s) >= self._wish.count else 0.0
        of = format_duration(self.goal.policy.hold_s, tenths=True)
        return f"{enough:.1f} of {of} · {plural(len(proofs), 'GPU')} of {self._wish.count} wanted"


def _reason(proof: Proof | None) -> str:
    judged = proof.hosts[0].judged if proof else None
    return judged.gpus[0].reason if judged and judged.gpus else ""
