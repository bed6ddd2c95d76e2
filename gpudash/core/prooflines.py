"""A proof in the record and in JSON: what happened on each host, with the readings behind it.

Keys are a contract: they are only ever added.
"""

from __future__ import annotations

from gpudash.core.holding import Reach, Scan
from gpudash.core.masking import masked_command
from gpudash.core.names import clean_text
from gpudash.core.proof import (
    Break,
    Claimant,
    Evidence,
    HostProof,
    Moment,
    Proof,
    Tell,
)
from gpudash.core.proofwords import break_words, delay_words, tell_words
from gpudash.core.record import Line
from gpudash.core.verify import GpuVerdict, HostVerdict

KINDS = {
    Moment.BEGAN: "hold",
    Moment.ANEW: "hold",
    Moment.SUSPENDED: "suspended",
    Moment.RESUMED: "resumed",
    Moment.PROVEN: "proof",
    Moment.BROKE: "break",
    Moment.NAMED: "named",
    Moment.LAPSED: "lapsed",
    Moment.SCANNED: "scan",
}
"""Kinds of lines in the record, by what happened."""
MAX_PROCESSES = 64
_READ = frozenset({Moment.BEGAN, Moment.ANEW, Moment.BROKE})
"""What carries readings of its own; evidence has the first and the last ones of a hold."""


# -- lines of the record -----------------------------------------------------------------------


def line_of(tell: Tell, proof: HostProof, hold_s: float) -> Line:
    """Return the line of the record that says what happened; `proof` is the host's, after it."""
    evidence, judged = tell.evidence, proof.judged
    details: dict[str, object] = {}
    if tell.broken is not None:
        details |= break_document(tell.broken)
        evidence = None
    if evidence is not None and tell.moment not in (Moment.BEGAN, Moment.ANEW):
        details |= evidence_document(evidence)
    if tell.moment is Moment.SCANNED and evidence is not None and evidence.scan is not None:
        details = scan_document(evidence.scan)
    if judged is not None and tell.moment in _READ:
        details["readings"] = readings_document(judged)
    return Line(
        kind=KINDS[tell.moment],
        says=tell_words(tell, hold_s, proof.delay),
        host=tell.host,
        host_monotonic_s=_host_clock(tell, judged),
        boot_id=_boot(evidence, judged),
        details=details,
    )


def _host_clock(tell: Tell, judged: HostVerdict | None) -> float | None:
    if tell.broken is not None:
        return tell.broken.host_s
    evidence = tell.evidence
    if evidence is not None and evidence.scan is not None and tell.moment is Moment.SCANNED:
        return evidence.scan.host_monotonic_s
    if evidence is not None:
        return evidence.last.host_s
    return judged.host.host_monotonic_s if judged is not None else None


def _boot(evidence: Evidence | None, judged: HostVerdict | None) -> str | None:
    if evidence is not None:
        return evidence.boot_id
    facts = judged.host.facts if judged is not None else None
    return facts.boot_id if facts is not None else None


def readings_document(judged: HostVerdict) -> list[dict[str, object]]:
    """Return the readings in scope that a verdict stands on."""
    return [_reading(gpu, judged) for gpu in judged.gpus]


def _reading(judged: GpuVerdict, host: HostVerdict) -> dict[str, object]:
    gpu, reading = judged.gpu, judged.gpu.reading
    infos = {info.pid: info for info in host.host.processes}
    listed = (reading.processes or ()) if reading else ()
    return {
        "index": gpu.info.index,
        "uuid": gpu.info.uuid,
        "used_bytes": reading.used_bytes if reading else None,
        "state": gpu.state.value,
        "verdict": judged.verdict.value,
        "reason": judged.reason or None,
        "processes": [
            {
                "pid": one.pid,
                "used_bytes": one.used_bytes,
                "comm": clean_text(infos[one.pid].comm) if one.pid in infos else None,
                "user": clean_text(infos[one.pid].user) if one.pid in infos else None,
            }
            for one in listed[:MAX_PROCESSES]
        ],
    }


