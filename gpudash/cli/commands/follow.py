"""`gpudash follow --log FILE --once`: what a finished log says of its start-up."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from gpudash.cli import arguments, diagnostics, output
from gpudash.config.markers import load_catalog
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.names import printable
from gpudash.core.startup import report
from gpudash.core.startup.model import Arrived, LogEnded, Outcome, Startup
from gpudash.core.startup.tracker import Tracker, snapshot, step
from gpudash.core.units import plural

_CHUNK_BYTES = 1 << 16
_CODES = {
    Outcome.READY: ExitCode.OK,
    Outcome.FAILED: ExitCode.START_FAILED,
    Outcome.STARTING: ExitCode.UNKNOWN,
}


def run(words: list[str]) -> int:
    """Read a log to its end and say what became of the start-up."""
    plan = _parse(words)
    startup = read(_chunks(plan.log))
    _show(startup, plan.format)
    if startup.restarts:
        diagnostics.say(
            f"gpudash: {plural(startup.restarts, 'earlier start-up')} in this log; told is the "
            f"last one, from line {startup.first_line}"
        )
    return int(_CODES[startup.outcome])


def _parse(words: list[str]) -> argparse.Namespace:
    parser = arguments.Parser(
        prog="gpudash follow",
        description="Read a log of a start-up to its end: phases, READY, or the line that says why "
        "not. Exit 0 ready, 7 failed (also after ready), 4 neither.",
    )
    parser.add_argument("--log", metavar="FILE", help="the log; - is stdin")
    parser.add_argument("--once", action="store_true", help="the log is finished: report and leave")
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(words)
    if plan.log is None or not plan.once:
        raise UsageError("--log FILE and --once are both needed", hint=f"See: {parser.prog} --help")
    plan.format = arguments.choose(plan.format, output.FORMATS, "format")
    return plan


def read(chunks: Iterator[bytes]) -> Startup:
    """Return what a whole log says. Its lines arrive at no time of ours: the log's own counts."""
    state = Tracker(catalog=load_catalog())
    for data in chunks:
        state, _ = step(state, Arrived(data=data, at_s=0.0))
    state, _ = step(state, LogEnded(at_s=0.0))
    return snapshot(state)


def _chunks(name: str) -> Iterator[bytes]:
    """Yield a file's bytes. Raises UsageError where it can't be read."""
    if name == "-":
        if sys.stdin is None:
            raise UsageError("--log -: stdin is closed")
        descriptor = sys.stdin.fileno()
        yield from iter(lambda: os.read(descriptor, _CHUNK_BYTES), b"")
        return
    try:
        with Path(name).open("rb") as file:
            yield from iter(lambda: file.read(_CHUNK_BYTES), b"")
    except OSError as error:
        raise UsageError(f"--log {name}: {error.strerror}") from error


def _show(startup: Startup, wanted: str) -> None:
    match wanted:
        case "json":
            output.write_json(report.document(startup))
        case "jsonl":
            output.write_line(report.document(startup))
        case "csv":
            output.write_csv(report.CSV_HEADER, list(report.csv_rows(startup)))
        case _:
            rows = [[name.upper() for name in report.HEADER], *map(list, report.rows(startup))]
            said = "".join(f"{printable(line)}\n" for line in report.verdict(startup))
            output.write(output.table(rows) + "\n" + said)
