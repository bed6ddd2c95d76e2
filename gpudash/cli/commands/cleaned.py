"""What `clean` prints: plans, progress, and how each host ended."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping, Sequence

from gpudash.cli import output
from gpudash.core.cleanup.consent import Given, chosen
from gpudash.core.cleanup.documents import plan_document
from gpudash.core.cleanup.leavings import leavings_document, leavings_words
from gpudash.core.cleanup.lines import ending_row, family_row, target_row
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.results import HostResult, ending_words
from gpudash.core.cleanup.state import State
from gpudash.core.errors import ExitCode
from gpudash.core.names import clean_text, printable
from gpudash.core.prooflines import proof_document
from gpudash.core.units import format_duration, format_memory, plural

SCHEMA = "gpudash.clean/1"
HEADER = ("host", "index", "uuid", "outcome", "reason", "exit_code")
FORMATS = ("table", "json", "jsonl", "csv", "sh")


def host_document(result: HostResult, given: Given) -> dict[str, object]:
    """Return how the cleanup of one host ended."""
    plan = result.plan
    picked = chosen(plan, given) if plan is not None else frozenset()
    hold = result.hold
    return {
        "host": result.host,
        "exit_code": int(result.exit_code),
        "outcome": result.outcome.value,
        "says": clean_text(result.says, 600),
        "simulated": result.is_simulated,
        "refused": result.refused or None,
        "ordered": result.was_sent,
        "plan": None if plan is None else plan_document(plan),
        "chosen": sorted(family_id[0] for family_id in picked),
        "gpus": [ending_row(ending) for ending in result.endings],
        "families": [family_row(one) for one in result.families],
        "targets": [target_row(one) for one in result.targets],
        "confirmed_at": _utc(result.times.confirmed_unix_s),
        "times": result.times.since_confirmed(),
        "picked_up": [
            {
                "run": one.run,
                "says": one.says,
                "targets": [target_row(target) for target in one.targets],
            }
            for one in result.picked_up
        ],
        "leftovers": None if result.leavings is None else leavings_document(result.leavings),
        "hold": None if hold is None else {"hold_s": hold[0], "why": hold[1]},
        "proof": None if result.proof is None else proof_document(result.proof),
    }


def _utc(unix_s: float | None) -> str | None:
    if unix_s is None:
        return None
    at = datetime.datetime.fromtimestamp(unix_s, datetime.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def document(
    results: Sequence[HostResult], given: Given, run: str, *, code: ExitCode, is_dry: bool
) -> dict[str, object]:
    """Return the whole report."""
    return {
        "schema": SCHEMA,
        "simulated": any(one.is_simulated for one in results),
        "dry_run": is_dry,
        "exit_code": int(code),
        "record": run or None,
        "hosts": [host_document(one, given) for one in results],
    }


def report(
    results: Sequence[HostResult],
    given: Given,
    run: str,
    wanted: str,
    *,
    code: ExitCode,
    texts: Mapping[str, str],
    is_dry: bool,
    was_asked: bool,
) -> None:
    """Print how it ended; where nobody reads, the exit code still counts.

    `texts` are the plans by host, for a table of a dry run; `was_asked` is --shm.
    """
    with contextlib.suppress(output.Closed):
        match wanted:
            case "json":
                output.write_json(document(results, given, run, code=code, is_dry=is_dry))
            case "jsonl":
                for one in results:
                    line = {"schema": SCHEMA, "record": run or None, "dry_run": is_dry}
                    output.write_line({**line, **host_document(one, given)})
            case "csv":
                output.write_csv(HEADER, _rows(results))
            case _ if is_dry:
                for one in results:
                    output.write(texts.get(one.host, ""))
                output.write(_would_be(results))
            case _:
                output.write(_outcomes(results, was_asked=was_asked))


def _rows(results: Sequence[HostResult]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for one in results:
        code = int(one.exit_code)
        if not one.endings:
            rows.append((one.host, None, None, one.outcome.value, one.says, code))
        rows += [
            (one.host, end.index, end.gpu, end.outcome.value, end.reason or None, code)
            for end in one.endings
        ]
    return rows


def _outcomes(results: Sequence[HostResult], *, was_asked: bool) -> str:
    lines = []
    for one in results:
        marks = " SIMULATED" if one.is_simulated else ""
        says = printable(one.says)
        lines.append(f"{one.host}: {one.outcome.value}{marks}  {says}  (exit {int(one.exit_code)})")
        if len(one.endings) > 1 and one.outcome is not Outcome.CLEANED:
            lines += [f"  {printable(ending_words(ending))}" for ending in one.endings]
        lines += [f"  {printable(one.advice)}"] if one.advice else []
        lines += [f"  {words}" for words in _took(one)]
        if one.leavings is not None:
            left = leavings_words(one.leavings, was_asked=was_asked)
            lines += [f"  {printable(words)}" for words in left]
    return "\n".join(lines) + "\n"


def _would_be(results: Sequence[HostResult]) -> str:
    """Return where a dry run leaves each host: what its GPUs read now."""
    words = []
    for one in results:
        code = int(one.exit_code)
        words.append(f"{one.host}: as it is now: {printable(one.says)}  (exit {code})")
    return "\n".join(words) + "\n"


def _took(one: HostResult) -> list[str]:
    times = one.times
    if times.confirmed_s is None or not one.was_sent:
        return []
    said = [
        f"{word} after {format_duration(at - times.confirmed_s, tenths=True)}"
        for word, at in (
            ("first signal", times.first_signal_s),
            ("zero", times.first_zero_s),
            ("proven", times.proven_s),
        )
        if at is not None
    ]
    if one.hold is not None:
        said.append(f"held {format_duration(one.hold[0], tenths=True)}: {one.hold[1]}")
    return [", ".join(said)] if said else []


def progress_words(host: str, state: State) -> str:
    """Return `gpu-a: killing, 2 of 5 ended, 71.2 GiB left`."""
    said = [state.phase.value]
    if state.targets:
        over = sum(target.is_over for target in state.targets)
        said.append(f"{over} of {plural(len(state.targets), 'process', 'processes')} ended")
    used = [size for _, size in state.used if size is not None]
    if used and state.is_sent:
        said.append(f"{format_memory(sum(used))} left")
    return f"{host}: {', '.join(said)}"


def phase_words(host: str, state: State, hold: tuple[float, str] | None) -> str:
    """Return what begins now, as a line of narration; empty where nothing worth it does."""
    count = plural(len(state.targets), "process", "processes")
    match state.phase:
        case Phase.TERMINATING:
            return f"{host}: {count} asked to end"
        case Phase.KILLING:
            left = sum(not target.is_over for target in state.targets)
            return f"{host}: forcing {plural(left, 'process', 'processes')}" if left else ""
        case Phase.HOLDING if hold is not None:
            return f"{host}: zero, holding for {format_duration(hold[0], tenths=True)}: {hold[1]}"
        case _:
            return ""
