"""Which GPUs an answer is about: those that answered, those that could not, those that are gone.

Where a roster was known before, it decides how many there must be. Without one, every broken
row of a single answer stands for one GPU, so that it can't vanish.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gpudash.core.events import Hello
from gpudash.core.model import GpuInfo, HostFacts
from gpudash.core.smi.processes import ProcessRow
from gpudash.core.smi.rows import GpuRow, Line
from gpudash.core.smi.table import unsupported_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What was known of a host's GPUs before."""

    count: int | None = None
    uuids: tuple[str, ...] = ()
    """By index."""

    @property
    def size(self) -> int:
        """How many there must be at least; 0 when nothing is known."""
        return max(self.count or 0, len(self.uuids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The GPUs of an answer."""

    present: tuple[GpuInfo, ...] = ()
    missing: tuple[GpuInfo, ...] = ()
    driver: str | None = None


@dataclass(slots=True)
class _Found:
    infos: dict[str, GpuInfo] = field(default_factory=dict)
    errors: list[GpuRow] = field(default_factory=list)
    anonymous: list[GpuRow] = field(default_factory=list)
    broken: int = 0
    driver: str | None = None


def find_roster(
    lines: Iterable[Line],
    processes: Iterable[ProcessRow],
    expected: Expected,
    *,
    is_stream: bool = False,
) -> Roster:
    """Return the roster of an answer's lines, in order of first appearance."""
    found = _gather(lines)
    infos = list(found.infos.values())
    infos += _of_anonymous(found, expected, is_stream=is_stream)
    infos += _of_errors(found.errors, infos)
    infos += _of_processes(processes, infos)
    gone = list(lacking(infos, expected))
    wanted = min(found.broken, len(gone)) if is_stream else found.broken
    if found.broken and not infos and not gone:
        wanted = max(wanted, 1)
    while wanted > len(gone):
        gone.append(GpuInfo(index=next(_free_indices([*infos, *gone])), uuid=None))
    return Roster(
        present=(*infos, *gone[:wanted]), missing=tuple(gone[wanted:]), driver=found.driver
    )


def _gather(lines: Iterable[Line]) -> _Found:
    found = _Found()
    for row in lines:
        if not isinstance(row, GpuRow):
            continue
        found.driver = row.driver or found.driver
        if row.is_error and row.key is not None:
            found.errors.append(row)
        elif row.is_anonymous:
            found.anonymous.append(row)
        elif row.key is None:
            found.broken += 1
        else:
            known = found.infos.get(row.key)
            index = known.index if known else _index_of(row, found.infos.values())
            found.infos[row.key] = info_of(row, index, known)
    return found


def _index_of(row: GpuRow, known: Iterable[GpuInfo]) -> int:
    return row.index if row.index is not None else next(_free_indices(known))


def _free_indices(known: Iterable[GpuInfo]) -> Iterator[int]:
    taken = {info.index for info in known}
    return (index for index in range(len(taken) + 1_000_000) if index not in taken)


def info_of(row: GpuRow, index: int, known: GpuInfo | None = None) -> GpuInfo:
    """Return the roster entry of a row; what this row doesn't tell stays as it was known."""
    return GpuInfo(
        index=index,
        uuid=row.uuid or (known.uuid if known else None),
        bus_id=row.bus_id or (known.bus_id if known else None),
        name=row.name or (known.name if known else None),
        total_bytes=_either(row.total_bytes, known.total_bytes if known else None),
        reserved_bytes=_either(row.reserved_bytes, known.reserved_bytes if known else None),
        power_limit_mw=_either(row.power_limit_mw, known.power_limit_mw if known else None),
        is_mig=row.is_mig if row.is_mig is not None else bool(known and known.is_mig),
    )


def _either(new: int | None, old: int | None) -> int | None:
    return new if new is not None else old


def _of_anonymous(found: _Found, expected: Expected, *, is_stream: bool) -> list[GpuInfo]:
    """Number rows that don't say whose they are, in the driver's order.

    In a loop nothing tells such ticks apart: without a known count all rows are taken for one.
    """
    rows = found.anonymous
    size = expected.size if is_stream and expected.size else len(rows)
    return [info_of(row, index) for index, row in enumerate(rows[:size])]


def _of_errors(errors: Iterable[GpuRow], known: list[GpuInfo]) -> list[GpuInfo]:
    infos: list[GpuInfo] = []
    for row in errors:
        everybody = [*known, *infos]
        if not any(_is_same(row, info) for info in everybody):
            infos.append(info_of(row, _index_of(row, everybody)))
    return infos


def _is_same(row: GpuRow, info: GpuInfo) -> bool:
    if row.bus_id is not None and info.bus_id is not None:
        return row.bus_id == info.bus_id
    return row.index is not None and row.index == info.index


def _of_processes(rows: Iterable[ProcessRow], known: list[GpuInfo]) -> list[GpuInfo]:
    """Add GPUs that only the process list names."""
    infos: list[GpuInfo] = []
    for row in rows:
        everybody = [*known, *infos]
        is_new = row.uuid is not None and row.uuid.startswith("GPU-")
        is_new = is_new and all(info.uuid != row.uuid for info in everybody)
        if is_new and all(info.uuid is not None for info in everybody):
            infos.append(GpuInfo(index=next(_free_indices(everybody)), uuid=row.uuid))
        elif not everybody:
            infos.append(GpuInfo(index=0, uuid=None))
    return infos


def lacking(infos: list[GpuInfo], expected: Expected) -> Iterator[GpuInfo]:
    """Return what was known before and has no row, with its index where that can be told."""
    present = {info.uuid for info in infos}
    nameless = sum(info.uuid is None for info in infos)
    short = expected.size - len(infos)
    gone = [(place, uuid) for place, uuid in enumerate(expected.uuids) if uuid not in present]
    taken = list(infos)
    for place, uuid in gone[nameless:]:
        is_free = all(info.index != place for info in taken)
        index = place if is_free else next(_free_indices(taken))
        taken.append(GpuInfo(index=index, uuid=uuid))
        yield taken[-1]
        short -= 1
    for _ in range(short):
        taken.append(GpuInfo(index=next(_free_indices(taken)), uuid=None))
        yield taken[-1]


def hellos(roster: Roster, driver: str | None = None) -> list[Hello]:
    """Return one hello, or two when a GPU that was known is gone: then it stays as missing."""
    facts = HostFacts(
        protocol=1,
        source="nvidia-smi",
        python=None,
        driver=driver or roster.driver,
        nvml=None,
        boot_id=None,
        uid=None,
        pid_namespace=None,
        unsupported=unsupported_words(driver or roster.driver),
    )
    whole = (*roster.present, *roster.missing)
    rosters = [whole, roster.present] if roster.missing else [whole]
    return [
        Hello(seq=0, host_monotonic_s=0.0, facts=facts, roster=gpus, interval_s=1.0)
        for gpus in rosters
        if gpus
    ]


def joined(info: GpuInfo, known: GpuInfo | None) -> GpuInfo:
    """Return a GPU of a new roster with what was known of it."""
    if known is None:
        return info
    return replace(
        known,
        index=info.index,
        bus_id=info.bus_id or known.bus_id,
        total_bytes=info.total_bytes if info.total_bytes is not None else known.total_bytes,
    )


def with_name(info: GpuInfo, names: dict[str, str]) -> GpuInfo:
    """Return a GPU with the name that another answer gave it."""
    return replace(info, name=names.get(info.uuid or "", info.name))
