"""The banner while something is proven: holding, all clear, at baseline, and what broke it.

A proof over some of the GPUs never says ALL CLEAR: its word and its first fact name what it is
about.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.proof.breaks import Break, BreakKind
from gpudash.core.proof.evidence import Basis
from gpudash.core.proof.phases import State
from gpudash.core.proof.values import HostProof, Proof
from gpudash.core.units import format_duration, format_memory, index_list, plural
from gpudash.ui.paint.facts import fact
from gpudash.ui.paint.spans import Row, outside
from gpudash.ui.paint.story import Keys, Story
from gpudash.ui.paint.view import WallClock, no_clock

NEWS_S = 60.0
"""So long a break is what the banner says."""
BAR = 60
VERIFY = ("v", "prove again")
STOP = ("esc", "stop")


class ProofView(NamedTuple):
    """A proof as the screen knows it."""

    proof: Proof
    now_s: float
    wall_of: WallClock = no_clock
    record: str = ""
    """Where it is written down; empty while nowhere."""


def proof_story(view: ProofView, word: str, *, is_wide: bool) -> Story | None:
    """Return what a proof has to say; None where the verdict `word` speaks for itself."""
    proof = view.proof
    is_partial = proof.policy.scope is not None
    if (word in ("ZERO", "AT BASELINE") or is_partial) and proof.evidence:
        if proof.is_proven:
            return _proven(view, is_wide=is_wide)
        if proof.state in (State.HOLDING, State.PROVEN) and _is_watched(proof):
            return _holding(view, is_wide=is_wide)
    news = newest_break(proof, view.now_s)
    if news is not None and word in ("IN USE", "NOT CLEAR", "UNKNOWN", "ZERO", "AT BASELINE"):
        return _broken(news, view, word, is_wide=is_wide)
    return None


def _is_watched(proof: Proof) -> bool:
    return all(host.unwatched_since_s is None for host in proof.hosts)


def newest_break(proof: Proof, now_s: float) -> Break | None:
    """Return what broke a hold or proof in the last minute and was not made good since.

    Of several hosts only a proof counts: one host's hold that begins by itself and breaks is no
    reason to hide what the others hold.
    """
    is_alone = len(proof.hosts) == 1 or proof.policy.scope is not None
    broken = [
        host.broken
        for host in proof.hosts
        if host.broken is not None
        and host.state is State.BROKEN
        and host.broken.clear_s is not None
        and (is_alone or host.broken.was_proven)
    ]
    fresh = [one for one in broken if now_s - one.at_s < NEWS_S]
    return max(fresh, key=lambda one: one.at_s, default=None)


def counted(proof: Proof) -> str:
    """Write `8 of 8 GPUs`, `2 of 2 marked GPUs`."""
    number = sum(len(one.gpus) for one in proof.evidence)
    marked = "marked " if proof.policy.scope is not None else ""
    return f"{number} of {number} {marked}GPU{'' if number == 1 else 's'}"


def level(proof: Proof) -> str:
    """Write at what the GPUs are."""
    match proof.basis:
        case Basis.FREE:
            return f"with {format_memory(proof.policy.free_bytes or 0)} free"
        case Basis.BASELINE:
            return "at baseline"
        case _:
            return "at 0 MiB"


def held_s(proof: Proof) -> float:
    """Return how much of the hold every host has done."""
    hold_s = proof.policy.hold_s
    return min((min(host.held_s, hold_s) for host in proof.hosts), default=0.0)


def _began_s(proof: Proof) -> float:
    return max((one.first.at_s for one in proof.evidence), default=0.0)


def _holders(proof: Proof) -> str:
    handles = [one.handles for one in proof.evidence if one.handles]
    if any(one.unlisted for one in proof.evidence):
        return "holders not readable, memory is"
    if not handles:
        return "no holders" if all(one.scan for one in proof.evidence) else "nobody listed"
    if len(handles) > 1:
        return f"open handles on {len(handles)} hosts, no memory"
    # Who they are is in the panel; here it would push out how long it was held.
    return outside(handles[0].partition(":")[0], 60)


def _holding(view: ProofView, *, is_wide: bool) -> Story:
    proof = view.proof
    done, hold = held_s(proof), proof.policy.hold_s
    progress = f"{done:.1f} of {hold:g} s"
    delays = [host.delay for host in proof.hosts if host.delay]
    filled = min(BAR, int(BAR * done / hold)) if hold else BAR
    bar: Row = ((" " * filled, "text on clear-bar"), (" " * (BAR - filled), "text on bar-track"))
    until = f"clear at {view.wall_of(view.now_s + hold - done)}"
    second = ((*bar, (f"  {until}", "text")),) if is_wide else (fact(until),)
    return Story(
        tone="holding",
        symbol="zero",
        word="ZERO, HOLDING" if proof.basis is Basis.ZERO else "HOLDING",
        since=f"since {view.wall_of(_began_s(proof))}",
        headline=(
            fact(progress, "text-strong b"),
            fact(f"{counted(proof)} {level(proof)}"),
            fact(_holders(proof)),
        ),
        second=(fact(f"began anew: {delays[0]}", "unknown"), *second) if delays else second,
        keys=(STOP,),
        short=fact(f"{done:.0f} of {hold:g} s", "text-strong b"),
    )


def proven_word(proof: Proof) -> str:
    """Return the badge of a proof that is complete."""
    if proof.policy.scope is not None:
        return "MARKED CLEAR" if proof.basis is Basis.ZERO else "MARKED: BASELINE"
    match proof.basis:
        case Basis.BASELINE:
            return "ALL AT BASELINE"
        case Basis.FREE:
            return "FREE AS ASKED"
        case _:
            return "ALL CLEAR"


def _proven(view: ProofView, *, is_wide: bool) -> Story:
    proof = view.proof
    began_s = _began_s(proof)
    proven = max((one.proven.at_s for one in proof.evidence if one.proven), default=began_s)
    hold = f"held {proof.policy.hold_s:g} s, proven {view.wall_of(proven)}"
    watched = f"clear since {view.wall_of(began_s)} and still watched: any claim breaks it here"
    if not is_wide:
        watched = f"watched since {view.wall_of(began_s)}"
    why = proof.reach.why
    reach = (fact(f"not seen: {', '.join(why)}", "text-muted"),) if why else ()
    keys: Keys = (VERIFY,)
    return Story(
        tone="clear",
        symbol="clear",
        word=proven_word(proof),
        since=f"for {format_duration(view.now_s - began_s)}",
        headline=(
            fact(f"{counted(proof)} {level(proof)}", "text-strong b"),
            fact(_holders(proof)),
            fact(hold),
        ),
        second=(fact(watched), *reach),
        keys=keys,
        short=fact(f"{counted(proof)} {level(proof)}", "text-strong b"),
    )


def _broken(broken: Break, view: ProofView, word: str, *, is_wide: bool) -> Story:
    is_launch = broken.kind is BreakKind.LAUNCH
    tone = {"NOT CLEAR": "bad", "UNKNOWN": "unknown"}.get(word, "use")
    several = len(view.proof.hosts) > 1
    where = f"{outside(broken.host, 40)}, " if several else ""
    what = f"{where}{broken_what(broken)}"
    clear = f"was clear for {format_duration(broken.clear_s or 0.0, tenths=True)}"
    loud = "text-strong b" if is_launch else "leftover b" if broken.is_alarm else "unknown b"
    who = outside(_who(broken), 160)
    at = f" at {view.wall_of(broken.at_s)}"
    return Story(
        tone="use" if is_launch else tone,
        symbol="going" if is_launch else {"use": "use", "bad": "bad"}.get(tone, "unknown"),
        word="STARTING" if is_launch else word,
        since=f"since {view.wall_of(broken.at_s)}",
        headline=(fact(clear, "text-strong b"), fact(what, loud))
        if is_wide
        else (fact(what, loud),),
        second=(fact(f"{who}{at}"),),
        keys=(VERIFY,),
        short=fact(what, loud),
    )


def broken_what(broken: Break) -> str:
    """Write `GPU 3: +512 MiB`, or the reason where it is not memory."""
    many = len(broken.gpus) > 1
    where = f"GPU{'s' if many else ''} {index_list(list(broken.gpus))}: " if broken.gpus else ""
    if not broken.delta_bytes:
        return f"{where}{outside(broken.reason, 120)}"
    return f"{where}{'first ' if many else ''}+{format_memory(broken.delta_bytes)}"


def _who(broken: Break) -> str:
    if broken.who is not None:
        return broken.who.words
    if broken.suspects:
        return "nobody listed; open by " + ", ".join(one.words for one in broken.suspects[:2])
    if broken.delta_bytes:
        return "nobody is listed for it" if broken.is_settled else "asking who it is"
    return broken.reason


def phases(proof: Proof) -> dict[str, tuple[str, frozenset[str] | None]]:
    """Return `holding` or `proven` for each host that is watched, and which of its GPUs are."""
    return {
        host.name: (_phase(host), frozenset(gpu.info.key for gpu in host.evidence.gpus))
        for host in proof.hosts
        if host.evidence is not None and host.unwatched_since_s is None
    }


def _phase(host: HostProof) -> str:
    if host.is_proven:
        return "proven"
    return "holding" if host.state is State.HOLDING else ""


def looked_at(proof: Proof) -> str:
    """Write how many processes the newest scans saw."""
    scans = [one.scan for one in proof.evidence if one.scan is not None]
    seen = sum(scan.seen for scan in scans)
    blind = sum(scan.unreadable for scan in scans)
    return f"{plural(seen, 'process', 'processes')} looked at, {blind} unreadable"
