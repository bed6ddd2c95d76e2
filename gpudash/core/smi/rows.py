"""One line of nvidia-smi's GPU query: a row, an error, an event of the driver, or noise.

Loop mode prints Xid and ECC events between rows, drivers print warnings before them, and shells
print banners. A line counts as a row only with the exact number of columns; one that looks like
a row and can't be used stands for one GPU that can't be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from gpudash.core.model import GpuReading, Problem
from gpudash.core.names import clean_text
from gpudash.core.scope import normal_bus_id
from gpudash.core.smi import cells
from gpudash.core.smi.endings import problem_of_line

MAX_LINE_CHARS = 4096
"""Longer lines are nobody's row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRow:
    """One whole row, or an error line about one GPU."""

    index: int | None = None
    uuid: str | None = None
    bus_id: str | None = None
    """As `normal_bus_id` writes it."""
    name: str | None = None
    total_bytes: int | None = None
    reserved_bytes: int | None = None
    power_limit_mw: int | None = None
    is_mig: bool | None = None
    driver: str | None = None
    is_identified: bool = True
    """False when it can't be said which GPU this is."""
    is_anonymous: bool = False
    """Nothing that identifies a GPU was asked for: only the order tells."""
    is_error: bool = False
    """An error line about this GPU; printed when nvidia-smi starts, perhaps not again."""
    reading: GpuReading = field(default_factory=GpuReading)

    @property
    def key(self) -> str | None:
        """Identity as in `GpuInfo.key`; None where there is none."""
        if not self.is_identified or self.is_anonymous:
            return None
        place = f"index-{self.index}" if self.index is not None else None
        return self.uuid or self.bus_id or place


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """The driver reported an Xid or ECC event between two ticks."""

    bus_id: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningLine:
    """The driver warns of a GPU's infoROM; memory is read all the same."""

    bus_id: str | None
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FatalLine:
    """nvidia-smi can't read this host at all."""

    problem: Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A line of somebody else's."""

    text: str


Line = GpuRow | EventLine | WarningLine | FatalLine | Noise

_BUS = r"[0-9A-Fa-f]{2,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f]{1,2})?"
_FIND_BUS = re.compile(_BUS)
_HANDLE = re.compile(
    r"Unable to determine the device handle for GPU\s*(?P<index>[0-9]{1,4}(?=:\s))?:?\s*"
    rf"(?P<bus>{_BUS})?:?\s*(?P<why>.*)",
    re.IGNORECASE,
)
_INFOROM = re.compile(r"inforom is corrupted", re.IGNORECASE)
_EVENT = re.compile(r"\bXid\b|\bECC\b.*\berror", re.IGNORECASE)
_FAULT = re.compile(r"critical|fallen off the bus|is lost|requires? (?:a )?reset", re.IGNORECASE)
_ROWISH = re.compile(r"GPU-[0-9A-Fa-f]{4,}|(?:^|,)\s*[0-9]+ MiB\s*(?:,|$)")
_TOKEN = re.compile(r"\[([^\][]{1,60})\]")


def parse_gpu_line(line: str, columns: tuple[str, ...]) -> Line:
    """Return what one line without its line end is; `columns` are canonical fields."""
    if stated := _parse_message(line):
        return stated
    split = line.split(",") if len(line) <= MAX_LINE_CHARS else []
    if len(split) == len(columns):
        row = _row(dict(zip(columns, (cell.strip() for cell in split), strict=True)))
        if row is not None:
            return row
    if _looks_like_row(line, split, columns):
        return GpuRow(is_identified=False, reading=_broken_reading(line))
    return Noise(text=line[:MAX_LINE_CHARS])


def _parse_message(line: str) -> Line | None:
    if match := _HANDLE.search(line):
        return _handle_error(match)
    if problem := problem_of_line(line):
        return FatalLine(problem=problem)
    bus = _FIND_BUS.search(line)
    bus_id = normal_bus_id(bus[0]) if bus else None
    if _INFOROM.search(line):
        return WarningLine(bus_id=bus_id, code=14)
    if _EVENT.search(line) or (bus and "," not in line and _FAULT.search(line)):
        return EventLine(bus_id=bus_id, text=clean_text(line))
    return None


def _handle_error(match: re.Match[str]) -> GpuRow:
    code = cells.code_of_text(match["why"]) or cells.UNKNOWN_ERROR
    index, bus = match["index"], match["bus"]
    return GpuRow(
        index=int(index) if index else None,
        bus_id=normal_bus_id(bus) if bus else None,
        is_identified=bool(index or bus),
        is_error=True,
        reading=error_reading(code),
    )


def error_reading(code: int) -> GpuReading:
    """Return the reading of a GPU that answered with nothing but an NVML code."""
    return GpuReading(memory_code=code, processes_code=code, codes=frozenset({code}))


def _broken_reading(line: str) -> GpuReading:
    """Return an unknown reading with the codes of all tokens in the line."""
    found = {cells.code_of(f"[{text}]") for text in _TOKEN.findall(line)}
    return GpuReading(codes=frozenset(code for code in found if code is not None))


