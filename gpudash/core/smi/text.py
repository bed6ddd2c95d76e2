"""The text of one CSV answer, taken apart into lines.

A line counts when its newline came. What is left over behind the last one is a row that was cut:
it stands for a GPU, or a process, that can't be read.
"""

from __future__ import annotations

from gpudash.core.smi.fields import columns, header_fields
from gpudash.core.smi.processes import ProcessRow, parse_process_line
from gpudash.core.smi.rows import FatalLine, GpuRow, Line, parse_gpu_line


def _split_lines(text: str) -> tuple[list[str], str]:
    """Return the lines that ended, without their ends, and what is left over behind them."""
    *lines, rest = text.split("\n")
    return [line.rstrip("\r") for line in lines], rest.strip()


def gpu_lines(text: str, asked: tuple[str, ...], has_header: bool | None = False) -> list[Line]:
    """Return the lines of a GPU query; with None as `has_header`, one is looked for."""
    in_columns = asked
    lines: list[Line] = []
    whole, rest = _split_lines(text)
    for line in whole:
        named = None if has_header is False else header_fields(line, asked)
        if named is not None:
            in_columns = columns(asked, named)
        elif line.strip():
            lines.append(parse_gpu_line(line, in_columns))
    if rest:
        cut = parse_gpu_line(rest, in_columns)
        lines.append(cut if isinstance(cut, FatalLine) else GpuRow(is_identified=False))
    return lines


def process_rows(
    text: str, asked: tuple[str, ...], has_header: bool | None = False
) -> list[ProcessRow]:
    """Return the rows of a process query; a row that was cut is a process without a pid."""
    in_columns = asked
    rows: list[ProcessRow] = []
    whole, rest = _split_lines(text)
    for line in whole:
        named = None
        if has_header is not False:
            named = header_fields(line, asked, of_processes=True)
        if named is not None:
            in_columns = columns(asked, named)
        elif row := parse_process_line(line, in_columns):
            rows.append(row)
    if rest:
        rows.append(ProcessRow(uuid=None, pid=None))
    return rows
