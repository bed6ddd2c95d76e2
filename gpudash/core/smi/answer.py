"""A whole answer of nvidia-smi becomes the events that a probe would have sent.

The same reducer and the same verdict judge it. Every way in which text can fail ends in a
reading without a value, a GPU that is missing, or a link that is down; none in a zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpudash.core.events import Event, LinkDown, Sample
from gpudash.core.fleet import step
from gpudash.core.model import GpuInfo, Host, Problem
from gpudash.core.smi import endings
from gpudash.core.smi.fields import parse_fields
from gpudash.core.smi.inventory import document_events
from gpudash.core.smi.processes import ProcessRow, place_processes
from gpudash.core.smi.roster import Expected, find_roster, hellos
from gpudash.core.smi.rows import FatalLine, GpuRow, Line
from gpudash.core.smi.text import gpu_lines, process_rows
from gpudash.core.smi.ticks import Tick, TickReader
from gpudash.core.verify import Clear, judge_host

_PROCESSES = "compute-apps"
_REMARK = re.compile(r"\([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one or several commands printed, and how they ended."""

    stdout: str
    stderr: str = ""
    exit_code: int | None = None
    """None while it runs or where it isn't known; negative for a signal."""
    query: str = ""
    """Fields of `--query-gpu`; `compute-apps: FIELDS` for processes; `-q -x` for the document.

    Several commands are joined by ` --- `, and their outputs by a line `---`.
    """
    has_header: bool | None = None
    """None: look for one."""
    is_stream: bool = False
    """A loop that went on until it was cut or ended."""
    is_cut: bool = False
    """The text ends in the middle of something."""
    expected: Expected = field(default_factory=Expected)
    driver: str | None = None


def read_text(
    stdout: str,
    stderr: str = "",
    exit_code: int | None = None,
    *,
    query: str,
    format: str | None = None,
    at_end: str | None = None,
    stream: bool = False,
    expected_count: int | None = None,
    expected_uuids: Sequence[str] = (),
    driver: str | None = None,
) -> Host:
    """Return the host that an answer of nvidia-smi describes, ready for `judge_host`.

    `format` is what was asked for (`csv`, `csv,noheader,nounits`); with None a header is looked
    for. `at_end="eof"` says that the text was cut. What the roster knew before comes as a count
    or as UUIDs in index order.
    """
    answer = Answer(
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        query=query,
        has_header=False if "noheader" in (format or "") else None,
        is_stream=stream,
        is_cut=at_end == "eof",
        expected=Expected(count=expected_count, uuids=tuple(expected_uuids)),
        driver=driver,
    )
    return read_answer(answer)


def read_answer(answer: Answer) -> Host:
    """Return the host after all events of an answer."""
    host = Host(name="text")
    for event in answer_events(answer):
        host = step(host, event, 0.0)
    if judge_host(host).clear is Clear.YES and _is_unsound(answer):
        host = _doubted(host, f"nvidia-smi ended with exit code {answer.exit_code}")
    return host


def answer_events(answer: Answer) -> list[Event]:
    """Return what a probe would have sent: hello, samples, and why it ended if it failed."""
    if "-x" in _REMARK.sub("", answer.query).split():
        events = document_events(answer.stdout, answer.expected, is_cut=answer.is_cut)
    else:
        events = _csv_events(answer)
    failed = answer.is_stream and _is_unsound(answer)
    if failed or not any(isinstance(event, Sample | LinkDown) for event in events):
        problem = endings.problem_of(answer.exit_code, answer.stdout, answer.stderr)
        if answer.is_cut and not failed:
            problem = replace(endings.CUT_OFF, detail=problem.detail)
        events.append(LinkDown(problem=problem))
    return events


def _is_unsound(answer: Answer) -> bool:
    return answer.exit_code is not None and answer.exit_code not in endings.SOUND_EXITS


def _doubted(host: Host, doubt: str) -> Host:
    gpus = tuple(
        replace(gpu, reading=replace(gpu.reading, doubt=doubt)) if gpu.reading else gpu
        for gpu in host.gpus
    )
    return replace(host, gpus=gpus)


def _csv_events(answer: Answer) -> list[Event]:
    lines, rows = _parse_outputs(answer)
    roster = find_roster(lines, rows or (), answer.expected, is_stream=answer.is_stream)
    events: list[Event] = [*hellos(roster, answer.driver)]
    if not roster.present:
        fatal = [line.problem for line in lines if isinstance(line, FatalLine)]
        return [*events, *(LinkDown(problem=problem) for problem in fatal[-1:])]
    seq = 0
    for outcome in _outcomes(lines, roster.present):
        if isinstance(outcome, Problem):
            events.append(LinkDown(problem=outcome))
            continue
        seq += 1
        listed = (
            place_processes(rows, roster.present).onto(outcome) if rows is not None else outcome
        )
        events.append(Sample(seq=seq, host_monotonic_s=float(seq), readings=listed))
    return events


def _outcomes(lines: Iterable[Line], present: tuple[GpuInfo, ...]) -> list[Tick | Problem]:
    """Return ticks and fatal problems in the order in which they came."""
    reader = TickReader(present)
    found: list[Tick | Problem] = []
    for line in lines:
        found += reader.feed(line)
        if isinstance(line, FatalLine):
            found.append(line.problem)
    last = reader.finish()
    if last is not None:
        found.append(last)
    if not found and not any(isinstance(line, GpuRow) for line in lines):
        # Only processes were asked for: their GPUs are known and nothing else of them is.
        found.append(reader.empty())
    return found


def _parse_outputs(answer: Answer) -> tuple[list[Line], list[ProcessRow] | None]:
    """Parse the outputs of all commands; the process list is None when nobody asked for it."""
    queries = [part.strip() for part in _REMARK.sub("", answer.query).split("---")]
    outputs = re.split(r"(?m)^---\r?\n", answer.stdout)
    lines: list[Line] = []
    rows: list[ProcessRow] | None = None
    for number, output in enumerate(outputs):
        query = queries[min(number, len(queries) - 1)]
        if query.startswith(_PROCESSES):
            fields = query.removeprefix(_PROCESSES).lstrip(": ")
            asked = parse_fields(fields, of_processes=True)
            rows = (rows or []) + process_rows(output, asked, answer.has_header)
        else:
            lines += gpu_lines(output, parse_fields(query), answer.has_header)
    if answer.is_cut and answer.stdout.endswith("\n"):
        lines.append(GpuRow(is_identified=False))
    return lines, rows
