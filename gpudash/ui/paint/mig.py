"""A GPU that is split into MIG slices: a row for itself, and one for each slice."""

from __future__ import annotations

from gpudash.core.model import MigReading
from gpudash.core.readings import held_bytes
from gpudash.core.slices import slice_bytes, slices_of
from gpudash.core.units import format_known, format_memory, gib, plural
from gpudash.ui.paint.columns import CardColumns, LineColumns
from gpudash.ui.paint.line import (
    GpuSight,
    age_span,
    bar_of,
    form_of,
    free_words,
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
    held, is_whole = held_bytes(gpu.reading)
    gap = "  " if is_card else " "
    start = (*lead(sight, columns.lead), *index_text(sight, columns.ordinal), (gap, "text"))
    plain = "text-muted" if sight.is_old else "text"
    total = gpu.info.total_bytes
    amount = _of_total(held, total) if is_whole else format_known(held, is_whole)
    words = (
        ("MIG", "text-muted" if sight.is_old else "text-strong b"),
        (f"  {plural(len(slices), 'slice')}, {amount}", plain),
    )
    row = (*start, *words)
    if is_whole and not held and not sight.is_zero and not sight.is_old:
        return fit((*row, (f", not proven: {sight.verdict.reason}", "unknown")), width, "…")
    note = "  ·  utilisation is not reported for slices"
    if width - row_width(row) > len(note):
        row = (*row, (note, "text-muted"))
    return fit(row, width, "…")


def _of_total(used: int, total: int | None) -> str:
    if total is None or used < 1 << 30:
        return format_memory(used)
    return f"{gib(used)} of {gib(total)} GiB"


def slice_row(sight: GpuSight, number: int, slice_: MigReading, columns: LineColumns) -> Row:
    """Draw one MIG slice: its own total, its own holders, no utilisation."""
    glyphs = sight.glyphs
    start: Row = lead(sight, columns.lead)
    start += ((right(f"{glyphs.branch}{number}", columns.ordinal), "text-muted"), (" ", "text"))
    used, total = slice_bytes(slice_), slice_.total_bytes
    bar = bar_of(sight, columns.bar, used, total, stacked=True)
    memory = memory_text(used, total, form_of(columns), sight.is_zero, is_old=sight.is_old)
    row = (*start, *bar, *memory, *numbers(_without_utilisation(sight), columns))
    profile = outside(slice_.profile or "", 10)
    words: Row = ((f"{profile}  ", "text-muted"),) if profile and columns.process >= 24 else ()
    room = columns.process - row_width(words)
    claimed = who(sight.claims, room, is_old=sight.is_old, glyphs=glyphs)
    words += claimed or free_words(sight, used, room)
    return with_process(row, words, sight, columns)


def _without_utilisation(sight: GpuSight) -> GpuSight:
    return sight._replace(samples=(None,) * len(sight.samples))


def slice_card(sight: GpuSight, number: int, slice_: MigReading, columns: CardColumns) -> Row:
    """Draw one MIG slice in the columns of cards, in one row."""
    glyphs = sight.glyphs
    used, total = slice_bytes(slice_), slice_.total_bytes
    row = (
        *lead(sight, 2),
        (f"{glyphs.branch}{number}  ", "text-muted"),
        *bar_of(sight, columns.bar, used, total, stacked=True),
        (" ", "text"),
        *fit(memory_text(used, total, "card", sight.is_zero, is_old=sight.is_old), 20),
    )
    profile = outside(slice_.profile or "", 10)
    room = columns.process - 8
    words = who(sight.claims, room - 10, is_old=sight.is_old, glyphs=glyphs)
    words = words or free_words(sight, used, room - 10)
    if profile:
        words = spread(words, ((f"{profile} ", "text-muted"),), room, glyphs.cut)
    return (*row, *fit(words, room, glyphs.cut), age_span(sight, 8))
