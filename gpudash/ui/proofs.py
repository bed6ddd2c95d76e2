"""The proof that the screen shows: it begins by itself, `v` begins it anew or for what is marked.

Nobody presses a key to know that a host is clear: the first zero begins a hold, and what breaks
it is told. The bell rings only for a proof that somebody asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.model import Fleet, Happening
from gpudash.core.proof import (
    Break,
    Moment,
    Policy,
    Proof,
    Tell,
    break_sentence,
)
from gpudash.core.scope import Scope, exact_scope
from gpudash.core.units import plural
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.proof_record import ProofRecord
from gpudash.services.prover import Prover
from gpudash.services.recorder import Recorder
from gpudash.services.scanning import scanner
from gpudash.ui.paint.proving import ProofView, proven_word

KEY = "screen"


class ScreenProof:
    """One proof over one monitor, and what is told of it."""

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        ring: Callable[[], None],
        baselines: Baselines = NO_BASELINES,
        recorder: Recorder | None = None,
    ) -> None:
        """`ring` is called when a proof that was asked for completes, or breaks by a stranger.

        Without a recorder nothing is recorded.
        """
        self._monitor = monitor
        self._clock = clock
        self._ring = ring
        self._baselines = baselines
        self._record = ProofRecord(recorder, ("gpudash",))
        self._prover = Prover(monitor, clock, scanner(monitor), self._told)
        self._is_asked = False
        self._is_stopped = True
        self._was_proven = False

    def start(self) -> None:
        """Prove all that there is, from the first zero on."""
        self._begin(None)

    def verify(self, marks: frozenset[tuple[str, str]]) -> None:
        """Begin the proof anew: of what is marked, or of everything."""
        self._is_asked = True
        self._begin(_scope(self._monitor.fleet, marks))

    def _begin(self, scope: Scope | None) -> None:
        self._is_stopped = self._was_proven = False
        self._record.end("begun anew")
        policy = Policy(scope=scope, restarts=True, baselines=self._baselines)
        self._prover.start(KEY, policy)

    @property
    def is_holding(self) -> bool:
        """Tell whether a hold is under way."""
        view = self.view()
        return view is not None and view.proof.state.value == "HOLDING"

    def stop(self) -> None:
        """End the proof; nothing begins by itself until it is asked for again."""
        self._is_stopped = True
        self._prover.stop(KEY)
        self._record.end("stopped")

    def view(self) -> ProofView | None:
        """Return the proof as it is now; None where none runs."""
        if self._is_stopped:
            return None
        proof = self._prover.proof(KEY)
        return ProofView(proof, self._clock.now(), self._clock.wall)

    async def close(self) -> None:
        """End it with all its scans."""
        await self._prover.close()
        self._record.end("not watched any more")

    def _told(self, _key: str, told: Tell, proof: Proof) -> None:
        self._record.told(told, proof)
        if problem := self._record.news():
            self._note(told, problem, "warn")
        match told.moment:
            case Moment.BEGAN:
                words = f"first zero on {_count(told)}"
                self._note(told, words, "zero")
            case Moment.PROVEN if proof.is_proven and not self._was_proven:
                self._was_proven = True
                self._note(told, f"{proven_word(proof)}, proven over {_held(proof)}", "proven")
                if self._is_asked:
                    self._ring()
            case Moment.BROKE | Moment.NAMED if told.broken is not None:
                self._broke(told, told.broken)
            case Moment.LAPSED:
                self._note(
                    told, "not watched while this machine slept: the proof has lapsed", "warn"
                )
            case _:
                pass

    def _broke(self, told: Tell, broken: Break) -> None:
        self._was_proven = False
        if not broken.is_settled:
            return
        tone = "bad" if broken.is_alarm else "warn"
        self._note(told, break_sentence(broken), tone)
        if broken.is_alarm and self._is_asked:
            self._ring()

    def _note(self, told: Tell, words: str, tone: str) -> None:
        now = self._clock.now()
        self._monitor.note(Happening(at_s=now, host=told.host, words=words, tone=tone))


def _scope(fleet: Fleet, marks: frozenset[tuple[str, str]]) -> Scope | None:
    """Return what is marked as a scope; None where nothing is, or everything."""
    every = [(host.name, gpu) for host in fleet.hosts for gpu in host.gpus]
    chosen = [(name, gpu.info) for name, gpu in every if (name, gpu.info.key) in marks]
    return exact_scope(chosen) if chosen and len(chosen) < len(every) else None


def _count(told: Tell) -> str:
    gpus = len(told.evidence.gpus) if told.evidence else 0
    return f"all {plural(gpus, 'GPU')}" if gpus > 1 else plural(gpus, "GPU")


def _held(proof: Proof) -> str:
    held = [one.proven.host_s - one.first.host_s for one in proof.evidence if one.proven]
    return f"{min(held, default=0.0):.1f} s"