def scan_document(scan: Scan) -> dict[str, object]:
    """Return a scan without what could be secret or long: no command lines, no environment."""
    holders = [one for one in scan.processes if one.handles and one.pid not in scan.own]
    return {
        "took_s": scan.took_s,
        "seen": scan.seen,
        "unreadable": scan.unreadable,
        "simulated": scan.is_simulated,
        "notes": list(scan.notes),
        "holders": [
            {
                "pid": one.pid,
                "comm": clean_text(one.comm),
                "user": clean_text(one.user),
                "state": one.state,
                "handles": sum(max(1, handle.count) for handle in one.handles),
                "gpus": sorted({handle.gpu for handle in one.handles if handle.gpu}),
            }
            for one in holders[:MAX_PROCESSES]
        ],
        "listed": [{"pid": pid, "is": existence.value} for pid, existence in scan.listed],
    }


# -- JSON --------------------------------------------------------------------------------------


def proof_document(proof: Proof) -> dict[str, object]:
    """Return a proof over all hosts in scope."""
    basis, reach = proof.basis, proof.reach
    return {
        "state": proof.state.value,
        "hold_s": proof.policy.hold_s,
        "basis": basis.value if basis else None,
        "reach": reach_document_of(reach),
        "simulated": proof.is_simulated,
        "hosts": [host_document(host) for host in proof.hosts],
    }


def reach_document_of(reach: Reach) -> dict[str, object]:
    """Return how far a proof sees."""
    return {"word": reach.word, "why": list(reach.why)}


def host_document(proof: HostProof) -> dict[str, object]:
    """Return the proof on one host."""
    evidence = proof.evidence
    return {
        "host": proof.name,
        "state": proof.state.value,
        "exit_code": int(proof.exit_code),
        "delay": proof.delay or None,
        "evidence": None if evidence is None else evidence_document(evidence),
        "broken": None if proof.broken is None else break_document(proof.broken),
    }


def evidence_document(evidence: Evidence) -> dict[str, object]:
    """Return what carries the proof on one host."""
    return {
        "basis": evidence.basis.value,
        "reach": reach_document_of(evidence.reach),
        "held_s": round(evidence.held_s, 3),
        "samples": evidence.samples,
        "longest_gap_s": round(evidence.longest_gap_s, 3),
        "first_seq": evidence.first.seq,
        "first_host_s": evidence.first.host_s,
        "last_seq": evidence.last.seq,
        "last_host_s": evidence.last.host_s,
        "source": evidence.source,
        "simulated": evidence.is_simulated,
        "driver": evidence.driver,
        "handles": evidence.handles or None,
        "notes": list(evidence.notes),
        "gpus": [
            {
                "index": gpu.info.index,
                "uuid": gpu.info.uuid,
                "first_bytes": gpu.first_bytes,
                "last_bytes": gpu.last_bytes,
                "baseline_bytes": gpu.baseline_bytes,
            }
            for gpu in evidence.gpus
        ],
    }


def break_document(broken: Break) -> dict[str, object]:
    """Return what broke a hold or a proof."""
    return {
        "cause": broken.kind.value,
        "sentence": break_words(broken),
        "clear_s": None if broken.clear_s is None else round(broken.clear_s, 3),
        "was_proven": broken.was_proven,
        "gpu_indices": list(broken.gpus),
        "gpu_uuid": broken.gpu_uuid,
        "delta_bytes": broken.delta_bytes,
        "settled": broken.is_settled,
        "claimants": [
            _claimant(who) for who in (*((broken.who,) if broken.who else ()), *broken.suspects)
        ],
        "code": int(broken.exit_code),
    }


def _claimant(who: Claimant) -> dict[str, object]:
    return {
        "pid": who.pid,
        "command": masked_command(who.command) or None,
        "user": who.user or None,
        "owner": who.owner.value,
        "used_bytes": who.used_bytes,
        "is_host_pid": who.is_host_pid,
        "is_gone": who.is_gone,
    }


def proof_sentences(proof: Proof) -> tuple[str, ...]:
    """Return what a person should know of a proof beside the verdict: breaks, reach, notes."""
    said = [f"{one.name}: {break_words(one.broken)}" for one in proof.hosts if one.broken]
    said += delay_words(proof)
    for evidence in proof.evidence:
        said += [f"{evidence.host}: {note}" for note in evidence.notes]
        if evidence.handles:
            said.append(f"{evidence.host}: {evidence.handles}")
    reach = proof.reach
    if proof.is_proven and not reach.is_full:
        said.append(f"memory is proven; {'; '.join(reach.why)}")
    return tuple(said)