def _looks_like_row(line: str, split: list[str], columns: tuple[str, ...]) -> bool:
    if _ROWISH.search(line):
        return True
    tokens = [text for text in _TOKEN.findall(line) if cells.code_of_text(text) is not None]
    if tokens and "," in line:
        return True
    first = columns[0] if columns else ""
    if len(split) < 2 or first not in _CHECKS:
        return False
    return _CHECKS[first](split[0])


_CHECKS: dict[str, Callable[[str], bool]] = {
    "index": lambda cell: cells.index(cell) is not None,
    "uuid": lambda cell: cells.uuid(cell) is not None,
    "pci.bus_id": lambda cell: cells.bus_id(cell) is not None,
    "memory.used": lambda cell: cells.memory_bytes(cell) is not None,
    "memory.total": lambda cell: cells.memory_bytes(cell) is not None,
    "memory.free": lambda cell: cells.memory_bytes(cell) is not None,
    "utilization.gpu": lambda cell: cells.percent(cell) is not None,
    "temperature.gpu": lambda cell: cells.count(cell) is not None,
    "pstate": lambda cell: cells.pstate(cell) is not None,
    "power.draw": lambda cell: cells.milliwatts(cell) is not None,
    "timestamp": lambda cell: re.fullmatch(r"\s*\d{4}/\d\d/\d\d .*", cell) is not None,
    "gpu_recovery_action": lambda cell: cells.recovery_action(cell) not in (None, 99),
    "mig.mode.current": lambda cell: cells.is_enabled(cell) is not None,
}


def _row(row: dict[str, str]) -> GpuRow | None:
    """Decode a row of the right width; None when nothing in it is what its column promises."""
    if not any(_is_sound(name, cell) for name, cell in row.items()):
        return None
    index = cells.index(row.get("index", ""))
    uuid, bus = cells.uuid(row.get("uuid", "")), cells.bus_id(row.get("pci.bus_id", ""))
    return GpuRow(
        index=index,
        uuid=uuid,
        bus_id=normal_bus_id(bus) if bus else None,
        name=cells.name(row.get("name", "")),
        total_bytes=cells.memory_bytes(row.get("memory.total", "")),
        reserved_bytes=cells.memory_bytes(row.get("memory.reserved", "")),
        power_limit_mw=cells.milliwatts(row.get("power.limit", "")),
        is_mig=cells.is_enabled(row.get("mig.mode.current", "")),
        driver=cells.name(row.get("driver_version", "")),
        is_identified=_is_identified(row),
        is_anonymous=not {"index", "uuid", "pci.bus_id"} & row.keys(),
        reading=_reading(row),
    )


def _is_sound(name: str, cell: str) -> bool:
    if cells.code_of(cell) is not None:
        return True
    check = _CHECKS.get(name)
    return check(cell) if check else name not in ("name", "") and cells.count(cell) is not None


def _is_identified(row: dict[str, str]) -> bool:
    """Tell whether the row says which GPU it is; a garbled identity voids it."""
    if "index" in row and cells.index(row["index"]) is None:
        return False
    if "uuid" in row and cells.uuid(row["uuid"]) is None and cells.code_of(row["uuid"]) is None:
        return False
    wanted = {"index", "uuid", "pci.bus_id"} & row.keys()
    return not wanted or any(_CHECKS[name](row[name]) for name in wanted)


def _reading(row: dict[str, str]) -> GpuReading:
    codes = {code for cell in row.values() if (code := cells.code_of(cell)) is not None}
    if not _is_identified(row):
        return GpuReading(codes=frozenset(codes))
    used_cell, total_cell = row.get("memory.used", ""), row.get("memory.total", "")
    used = cells.memory_bytes(used_cell)
    if cells.memory_bytes(total_cell) == 0:
        used = None
    memory_code = cells.code_of(used_cell if "memory.used" in row else total_cell)
    return GpuReading(
        used_bytes=used,
        utilisation_pct=cells.percent(row.get("utilization.gpu", "")),
        power_mw=cells.milliwatts(row.get("power.draw", "")),
        temperature_c=cells.count(row.get("temperature.gpu", "")),
        sm_clock_mhz=cells.count(row.get("clocks.current.sm", ""), "MHz"),
        throttle_bits=cells.bit_mask(row.get("clocks_event_reasons.active", "")),
        pstate=cells.pstate(row.get("pstate", "")),
        recovery_action=cells.recovery_action(row.get("gpu_recovery_action", "")),
        memory_code=memory_code,
        codes=frozenset(codes),
        doubt=_doubt(row, used),
    )


def _doubt(row: dict[str, str], used: int | None) -> str:
    """Say why a 0 proves nothing: used and total come from one call, so both must be numbers."""
    if used == 0 and "memory.total" in row and cells.memory_bytes(row["memory.total"]) is None:
        return "its used memory reads 0 of an unknown total"
    return ""
