"""A whole answer of nvidia-smi, given to what the product gives it to.

CSV goes through the Session that every nvidia-smi stream runs, as a single query, as a loop and
as process lists. The document goes through the same parser; the product takes its slices, here all
of it counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gpudash.core.events import Event, Hello, LinkDown, Sample
from gpudash.core.fleet import step
from gpudash.core.model import Host, Problem
from gpudash.core.smi import endings
from gpudash.core.smi.documents import IllFormedError, SmiDocument
from gpudash.core.smi.fields import parse_fields
from gpudash.core.smi.inventory import newest_document
from gpudash.core.smi.processes import ProcessRow
from gpudash.core.smi.roster import Expected, Roster, find_roster, hellos, lacking
from gpudash.core.smi.rows import GpuRow, Line
from gpudash.core.smi.session import Session
from gpudash.core.smi.text import gpu_lines, process_rows

_PROCESSES = "compute-apps"
_REMARK = re.compile(r"\([^)]*\)")
_OLD = "a newer reading was cut off"
NOW_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one or several commands printed, and how they ended.

    Several commands are joined by ` --- ` in the query, and their outputs by a line `---`.
    """

    stdout: str
    stderr: str = ""
    exit_code: int | None = None
    query: str = ""
    has_header: bool | None = None
    is_stream: bool = False
    is_cut: bool = False
    expected: Expected = field(default_factory=Expected)

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """Return each command's query and output."""
        queries = [part.strip() for part in _REMARK.sub("", self.query).split("---")]
        outputs = re.split(r"(?m)^---\r?\n", self.stdout)
        return [(queries[min(at, len(queries) - 1)], text) for at, text in enumerate(outputs)]


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
) -> Host:
    """Return the host that an answer describes, ready for `judge_host`."""
    answer = Answer(
        stdout=stdout,
        stderr=stderr,
        exit_code=exit_code,
        query=query,
        has_header=False if "noheader" in (format or "") else None,
        is_stream=stream,
        is_cut=at_end == "eof",
        expected=Expected(count=expected_count, uuids=tuple(expected_uuids)),
    )
    host = Host(name="text")
    for event in [*known_before(answer.expected), *events_of(answer)]:
        host = step(host, event, 0.0)
    return host


def known_before(expected: Expected) -> list[Hello]:
    """Return how the product knows what a host must have: an earlier greeting."""
    return hellos(Roster(present=tuple(lacking([], expected))))


def events_of(answer: Answer) -> list[Event]:
    if "-x" in _REMARK.sub("", answer.query).split():
        events = document_events(answer)
    else:
        events = csv_events(answer)
    failed = answer.is_stream and endings.is_unsound(answer.exit_code)
    if failed or not any(isinstance(event, Sample | LinkDown) for event in events):
        problem = endings.problem_of(answer.exit_code, answer.stdout, answer.stderr)
        if answer.is_cut and not failed:
            problem = replace(endings.CUT_OFF, detail=problem.detail)
        events.append(LinkDown(problem=problem))
    return events


# -- CSV, through the product's session -------------------------------------------------------


def csv_events(answer: Answer) -> list[Event]:
    gpus = [output for output in answer.outputs if not output[0].startswith(_PROCESSES)]
    lists = [output for output in answer.outputs if output[0].startswith(_PROCESSES)]
    session = Session(1.0, parse_fields(gpus[0][0]) if gpus else ())
    text = "".join(text for _, text in gpus)
    if answer.is_stream or not gpus:
        told = _loop(session, text, answer)
    else:
        told = session.shot(text, answer.stderr, answer.exit_code, NOW_S)
    if isinstance(told, Problem):
        return [LinkDown(problem=told)]
    for query, listed in lists:
        fields = tuple(query.removeprefix(_PROCESSES).lstrip(": ").split(","))
        session.processes(listed, answer.exit_code, NOW_S, fields)
    return [*told, *session.greet(NOW_S)] if lists else told


def _loop(session: Session, text: str, answer: Answer) -> list[Event] | Problem:
    """Run a loop over a roster that an earlier query told."""
    lines, rows = _parsed(answer)
    roster = find_roster(lines, rows, answer.expected, is_stream=answer.is_stream)
    if not roster.present:
        return endings.problem_of(answer.exit_code, answer.stdout, answer.stderr)
    session.adopt(roster.present)
    *whole, rest = text.split("\n")
    events = [event for line in whole for event in session.line(line, NOW_S)]
    return [*events, *session.cut(NOW_S, is_torn=bool(rest.strip()) or answer.is_cut)]


def _parsed(answer: Answer) -> tuple[list[Line], list[ProcessRow]]:
    lines: list[Line] = []
    rows: list[ProcessRow] = []
    for query, text in answer.outputs:
        if query.startswith(_PROCESSES):
            fields = query.removeprefix(_PROCESSES).lstrip(": ")
            rows += process_rows(text, parse_fields(fields, of_processes=True), None)
        else:
            lines += gpu_lines(text, parse_fields(query), answer.has_header)
    if answer.is_cut and answer.stdout.endswith("\n"):
        lines.append(GpuRow(is_identified=False))
    return lines, rows


# -- the document ------------------------------------------------------------------------------


def document_events(answer: Answer) -> list[Event]:
    """Return hello and sample of the newest whole document; nothing when there is none."""
    try:
        document, is_newer_cut = newest_document(answer.stdout)
    except IllFormedError as error:
        return [LinkDown(problem=replace(endings.ILL_FORMED, detail=str(error)[:200]))]
    if document is None:
        return []
    if not document.gpus:
        return [LinkDown(problem=endings.NO_GPUS)]
    return [
        *hellos(_roster(document, answer.expected), document.driver),
        _sample(document, is_newer_cut or answer.is_cut),
    ]


def _roster(document: SmiDocument, expected: Expected) -> Roster:
    size = max(expected.size, document.attached_gpus or 0)
    infos = [gpu.info for gpu in document.gpus]
    gone = lacking(infos, replace(expected, count=size))
    return Roster(present=tuple(infos), missing=tuple(gone))


def _sample(document: SmiDocument, is_old: bool) -> Sample:
    readings = tuple(gpu.reading for gpu in document.gpus)
    if is_old:
        readings = tuple(replace(reading, doubt=reading.doubt or _OLD) for reading in readings)
    return Sample(seq=1, host_monotonic_s=1.0, readings=readings)
