"""A second, naive verifier: reads a finished trace as a whole and says whether a claim is true.

It shares no code with the product: raw events in, complaints out. It is slow, has no state and
knows nothing of how a proof is come by; only what must have been so wherever one was claimed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from gpudash.core.events import (
    Event,
    Fault,
    Garbled,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkSlept,
    LinkStale,
    Sample,
)
from gpudash.core.model import GpuInfo, GpuReading
from tests.proof.traces import Trace

HOLD_S = 1.0
MOST_GAP_S = 0.75
LEAST_SAMPLES = 4
LATE_S = 1.75
HIGHEST_PID = 4_194_304
NEW_CLOCK = "another probe, boot or driver"
BAD_CODES = {15, 16, 28}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """At this event of the trace, the verifier says that all is proven."""

    index: int
    first_seq: int
    last_seq: int
    proven_seq: int
    samples: int
    is_zero: bool
    """It says zero, not baseline."""
    uuids: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """One event, looked at by itself."""

    word: str
    """`zero`, `baseline`, `bad`, `loss`, `stall`, `nothing`."""
    seq: int = 0
    host_s: float = 0.0
    delay_s: float = 0.0
    uuids: tuple[str | None, ...] = ()
    interval_s: float = 0.0
    why: str = ""


def complaints(trace: Trace, claims: list[Claim]) -> list[str]:
    """Return what is false about the claims, as sentences; nothing when all of them are true."""
    rows = _rows(trace)
    return [words for claim in claims for words in _judge(rows, claim)]


def _judge(rows: list[_Row], claim: Claim) -> list[str]:
    said: list[str] = []
    told = rows[: claim.index + 1]
    chain: list[_Row] = []
    for row in reversed(told):
        if row.word == "nothing":
            continue
        if row.word == "stall":
            if not chain:
                said.append("claimed while nothing comes")
            continue
        if row.word in ("bad", "loss"):
            said.append(f"claimed over: {row.why}")
            break
        chain.append(row)
        if row.seq == claim.first_seq:
            break
    chain.reverse()
    if not chain or chain[0].seq != claim.first_seq or chain[-1].seq != claim.last_seq:
        return [*said, "the samples of the claim are not there"]
    return said + _judge_chain(chain, claim, told)


def _judge_chain(chain: list[_Row], claim: Claim, told: list[_Row]) -> list[str]:
    said: list[str] = []
    if [row.seq for row in chain] != list(range(claim.first_seq, claim.last_seq + 1)):
        said.append("a sample is missing")
    if len(chain) != claim.samples:
        said.append("the number of samples is another one")
    hold = [row for row in chain if row.seq <= claim.proven_seq]
    gaps = [later.host_s - row.host_s for row, later in itertools.pairwise(hold)]
    if any(not 0 <= gap <= MOST_GAP_S + 1e-9 for gap in gaps):
        said.append("a gap is too long, or the clock went back")
    rest = chain[len(hold) - 1 :]
    for row, later in itertools.pairwise(rest):
        if not 0 <= later.host_s - row.host_s <= max(MOST_GAP_S, 3 * later.interval_s) + 1e-9:
            said.append("a gap after the hold is too long")
    if hold[-1].host_s - hold[0].host_s < HOLD_S or len(hold) < LEAST_SAMPLES:
        said.append("the hold is too short")
    if claim.is_zero and any(row.word != "zero" for row in chain):
        said.append("a baseline was called zero")
    if any(row.uuids != claim.uuids for row in chain):
        said.append("the GPUs are others")
    boots = [place for place, row in enumerate(told) if row.why == NEW_CLOCK]
    since = told[boots[-1] if boots else 0 :]
    here = ("zero", "baseline")
    fastest = min(row.delay_s for row in since if row.word in here or row.why == NEW_CLOCK)
    if claim.proven_seq == claim.last_seq and chain[-1].delay_s - fastest > LATE_S:
        said.append("proven by an old sample")
    return said


# -- one event by itself -----------------------------------------------------------------------


def _rows(trace: Trace) -> list[_Row]:
    rows: list[_Row] = []
    hello: Hello | None = None
    known: list[GpuInfo] = []
    last_seq = -1
    for at_s, event in trace.events:
        if isinstance(event, Hello):
            row = _hello_row(trace, hello, event, at_s - event.host_monotonic_s)
            if event.seq == 0:
                last_seq = -1
            gone = [info for info in known if info.uuid not in {one.uuid for one in event.roster}]
            known = [*event.roster, *gone]
            hello = event
        elif isinstance(event, Sample):
            assert hello is not None, "every trace begins with a greeting"
            row = _sample_row(trace, hello, known, event, at_s)
            is_whole = len(event.readings) == len(hello.roster)
            if is_whole and event.seq <= last_seq:
                row = _Row("nothing")
            elif is_whole:
                last_seq = event.seq
        else:
            row = _other_row(event)
            if row.word == "loss" and isinstance(event, LinkDown | LinkPaused | Fault):
                last_seq = -1 if not isinstance(event, Fault) or event.is_fatal else last_seq
        rows.append(row)
    return rows


def _hello_row(trace: Trace, before: Hello | None, hello: Hello, delay_s: float) -> _Row:
    if before is None:
        return _Row("loss", why=NEW_CLOCK, delay_s=delay_s)
    same = (
        hello.seq != 0
        and hello.facts.boot_id == before.facts.boot_id
        and hello.facts.driver == before.facts.driver
        and _chosen(trace, hello.roster) == _chosen(trace, before.roster)
    )
    if same:
        return _Row("nothing")
    is_new = hello.seq == 0 or hello.facts != before.facts
    return _Row("loss", why=NEW_CLOCK if is_new else "another greeting", delay_s=delay_s)


def _chosen(trace: Trace, roster: tuple[GpuInfo, ...]) -> list[tuple[str | None, bool]]:
    return [(one.uuid, one.is_mig) for one in roster if _is_in(trace, one)]


def _is_in(trace: Trace, info: GpuInfo) -> bool:
    return trace.scope is None or info.index in trace.scope


def _other_row(event: Event) -> _Row:
    match event:
        case LinkStale():
            return _Row("stall")
        case Fault() if event.code is not None and not event.is_fatal:
            return _Row("nothing")
        case Fault() | Garbled() | LinkConnecting() | LinkDown() | LinkPaused() | LinkSlept():
            return _Row("loss", why=type(event).__name__)
        case _:
            return _Row("nothing")


def _sample_row(
    trace: Trace, hello: Hello, known: list[GpuInfo], sample: Sample, at_s: float
) -> _Row:
    if len(sample.readings) != len(hello.roster):
        return _Row("bad", why="a partial sample")
    words: set[str] = set()
    uuids: list[str | None] = []
    by_uuid = {
        info.uuid: reading for info, reading in zip(hello.roster, sample.readings, strict=True)
    }
    for info in known:
        if not _is_in(trace, info):
            continue
        uuids.append(info.uuid)
        reading = by_uuid.get(info.uuid)
        words.add("bad" if reading is None else _gpu_word(trace, hello, info, reading))
    word = next((one for one in ("bad", "baseline", "zero") if one in words), "bad")
    return _Row(
        word,
        seq=sample.seq,
        host_s=sample.host_monotonic_s,
        delay_s=at_s - sample.host_monotonic_s,
        uuids=tuple(uuids),
        interval_s=hello.interval_s,
        why="a GPU that was not clear",
    )


def _gpu_word(trace: Trace, hello: Hello, info: GpuInfo, reading: GpuReading) -> str:
    used = reading.used_bytes
    codes = set(reading.codes) | {part.fault_code for part in reading.mig}
    lists = [reading.processes or (), *(part.processes or () for part in reading.mig)]
    listed = [process for one in lists for process in one]
    if used is None or not info.total_bytes or used > info.total_bytes:
        return "bad"
    if codes & BAD_CODES or reading.recovery_action or reading.doubt or reading.hidden_processes:
        return "bad"
    if any(not 0 < process.pid <= HIGHEST_PID for process in listed):
        return "bad"
    if used == 0:
        parts = [part.used_bytes for part in reading.mig]
        sizes = [process.used_bytes for process in listed]
        return "bad" if any(size != 0 for size in (*parts, *sizes)) else "zero"
    accepted = [
        entry.used_bytes
        for entry in trace.baselines.entries
        if entry.uuid == info.uuid and entry.driver == hello.facts.driver
    ]
    is_idle = not listed and reading.processes is not None
    if any(part.used_bytes is None or part.used_bytes > used for part in reading.mig):
        return "bad"
    is_within = bool(accepted) and used <= accepted[-1] and not trace.baselines.is_strict
    return "baseline" if is_idle and is_within else "bad"
