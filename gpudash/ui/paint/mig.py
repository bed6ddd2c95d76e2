"""A GPU that is split into MIG slices: a row for itself, and one for each slice."""

from __future__ import annotations

from gpudash.core.model import Gpu, MigReading
from gpudash.core.units import format_memory, gib, plural
from gpudash.ui.paint.columns import CardColumns, LineColumns
from gpudash.ui.paint.line import (
    GpuSight,
    age_span,
    bar_of,
    form_of,
    index_text,
    lead,
    numbers,
    with_process,
)
from gpudash.ui.paint.sight import memory_text, who
from gpudash.ui.paint.spans import Row, fit, outside, right, row_width, spread


def mig_row(sight: GpuSight, width: int, columns: LineColumns, *, is_card: bool) -> Row:
    """Draw the parent of MIG slices: its values belong to the slices below."""
    gpu, slices = sight.gpu, slices_of(sight.gpu)
    used = gpu.reading.used_bytes if gpu.reading else None
    gap = "  " if is_card else " "
    start = (*lead(sight, columns.lead), *index_text(sight, columns.ordinal), (gap, "text"))
    plain = "text-muted" if sight.is_old else "text"
    total = gpu.info.total_bytes
    amount = "?" if used is None else _of_total(used, total)
    words = (
        ("MIG", "text-muted" if sight.is_old else "text-strong b"),
        (f"  {plural(len(slices), 'slice')}, {amount}", plain),
    )
    note = "  ·  utilisation is not reported for slices"
    row = (*start, *words)
    if width - row_width(row) > len(note):
        row = (*row, (note, "text-muted"))
    return fit(row, width, "…")


def _of_total(used: int, total: int | None) -> str:
    if total is None or used < 1 << 30:
        return format_memory(used)
    return f"{gib(used)} of {gib(total)} GiB"


def slices_of(gpu: Gpu) -> tuple[MigReading, ...]:
    """Return one entry for each GPU instance: its compute instances share the memory."""
    found: dict[int, MigReading] = {}
    for slice_ in gpu.reading.mig if gpu.reading else ():
        known = found.get(slice_.gpu_instance)
        if known is None:
            found[slice_.gpu_instance] = slice_
    return tuple(found.values())


def slice_row(sight: GpuSight, number: int, slice_: MigReading, columns: LineColumns) -> Row:
    """Draw one MIG slice: its own total, its own holders, no utilisation."""
    glyphs = sight.glyphs
    start: Row = lead(sight, columns.lead, first=False)
    start += ((right(f"{glyphs.branch}{number}", columns.ordinal), "text-muted"), (" ", "text"))
    used, total = slice_.used_bytes, slice_.total_bytes
    bar = bar_of(sight, columns.bar, used, total, stacked=True)
    memory = memory_text(used, total, form_of(columns), is_old=sight.is_old)
    row = (*start, *bar, *memory, *numbers(_without_utilisation(sight), columns))
    profile = outside(slice_.profile or "", 10)
    words: Row = ((f"{profile}  ", "text-muted"),) if profile and columns.process >= 24 else ()
    room = columns.process - row_width(words)
    claimed = who(sight.claims, room, is_old=sight.is_old, glyphs=glyphs)
    words += claimed or _slice_free(sight, used)
    return with_process(row, words, sight, columns)


def _without_utilisation(sight: GpuSight) -> GpuSight:
    return sight._replace(samples=(None,) * len(sight.samples))


def _slice_free(sight: GpuSight, used: int | None) -> Row:
    if used is None:
        return (("? memory not readable", "text-muted" if sight.is_old else "unknown"),)
    if used == 0:
        return (("free", "text-muted" if sight.is_old else "clear b"),)
    return (("no process listed", "text-muted"),)


def slice_card(sight: GpuSight, number: int, slice_: MigReading, columns: CardColumns) -> Row:
    """Draw one MIG slice in the columns of cards, in one row."""
    glyphs = sight.glyphs
    used, total = slice_.used_bytes, slice_.total_bytes
    row = (
        *lead(sight, 2, first=False),
        (f"{glyphs.branch}{number}  ", "text-muted"),
        *bar_of(sight, columns.bar, used, total, stacked=True),
        (" ", "text"),
        *fit(memory_text(used, total, "card", is_old=sight.is_old), 20),
    )
    profile = outside(slice_.profile or "", 10)
    room = columns.process - 8
    words = who(sight.claims, room - 10, is_old=sight.is_old, glyphs=glyphs)
    words = words or _slice_free(sight, used)
    if profile:
        words = spread(words, ((f"{profile} ", "text-muted"),), room, glyphs.cut)
    return (*row, *fit(words, room, glyphs.cut), age_span(sight, 8))
