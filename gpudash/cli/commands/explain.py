"""`gpudash explain [RUN]`: what a proof, a cleanup or a start-up did, from its record."""

from __future__ import annotations

import argparse

from gpudash.cli import arguments, diagnostics, output
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.explained import Story, told
from gpudash.core.record import Record
from gpudash.core.storytelling import as_markdown, as_text
from gpudash.services.record_files import find_run, list_runs, read_record, records_folder
from gpudash.services.unfinished import unfinished_orders

SCHEMA = "gpudash.explain/1"
FORMATS = ("text", "markdown", "json", "jsonl", "table")
"""`table`, as other commands call what is for a person, is text."""
LIST_FORMATS = ("table", "csv", "json", "jsonl")
HEADER = ("run", "began", "ended", "exit_code", "command", "outcome")


def run(words: list[str]) -> int:
    """Print one record, or list all."""
    plan = _parse(words)
    if plan.list:
        return _list(plan.format)
    folder = records_folder()
    record = read_record(folder, find_run(folder, plan.run))
    if plan.run is None and (newest := list_runs(folder)[0]) != record.run:
        diagnostics.say(f"gpudash: {newest} has not even its first line: this is an older record")
    story = told(record)
    match plan.format:
        case "json":
            output.write_json(_document(record, story))
        case "jsonl":
            for line in record.lines:
                output.write_line(line)
        case "markdown":
            output.write(as_markdown(story))
        case _:
            output.write(as_text(story))
    for one in unfinished_orders():
        if one.run != record.run:
            continue
        missing = (
            "the host may still keep the order's reports, which are on record; to let it forget"
            if one.is_fetched
            else "what the order came to is not on record; where the host still knows"
        )
        diagnostics.say(f"gpudash: {one.host}: {missing}: gpudash clean --resume {record.run}")
    for doubt in story.doubts:
        diagnostics.say(f"gpudash: {record.run}: {doubt}")
    return int(ExitCode.OK)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = arguments.Parser(
        prog="gpudash explain",
        description="What a run did, from its record; exit 2 where there is none. Records are kept "
        "in the state folder: the newest 500, at most 64 MiB.",
    )
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="its id, the beginning of it, or its last four characters; default: the newest",
    )
    parser.add_argument("--list", action="store_true", help="list all records, newest first")
    parser.add_argument(
        "--format",
        metavar="F",
        help=f"{' | '.join(FORMATS)}; with --list: {' | '.join(LIST_FORMATS)}",
    )
    plan = parser.parse_words(words)
    known = LIST_FORMATS if plan.list else FORMATS
    plan.format = arguments.choose(plan.format or known[0], known, "format")
    if plan.run == "":
        raise UsageError("RUN is an empty word", hint="Leave it out for the newest record.")
    if plan.list and plan.run:
        parser.error("--list takes no RUN")
    return plan


def _document(record: Record, story: Story) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "run": record.run,
        "ended": record.has_ended,
        "outcome": story.outcome,
        "torn": record.is_torn,
        "damaged": record.damaged,
        "lines": list(record.lines),
    }


def _list(wanted: str) -> int:
    folder = records_folder()
    rows = [_row(read_record(folder, run)) for run in list_runs(folder)]
    match wanted:
        case "json":
            output.write_json({"schema": SCHEMA, "records": rows})
        case "jsonl":
            for row in rows:
                output.write_line({"schema": SCHEMA, **row})
        case "csv":
            output.write_csv(HEADER, [[row[name] for name in HEADER] for row in rows])
        case _ if rows:
            shown = [[str(row[name]) for name in ("run", "outcome", "command")] for row in rows]
            output.write(output.table([["RUN", "OUTCOME", "COMMAND"], *shown]))
        case _:
            output.write(f"No record in {folder}\n")
    return int(ExitCode.OK)


def _row(record: Record) -> dict[str, object]:
    story = told(record)
    return {
        "run": record.run,
        "began": record.lines[0]["utc"] if record.lines else None,
        "ended": record.has_ended,
        "exit_code": record.last.get("exit_code") if record.has_ended else None,
        "command": story.command,
        "outcome": story.outcome,
    }
