"""The panel `proof`: what carries it, line by line, so that nobody has to believe a badge."""

from __future__ import annotations

from gpudash.core.proof.evidence import Basis, Evidence
from gpudash.core.proof.phases import State
from gpudash.core.units import format_memory, plural
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.proving import ProofView, looked_at
from gpudash.ui.paint.spans import Row, finished, left, outside

_LABEL = 13


def is_shown(view: ProofView | None) -> bool:
    """Tell whether a proof has something to show: while it holds, and once it is complete."""
    return view is not None and view.proof.state in (State.HOLDING, State.PROVEN)


def proof_rows(view: ProofView, width: int, height: int, glyphs: Glyphs) -> tuple[Row, ...]:
    """Paint the panel at this height, borders included."""
    if height < 3:
        return ()
    title = "proof" if view.proof.is_proven else "proof so far"
    start = (Piece(((title, "text-strong b"),)),)
    end: tuple[Piece, ...] = ()
    if view.record:
        explain: Row = (("gpudash explain", "key b"), (" shows it again", "text-muted"))
        record: Row = (("record ", "text-muted"), (outside(view.record, 60), "text"))
        end = (Piece(record, 1), Piece(explain, 2)) if view.proof.is_proven else (Piece(record, 1),)
    body = [_line(label, words, is_done, glyphs) for label, words, is_done in _facts(view)]
    body = [*body, *[()] * (height - 2 - len(body))][: height - 2]
    rows = (
        box.top(start, end, width, "border", glyphs),
        *(box.side(row, width, "border", glyphs) for row in body),
        box.bottom((), (), width, "border", glyphs),
    )
    return tuple(finished(row, width, glyphs) for row in rows)


def _line(label: str, words: str, is_done: bool | None, glyphs: Glyphs) -> Row:
    """Draw one line; `is_done` is None for what goes on with the line above."""
    if is_done is None:
        return (
            (f" {glyphs.waiting} ", "text-muted"),
            (left("", _LABEL), "text"),
            (words, "text-muted"),
        )
    mark = (f" {glyphs.clear} ", "clear b") if is_done else (f" {glyphs.waiting} ", "text-muted")
    return (mark, (left(label, _LABEL), "text"), (words, "text"))


def _facts(view: ProofView) -> list[tuple[str, str, bool | None]]:
    proof, evidence = view.proof, view.proof.evidence
    if not evidence:
        return []
    facts: list[tuple[str, str, bool | None]] = [
        ("memory", _memory(view), True),
        ("gaps", _gaps(view), True),
        *_looks(view),
        ("unexplained", _unexplained(evidence), True),
        ("GPUs", _gpus(view), True),
    ]
    since = sum(one.samples - one.hold_samples for one in evidence if one.proven)
    if proof.is_proven and since:
        facts.append(("since then", f"{plural(since, 'reading')}, all {_level(evidence)}", True))
    notes = [outside(note, 80) for one in evidence for note in one.notes]
    facts += [("note", note, True) for note in notes[:1]]
    return facts


def _level(evidence: tuple[Evidence, ...]) -> str:
    found = {one.basis for one in evidence}
    if Basis.FREE in found:
        return "free as asked"
    return "at baseline" if Basis.BASELINE in found else "zero"


def _memory(view: ProofView) -> str:
    evidence = view.proof.evidence
    gpus = sum(len(one.gpus) for one in evidence)
    hosts = f" on {len(evidence)} hosts" if len(evidence) > 1 else ""
    each = min(one.hold_samples or one.samples for one in evidence)
    least = "at least " if len(evidence) > 1 else ""
    done = [one for one in evidence if one.proven is not None]
    over = ""
    if view.proof.is_proven and done:
        held_s = min(one.proven.host_s - one.first.host_s for one in done if one.proven)
        over = f" over {held_s:.1f} s"
    words = {"zero": "read 0 bytes", "at baseline": "read their baseline"}
    what = words.get(_level(evidence), "had what was asked free")
    return f"all {plural(gpus, 'GPU')}{hosts} {what} in each of {least}{each} readings{over}"


def _gaps(view: ProofView) -> str:
    evidence = view.proof.evidence
    longest = max(one.hold_gap_s if one.proven else one.longest_gap_s for one in evidence)
    allowed = view.proof.policy.most_gap_s
    return f"longest time between two readings {longest:.2f} s ({allowed:.2f} s allowed)"


def _looks(view: ProofView) -> list[tuple[str, str, bool | None]]:
    """Say what was seen of processes at the start and at the end."""
    evidence = view.proof.evidence
    first = [one.first_scan for one in evidence if one.first_scan is not None]
    last = [one.last_scan for one in evidence if one.last_scan is not None]
    if len(first) < len(evidence) and not last:
        asked = any(host.scans_for for host in view.proof.hosts)
        words = "first look under way" if asked else "not looked for: only memory is proven"
        return [("holders", words, False)]
    if any(one.unlisted for one in evidence):
        words = "the driver's list of processes can't be read: only memory is proven"
        return [("holders", words, False)]
    handles = [outside(one.handles, 120) for one in evidence if one.handles]
    seen = handles[0] if handles else "none with memory or a handle"
    if len(last) < len(evidence):
        return [
            ("holders", f"{seen}; {looked_at(view.proof)}", True),
            ("", "second look at the end", None),
        ]
    return [("holders", f"{seen}, at the start and at the end; {looked_at(view.proof)}", True)]


def _unexplained(evidence: tuple[Evidence, ...]) -> str:
    used = sum(gpu.last_bytes for one in evidence for gpu in one.gpus)
    if any(one.basis is Basis.BASELINE for one in evidence):
        return f"{format_memory(used)}, accepted as baseline"
    return "0 bytes" if not used else format_memory(used)


def _gpus(view: ProofView) -> str:
    known = sum(len(one.gpus) for one in view.proof.evidence)
    return f"{known} known, {known} answered, no reset pending"
