"""What a proof tells, in words: the same sentences on a screen, on stderr and in the record."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.holding import Scan
from gpudash.core.masking import masked_command
from gpudash.core.proof import Break, Evidence, Moment, Proof, State, Tell, break_sentence
from gpudash.core.units import ceil_mib, format_duration, plural


def evidence_words(evidence: Evidence) -> str:
    """Return `8 of 8 GPUs at 0 MiB`, or at their baseline, or with what they hold."""
    count = len(evidence.gpus)
    all_of = f"{count} of {plural(count, 'GPU')}"
    if count == 1:
        all_of = f"GPU {evidence.gpus[0].info.index}"
    match evidence.basis.value:
        case "zero":
            return f"{all_of} at 0 MiB"
        case "baseline":
            most = max((gpu.last_bytes for gpu in evidence.gpus), default=0)
            return f"{all_of} at the accepted baseline, at most {ceil_mib(most)} MiB"
        case _:
            return f"{all_of} with enough memory free"


def tell_words(tell: Tell, hold_s: float, delay: str = "") -> str:
    """Return what happened on one host as one sentence; `delay` is why it began anew."""
    evidence = tell.evidence
    held = evidence_words(evidence) if evidence else "nothing"
    match tell.moment:
        case Moment.BEGAN:
            return f"{held}, holding for {format_duration(hold_s, tenths=True)}"
        case Moment.ANEW:
            return f"the hold begins anew: {delay}{'; ' if delay else ''}{held}"
        case Moment.SUSPENDED:
            return "nothing comes: the hold stands still"
        case Moment.RESUMED:
            return "readings come again, none is missing: the hold goes on"
        case Moment.PROVEN:
            held_s = evidence.held_s if evidence else 0.0
            return f"{held}, held {format_duration(held_s, tenths=True)}"
        case Moment.BROKE | Moment.NAMED:
            return break_words(tell.broken) if tell.broken else "broken"
        case Moment.LAPSED:
            return "this machine slept: not watched since"
        case Moment.SCANNED:
            return _scan_words(evidence.scan if evidence else None)


def delay_words(proof: Proof) -> list[str]:
    """Return why holds that run take longer than asked for, one clause a host."""
    held = [one for one in proof.hosts if one.state is State.HOLDING and one.delay]
    return [f"{one.name}: the hold began anew: {one.delay}" for one in held]


def break_words(broken: Break) -> str:
    """Return the sentence that names a break, without what looks like a secret."""
    who = broken.who and replace(broken.who, command=masked_command(broken.who.command))
    suspects = tuple(replace(one, command=masked_command(one.command)) for one in broken.suspects)
    return break_sentence(replace(broken, who=who, suspects=suspects))


def _scan_words(scan: Scan | None) -> str:
    if scan is None:
        return "the processes were not scanned"
    holders = sum(1 for one in scan.processes if one.handles and one.pid not in scan.own)
    unread = f", {scan.unreadable} not readable" if scan.unreadable else ""
    return f"{plural(scan.seen, 'process', 'processes')} seen, {holders} with open handles{unread}"
