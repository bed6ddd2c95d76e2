"""Waits until some GPUs of this machine held, each by itself, and claims them at once.

A GPU is claimed in the same step in which enough of them are proven: two waits at the same time
never have the same one.
"""

from __future__ import annotations

from gpudash.core.choosing import (
    choosable,
    hopeless_choice,
    in_scope,
    policy_for,
    turned,
    why_not_given,
    why_not_usable,
)
from gpudash.core.errors import ExitCode
from gpudash.core.model import Gpu, Host, Link
from gpudash.core.proof import Proof, State
from gpudash.core.record import Line
from gpudash.core.units import format_duration, index_list
from gpudash.core.waiting import Ending, without_driver
from gpudash.services.waiting import Goal, Stage, Wait, shortened
from gpudash.sources.claims import Claims


class WaitForSome(Wait):
    """Waits until some GPUs held, and claims them."""

    def __init__(self, goal: Goal, stage: Stage, claims: Claims) -> None:
        super().__init__(goal, stage)
        assert goal.wish is not None, "some GPUs are waited for"
        self._wish = goal.wish
        self._claims = claims
        self._keys: dict[str, None] = {}
        self._place: int | None = None
        """Among those who wait on this machine; None until its GPUs are known."""
        self._are_claimed = False
        """Enough GPUs held, and others have claimed too many of them."""

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """One proof a GPU."""
        return tuple(self._by_uuid().values())

    def _by_uuid(self) -> dict[str, Proof]:
        return {uuid: self.prover.proof(uuid) for uuid in self._keys}

    @property
    def missing(self) -> str:
        """What has not come true."""
        hold = format_duration(self.goal.policy.hold_s, tenths=True)
        claimed = ", unclaimed," if self._are_claimed else ""
        return f"no {self._wish.words}{claimed} for {hold}"

    @property
    def _host(self) -> Host:
        return self.stage.monitor.fleet.hosts[0]

    def prepare(self, host: Host) -> None:
        """Prove each GPU of the roster by itself, from when it is known."""
        if not host.samples:
            return
        if self._place is None and host.gpus:
            self._place = self._claims.place(min(gpu.info.key for gpu in host.gpus))
        for gpu in in_scope(host, self.goal.policy.scope):
            uuid = gpu.info.uuid
            if uuid is not None and uuid not in self._keys and not why_not_usable(gpu):
                self._keys[uuid] = None
                self.prover.start(uuid, policy_for(gpu, self.goal.policy))

    def look(self) -> None:
        """Claim GPUs where enough are proven; end where too few can ever be."""
        host, scope = self._host, self.goal.policy.scope
        if ending := without_driver(host):
            self.end(ending)
        if host.link is not Link.LIVE or not host.samples or self.ended.done():
            return
        if ending := hopeless_choice(host, scope, self._wish):
            self.end(ending)
            return
        free = choosable(host, self._by_uuid())
        self._are_claimed = len(free) >= self._wish.count and not self._claim(host, free)
        if not self.ended.done() and any(one.hosts[0].judged for one in self.proofs):
            self.say(self._summary(host))

    def _claim(self, host: Host, free: tuple[Gpu, ...]) -> bool:
        ordered = turned(free, (self._place or 0) * self._wish.count)
        by_uuid = {gpu.info.uuid: gpu for gpu in ordered if gpu.info.uuid}
        taken = self._claims.take(by_uuid, self._wish.count)
        if not taken:
            return False
        chosen = (by_uuid[uuid] for uuid in taken)
        self.chosen = tuple(sorted(chosen, key=lambda gpu: gpu.info.index))
        names = index_list([gpu.info.index for gpu in self.chosen])
        hold = format_duration(self.goal.policy.hold_s, tenths=True)
        says = f"{self._wish.words} for {hold}, claimed: GPU {names}"
        self.stage.run.begin_durably(
            Line(
                kind="claim",
                says=says,
                host=host.name,
                host_monotonic_s=host.host_monotonic_s,
                boot_id=host.facts.boot_id if host.facts else None,
                details={
                    "claimed": [
                        {"index": gpu.info.index, "uuid": gpu.info.uuid} for gpu in self.chosen
                    ]
                },
            )
        )
        self.end(Ending(exit_code=ExitCode.OK, says=says))
        return True

    # -- words ---------------------------------------------------------------------------------

    def _summary(self, host: Host) -> str:
        """Return which GPUs hold and what keeps the others from it."""
        proofs = self._by_uuid()
        holding: list[int] = []
        others: list[str] = []
        for gpu in in_scope(host, self.goal.policy.scope):
            proof = proofs.get(gpu.info.uuid or "")
            if proof is not None and proof.state in (State.HOLDING, State.PROVEN):
                holding.append(gpu.info.index)
                why = why_not_given(host, gpu, proof)
            else:
                why = why_not_usable(gpu) or _reason(proof)
            if why:
                others.append(f"GPU {gpu.info.index}: {why}")
        held = f"holding: GPU {index_list(holding)}" if holding else "no GPU holds"
        claimed = "; claimed by others: too few are left" if self._are_claimed else ""
        return f"{held}{claimed}" + (f"; {shortened(others)}" if others else "")

    def status(self) -> str:
        """Return how long the best have held, and what is wanted."""
        running = (State.HOLDING, State.PROVEN)
        held = [one.hosts[0].held_s for one in self.proofs if one.state in running]
        best = sorted(held, reverse=True)[: self._wish.count]
        enough_s = best[-1] if len(best) == self._wish.count else 0.0
        of = format_duration(self.goal.policy.hold_s, tenths=True)
        return f"{enough_s:.1f} of {of} · {len(held)} holding, {self._wish.count} wanted"


def _reason(proof: Proof | None) -> str:
    judged = proof.hosts[0].judged if proof else None
    return judged.gpus[0].reason if judged and judged.gpus else ""
