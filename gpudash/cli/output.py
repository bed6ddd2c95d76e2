"""The only writer of stdout: data, in the format that was asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from gpudash.core.errors import GpudashError

FORMATS = ("table", "csv", "json", "jsonl")


class Closed(Exception):
    """The reader of stdout has gone away."""


def write(text: str) -> None:
    """Write text and flush.

    Raises Closed when nobody reads any more, GpudashError where it can't be written (a full disk).
    """
    if sys.stdout is None:
        raise Closed
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError as error:
        _write_no_more()
        raise Closed from error
    except OSError as error:
        _write_no_more()
        raise GpudashError(f"stdout can't be written: {error.strerror}") from error


def write_bytes(data: bytes) -> None:
    """Write what somebody else said, as it is; where nobody reads any more it is dropped."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError:
        _write_no_more()


def _write_no_more() -> None:
    """Python flushes stdout once more at exit; that must not fail again."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)


def write_json(value: Mapping[str, object]) -> None:
    """Write one indented JSON document."""
    write(json.dumps(value, indent=2, ensure_ascii=not _is_unicode()) + "\n")


def write_line(value: Mapping[str, object]) -> None:
    """Write one JSON line."""
    write(json.dumps(value, separators=(",", ":"), ensure_ascii=not _is_unicode()) + "\n")


def _is_unicode() -> bool:
    return sys.stdout is not None and "utf" in (sys.stdout.encoding or "").lower()


def write_csv(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write CSV with a header; None is an empty cell."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    write(text.getvalue())


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Return rows in aligned columns, two blanks apart; columns in `right` end flush."""
    columns = max((len(row) for row in rows), default=0)
    widths = [
        max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(columns)
    ]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(widths[at]) if at in right else cell.ljust(widths[at])
            for at, cell in enumerate(row)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"
