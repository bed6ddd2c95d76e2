"""Which field stands in which column.

A query names its fields; the header, where there is one, has the last word, because new drivers
print other names than those asked for (`clocks_throttle_reasons` → `clocks_event_reasons`) and
keep the unit in the header even with `nounits`.
"""

from __future__ import annotations

import re

_ALIASES = {
    "gpu_uuid": "uuid",
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "gpu_index": "index",
    "gpu_util": "utilization.gpu",
    "mem_util": "utilization.memory",
    "clocks.gr": "clocks.current.graphics",
    "clocks.sm": "clocks.current.sm",
    "clocks.mem": "clocks.current.memory",
    "used_memory": "used_gpu_memory",
    "mig.mode": "mig.mode.current",
}

GPU_FIELDS = frozenset(
    {
        "uuid",
        "index",
        "pci.bus_id",
        "name",
        "memory.used",
        "memory.total",
        "memory.reserved",
        "utilization.gpu",
        "power.draw",
        "power.limit",
        "temperature.gpu",
        "clocks.current.sm",
        "clocks_event_reasons.active",
        "pstate",
        "gpu_recovery_action",
        "mig.mode.current",
        "driver_version",
    }
)
"""What is read of a GPU; every other column is only looked at for tokens."""

PROCESS_FIELDS = ("uuid", "pid", "process_name", "used_gpu_memory")
"""Assumed for a process list whose fields are not known."""

_OTHER_FIELDS = frozenset({"timestamp", "count", "pid", "process_name", "used_gpu_memory"})
_HEADER_CELL = re.compile(r"([a-z][a-z0-9_.]*)(?: \[[^\]]*\])?")


def canonical(field: str) -> str:
    """Return a field's present name."""
    field = field.strip().lower()
    field = field.replace("clocks_throttle_reasons.", "clocks_event_reasons.")
    return _ALIASES.get(field, field)


def parse_fields(text: str, *, of_processes: bool = False) -> tuple[str, ...]:
    """Return the canonical fields of a comma-separated query."""
    fields = tuple(canonical(field) for field in text.split(",")) if text.strip() else ()
    return tuple(_of_process(field) for field in fields) if of_processes else fields


def _of_process(field: str) -> str:
    return "process_name" if field == "name" else field


def header_fields(
    line: str, asked: tuple[str, ...] = (), *, of_processes: bool = False
) -> tuple[str, ...] | None:
    """Return the fields that a line names, or None when it is no header.

    A header has the width of the query; where the fields asked for are not known, any.
    """
    matches = [_HEADER_CELL.fullmatch(cell.strip()) for cell in line.split(",")]
    names = tuple(canonical(match[1]) for match in matches if match)
    if len(names) != len(matches) or (asked and len(names) != len(asked)):
        return None
    if not any(name in GPU_FIELDS or name in _OTHER_FIELDS for name in names):
        return None
    return tuple(_of_process(name) for name in names) if of_processes else names


def columns(asked: tuple[str, ...], printed: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the field of each column, from the query and the header.

    The header counts where it names a field that is read here; a name that is not known keeps
    the query's meaning at its position.
    """
    if printed is None:
        return asked
    if len(printed) != len(asked) or sorted(printed) == sorted(asked):
        return printed
    known = GPU_FIELDS | _OTHER_FIELDS
    return tuple(new if new in known else old for old, new in zip(asked, printed, strict=True))
