"""What gpudash did, as lines of a record: one file a run, one JSON object a line.

A line says in `says` what a person would want to read, and carries in its other members what a
script needs; `explain` renders both without knowing every kind. Times are UTC as the viewer has it
and, where a host speaks, that host's own clock. A line that was cut off by a crash or a full disk
is told apart and never read in part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA = "gpudash.record/1"
BEGIN = "begin"
END = "end"
LOST = "lost"

_RUN = re.compile(r"\d{8}T\d{6}Z-[a-z]{1,12}-[0-9a-f]{4}")
_OWN = ("schema", "run", "n", "utc", "kind", "says", "host", "host_monotonic_s", "boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that happened, before it has a run, a number and a time."""

    kind: str
    """One word: `begin`, `break`, `proof`, `end`; later `plan`, `order`, `signal` …"""
    says: str
    """What happened, as one sentence for a person."""
    host: str | None = None
    """None for what is about no host alone."""
    host_monotonic_s: float | None = None
    """That host's clock; None where it did not say."""
    boot_id: str | None = None
    """Of that host: what its clock counts from."""
    details: Mapping[str, object] = field(default_factory=dict)
    """Further members, as JSON values; none may be named like those above."""


def run_id(utc: str, topic: str, salt: int) -> str:
    """Return `20261129T120642Z-proof-3f2a` from a time `2026-11-29T12:06:42.123Z`.

    Ids sort by time. Raises ValueError for a topic that is not one short word.
    """
    stamp = utc.partition(".")[0].rstrip("Z").replace("-", "").replace(":", "")
    name = f"{stamp}Z-{topic}-{salt & 0xFFFF:04x}"
    if not is_run_id(name):
        raise ValueError(name)
    return name


def is_run_id(text: str) -> bool:
    """Tell whether a text is the whole id of a run."""
    return _RUN.fullmatch(text) is not None


def encode(line: Line, *, run: str, number: int, utc: str) -> bytes:
    """Return a line as it stands in the file. Raises ValueError for a member named twice."""
    twice = set(line.details) & set(_OWN)
    if twice:
        raise ValueError(f"named twice: {', '.join(sorted(twice))}")
    document: dict[str, object] = {
        "schema": SCHEMA,
        "run": run,
        "n": number,
        "utc": utc,
        "kind": line.kind,
        "says": line.says,
    }
    if line.host is not None:
        document["host"] = line.host
        document["host_monotonic_s"] = line.host_monotonic_s
        document["boot_id"] = line.boot_id
    document.update(line.details)
    # ASCII: half a character from outside can be written, and every reader takes it.
    return json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run as read from its file."""

    run: str
    lines: tuple[Mapping[str, object], ...]
    """Whole lines, in the order written."""
    damaged: int = 0
    """Lines that are none: they were left out."""
    is_torn: bool = False
    """The last line was cut off: whoever wrote it was killed, or the disk was full."""

    @property
    def has_ended(self) -> bool:
        """Tell whether the run said its last word."""
        return bool(self.lines) and self.lines[-1].get("kind") == END

    @property
    def first(self) -> Mapping[str, object]:
        """Return the line that says what was wanted; empty where even that is missing."""
        return self.lines[0] if self.lines and self.lines[0].get("kind") == BEGIN else {}

    @property
    def last(self) -> Mapping[str, object]:
        """Return the newest line; empty where there is none."""
        return self.lines[-1] if self.lines else {}


def parse_record(run: str, data: bytes) -> Record:
    """Read a record's bytes; what is no line of this run is counted, never guessed at."""
    *whole, rest = data.split(b"\n")
    lines = [_parsed(run, line) for line in whole if line]
    return Record(
        run=run,
        lines=tuple(line for line in lines if line is not None),
        damaged=sum(line is None for line in lines),
        is_torn=bool(rest),
    )


def _parsed(run: str, data: bytes) -> Mapping[str, object] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA or value.get("run") != run:
        return None
    texts = all(isinstance(value.get(name), str) for name in ("utc", "kind", "says"))
    return value if texts else None


def begun(
    command: tuple[str, ...],
    *,
    version: str,
    user: str,
    machine: str,
    hosts: tuple[str, ...],
    is_simulated: bool,
    **details: object,
) -> Line:
    """Return the first line: what was wanted, by whom, where."""
    return Line(
        kind=BEGIN,
        says=" ".join(command),
        details={
            "command": list(command),
            "gpudash": version,
            "user": user,
            "machine": machine,
            "hosts": list(hosts),
            "simulated": is_simulated,
            **details,
        },
    )


def ended(exit_code: int, says: str, **details: object) -> Line:
    """Return the last line: how it ended."""
    return Line(kind=END, says=says, details={"exit_code": exit_code, **details})
