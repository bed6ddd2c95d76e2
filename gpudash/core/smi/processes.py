"""The answer to `--query-compute-apps`: who is listed on which GPU.

Rows are read from the outside in, because a process name may hold commas. A row without a pid
proves a process that may not be named; it is counted and never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpudash.core import nvml
from gpudash.core.model import GpuInfo, GpuProcess, GpuReading
from gpudash.core.readings import PID_MAX
from gpudash.core.smi import cells
from gpudash.core.smi.fields import PROCESS_FIELDS
from gpudash.core.smi.rows import MAX_LINE_CHARS

_ROWISH = re.compile(r"^\s*(?:GPU|MIG)-|[0-9] MiB\s*$|\[[A-Z][^\]]+\]\s*(?:,|$)|^\s*[0-9]+\s*,")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """One line of the list."""

    uuid: str | None
    """Of the GPU; with MIG, of the parent. None where it was not asked for or is unreadable."""
    pid: int | None
    name: str | None = None
    used_bytes: int | None = None
    code: int | None = None
    """NVML code in place of the pid."""


def parse_process_line(line: str, columns: tuple[str, ...]) -> ProcessRow | None:
    """Return one row; None for noise. A row that can't be read is a process without a pid."""
    columns = columns or PROCESS_FIELDS
    row = _outside_in(line, columns) if len(line) <= MAX_LINE_CHARS else None
    if row is not None and _is_sound(row):
        pid = cells.count(row.get("pid", ""))
        return ProcessRow(
            uuid=cells.uuid(row.get("uuid", "")),
            pid=pid if pid is not None and 0 < pid <= PID_MAX else None,
            name=cells.name(row.get("process_name", "")),
            used_bytes=cells.memory_bytes(row.get("used_gpu_memory", "")),
            code=cells.code_of(row.get("pid", "")),
        )
    return ProcessRow(uuid=None, pid=None) if _ROWISH.search(line) else None


def _outside_in(line: str, columns: tuple[str, ...]) -> dict[str, str] | None:
    split = line.split(",")
    extra = len(split) - len(columns)
    if extra and (extra < 0 or "process_name" not in columns):
        return None
    at = columns.index("process_name") if "process_name" in columns else 0
    joined = [*split[:at], ",".join(split[at : at + extra + 1]), *split[at + extra + 1 :]]
    return dict(zip(columns, (cell.strip() for cell in joined), strict=True))


def _is_sound(row: dict[str, str]) -> bool:
    """Tell whether a row of the right width is one: its GPU or its pid must be what they say."""
    if "uuid" in row:
        return cells.uuid(row["uuid"]) is not None
    return (
        cells.count(row.get("pid", "")) is not None or cells.code_of(row.get("pid", "")) is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessList:
    """Everybody listed, by GPU of a roster."""

    lists: tuple[tuple[GpuProcess, ...] | None, ...]
    """None where the driver keeps no list for that GPU."""
    hidden: tuple[int, ...]

    def onto(self, tick: tuple[GpuReading, ...]) -> tuple[GpuReading, ...]:
        """Return the readings of one tick with this list."""
        return tuple(
            replace(
                reading,
                processes=listed,
                processes_code=nvml.NOT_SUPPORTED if listed is None else None,
                hidden_processes=hidden,
            )
            for reading, listed, hidden in zip(tick, self.lists, self.hidden, strict=True)
        )


def place_processes(rows: Iterable[ProcessRow], roster: tuple[GpuInfo, ...]) -> ProcessList:
    """Sort rows by GPU.

    A row that names no GPU of the roster belongs to the only GPU there is; with several, each
    of them may be the one, so each counts a hidden process.
    """
    places = {info.uuid: place for place, info in enumerate(roster) if info.uuid}
    found: list[dict[int, ProcessRow]] = [{} for _ in roster]
    hidden = [0] * len(roster)
    unsupported: set[int] = set()
    for row in rows:
        place = places.get(row.uuid) if row.uuid else None
        if place is None and len(roster) == 1:
            place = 0
        if place is None:
            hidden = [number + 1 for number in hidden]
        elif row.pid is not None:
            found[place][row.pid] = _larger(found[place].get(row.pid), row)
        elif row.code == nvml.NOT_SUPPORTED:
            unsupported.add(place)
        else:
            hidden[place] += 1
    return ProcessList(
        lists=tuple(
            None if place in unsupported and not rows_of else _processes(rows_of)
            for place, rows_of in enumerate(found)
        ),
        hidden=tuple(hidden),
    )


def _larger(old: ProcessRow | None, new: ProcessRow) -> ProcessRow:
    """Merge two rows of one pid on one GPU: it has one context, whatever it is listed for."""
    if old is None or old.used_bytes is None:
        return new
    return old if (new.used_bytes or 0) <= old.used_bytes else new


def _processes(rows: dict[int, ProcessRow]) -> tuple[GpuProcess, ...]:
    return tuple(
        GpuProcess(pid=pid, used_bytes=row.used_bytes, kinds=frozenset(), name=row.name)
        for pid, row in sorted(rows.items())
    )
