"""`gpudash follow`: what a finished log says of its start-up, or one that is still written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from gpudash.cli import diagnostics, output
from gpudash.cli.commands import followargs
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
    """Follow a start-up and say what became of it."""
    plan = followargs.parse(words)
    is_near = plan.host is None and plan.source.kind in ("path", "stdin")
    if plan.once and is_near:
        startup = read(_chunks(plan.source.value))
        code = int(_CODES[startup.outcome])
    else:
        from gpudash.cli.commands import narrated

        followed, code = narrated.follow(plan, words)
        startup = followed.startup
    show(startup, plan.format)
    if startup.restarts:
        diagnostics.say(
            f"gpudash: {plural(startup.restarts, 'earlier start-up')} in this log; told is the "
            f"last one, from line {startup.first_line}"
        )
    return code


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


def show(startup: Startup, wanted: str) -> None:
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
