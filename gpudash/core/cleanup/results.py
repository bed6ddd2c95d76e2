"""How the cleanup of each host ended: one outcome, one exit code, one sentence (design §6).

Zero is said only of what was proven. What was begun and not looked at afterwards is unknown,
whatever the plan said before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from gpudash.core.cleanup.familyresults import FamilyResult, family_results
from gpudash.core.cleanup.leavings import Leavings
from gpudash.core.cleanup.outcomes import Ending, Outcome, exit_code_of, joint
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.progress import Target
from gpudash.core.cleanup.state import State
from gpudash.core.cleanup.timing import Times
from gpudash.core.errors import ExitCode
from gpudash.core.model import Host, Problem
from gpudash.core.proof import Proof
from gpudash.core.units import format_duration, plural


class Stop(Enum):
    """Why a cleanup was ended from here."""

    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed out"
    DECLINED = "not agreed to"


_STOPPED = {
    Stop.INTERRUPTED: ExitCode.INTERRUPTED,
    Stop.TIMED_OUT: ExitCode.TIMED_OUT,
    Stop.DECLINED: ExitCode.USAGE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedUp:
    """What an order of an earlier run came to."""

    run: str
    says: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostResult:
    """How the cleanup of one host ended."""

    host: str
    exit_code: ExitCode
    outcome: Outcome
    says: str
    """One clause."""
    advice: str
    endings: tuple[Ending, ...]
    families: tuple[FamilyResult, ...]
    plan: Plan | None
    targets: tuple[Target, ...]
    times: Times
    hold: tuple[float, str] | None
    """Seconds, and why so long; None where there was no proof."""
    proof: Proof | None
    refused: str
    """Why the host did not take the order."""
    was_sent: bool
    """An order left: from then on somebody may have been signalled."""
    is_simulated: bool
    leavings: Leavings | None = None
    """What the ended families left behind; None where nobody looked."""
    picked_up: tuple[PickedUp, ...] = ()
    """Orders of earlier runs that were accounted for on the way."""


def result_of(
    host: Host,
    state: State,
    *,
    times: Times,
    hold: tuple[float, str] | None,
    problem: Problem | None,
    proof: Proof | None,
    stop: Stop | None,
) -> HostResult:
    """Return how a cleanup ended, or where it stands; `stop` is why it was ended from here."""
    is_proven = proof is not None and proof.is_proven and stop is None
    endings = _endings(state, is_proven=is_proven)
    code, says, advice = _code(state, endings, problem, stop)
    held_s = proof.hosts[0].held_s if proof is not None and is_proven else 0.0
    if is_proven:
        says = f"{says}, held {format_duration(held_s, tenths=True)}"
    return HostResult(
        host=host.name,
        exit_code=code,
        outcome=joint(ending.outcome for ending in endings),
        says=says,
        advice=advice,
        endings=endings,
        families=family_results(state),
        plan=state.plan,
        targets=state.targets,
        times=times,
        hold=hold,
        proof=proof,
        refused=state.declined,
        was_sent=state.is_sent,
        is_simulated=host.is_simulated or (state.plan is not None and state.plan.is_simulated),
    )


def _endings(state: State, *, is_proven: bool) -> tuple[Ending, ...]:
    why = ""
    if state.is_sent and state.newest is None and not state.declined:
        why = "it was not looked at again after the order"
    elif state.given is not None and not is_proven and not state.declined:
        are_clean = all(one.outcome is Outcome.CLEANED for one in state.endings)
        why = "it read zero, and that is not proven" if are_clean else ""
    if not why:
        return state.endings
    return tuple(replace(one, outcome=Outcome.UNKNOWN, reason=why) for one in state.endings)


def _code(
    state: State,
    endings: tuple[Ending, ...],
    problem: Problem | None,
    stop: Stop | None,
) -> tuple[ExitCode, str, str]:
    """Return exit code, clause and advice."""
    if state.declined:
        return ExitCode.USAGE, f"refused: {state.declined}", ""
    stuck = [one for one in endings if one.outcome is Outcome.STUCK]
    if stop is not None and not (stop is Stop.TIMED_OUT and stuck):
        return _STOPPED[stop], stop.value, ""
    if problem is not None and not state.is_sent:
        return problem.exit_code, problem.sentence.rstrip("."), problem.advice
    if not endings:
        return ExitCode.UNKNOWN, "not looked at", ""
    bad = [ending for ending in endings if ending.outcome is not Outcome.CLEANED]
    if bad:
        words = "; ".join(ending_words(ending) for ending in _first_of_each(bad))
        return exit_code_of(endings), words, ""
    idle = [ending for ending in endings if ending.reason]
    at = "at 0 MiB or at their accepted baseline" if idle else "at 0 MiB"
    return ExitCode.OK, f"{plural(len(endings), 'GPU')} {at}", ""


def _first_of_each(endings: list[Ending]) -> list[Ending]:
    """Return one ending of each reason; the others say the same."""
    seen: dict[tuple[Outcome, str], Ending] = {}
    for ending in endings:
        seen.setdefault((ending.outcome, ending.reason), ending)
    return list(seen.values())[:4]


def ending_words(ending: Ending) -> str:
    """Return `GPU 3: HELD, train.py (pid 4711)`."""
    reason = f", {ending.reason}" if ending.reason else ""
    return f"GPU {ending.index}: {ending.outcome.value}{reason}"


_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.UNREACHABLE,
    ExitCode.UNKNOWN,
    ExitCode.TIMED_OUT,
    ExitCode.STUCK,
    ExitCode.HELD,
    ExitCode.OK,
)


def joint_code(results: Iterable[HostResult]) -> ExitCode:
    """Return what the command ends with; 2 only where no host took an order.

    A host that refused beside others that did not counts by what its GPUs read.
    """
    found = tuple(results)
    if any(one.exit_code is ExitCode.USAGE for one in found) and not any(
        one.was_sent and not one.refused for one in found
    ):
        return ExitCode.USAGE
    codes = [
        exit_code_of(one.endings) if one.exit_code is ExitCode.USAGE else one.exit_code
        for one in found
    ]
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.UNKNOWN)
