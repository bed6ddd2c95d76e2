"""One GPU in two rows or more: the bar with its owner, and under it the past with the numbers."""

from __future__ import annotations

from gpudash.core.model import GpuReading
from gpudash.core.units import format_memory
from gpudash.core.verify import Verdict
from gpudash.ui.paint.bars import chart_row, sparkline
from gpudash.ui.paint.claims import Claim
from gpudash.ui.paint.columns import CardColumns
from gpudash.ui.paint.line import (
    GpuSight,
    age_span,
    bar_of,
    free_words,
    index_text,
    lead,
    trouble_words,
    used_of,
)
from gpudash.ui.paint.sight import (
    Trouble,
    is_slowed,
    memory_text,
    named,
    number_text,
    trouble_of,
    who,
)
from gpudash.ui.paint.spans import Row, fit, spread
from gpudash.ui.paint.view import CARD_ROWS

_NUMBERS = 20
"""Cells between the bar and the letter, less the blank after the bar."""


def card_row(
    sight: GpuSight, columns: CardColumns, width: int, step: int = 0, rows: int = CARD_ROWS
) -> Row:
    """Draw one of the rows of a GPU, at this inner width; the first holds the bar."""
    if step == 0:
        return _first(sight, columns, width)
    if step == 1:
        return _second(sight, columns, width, rows)
    return _further(sight, columns, width, step, rows)


def _first(sight: GpuSight, columns: CardColumns, width: int) -> Row:
    start = (*lead(sight, 2), *index_text(sight, 2), ("  ", "text"))
    if not sight.has_values:
        return _trouble_first(sight, start, width)
    used, total = used_of(sight), sight.gpu.info.total_bytes
    bar = bar_of(sight, columns.bar, used, total, stacked=False)
    memory = memory_text(used, total, "card", sight.is_zero, is_old=sight.is_old)
    row = (*start, *bar, (" ", "text"), *fit(memory, _NUMBERS))
    if sight.progress is not None:
        return fit(
            (*row, *spread(_main_words(sight, 60), sight.progress.right, columns.process, "…")),
            width,
        )
    room = columns.process - 8
    return (*row, *fit(_main_words(sight, room), room, "…"), age_span(sight, 8))


def _main_words(sight: GpuSight, room: int) -> Row:
    wrong = trouble_of(sight.gpu, sight.glyphs)
    if wrong is not None:
        style = "text-muted" if sight.is_old else f"{wrong.text} b"
        return ((f"{wrong.glyph} {wrong.words}", style),)
    if sight.progress is not None and sight.progress.first:
        return sight.progress.first
    if not sight.claims:
        # The reason has the row below.
        return free_words(sight, used_of(sight), 0)
    if not sight.claims[0].is_family:
        return _other(sight.claims[0], is_old=sight.is_old, hatch=sight.glyphs.hatch)
    # Only the first: the second family has the row below.
    return who(sight.claims[:1], max(room, 34), is_old=sight.is_old, glyphs=sight.glyphs)


def _further(sight: GpuSight, columns: CardColumns, width: int, step: int, rows: int) -> Row:
    """Draw what only a high screen has room for: more of the chart, and a family a row."""
    start = (*lead(sight, 2), ("    ", "text"))
    if not sight.has_values:
        return fit(start, width)
    row = (*start, *fit(_chart(sight, step, rows), columns.bar), (" " * (_NUMBERS + 1), "text"))
    return fit((*row, *fit(_nth_claim(sight, step, rows), columns.process, "…")), width)


def _chart(sight: GpuSight, step: int, rows: int) -> Row:
    """Draw a row of the past; a high card ends with a blank one, for air above the next bar."""
    high = max(1, rows - CARD_ROWS)
    if step > high:
        return ()
    if high == 1:
        return sparkline(sight.samples, is_old=sight.is_old, glyphs=sight.glyphs)
    return chart_row(sight.samples, high - step, high, is_old=sight.is_old, glyphs=sight.glyphs)


def _nth_claim(sight: GpuSight, number: int, rows: int) -> Row:
    """Return the family of a row; the last row says how many have none."""
    if number >= len(sight.claims) or trouble_of(sight.gpu, sight.glyphs) is not None:
        return ()
    row = _other(sight.claims[number], is_old=sight.is_old, hatch=sight.glyphs.hatch)
    rest = len(sight.claims) - 1 - number
    return (*row, (f"  +{rest}", "text-muted")) if number == rows - 1 and rest else row


def _second(sight: GpuSight, columns: CardColumns, width: int, rows: int) -> Row:
    start = (*lead(sight, 2), ("    ", "text"))
    reading = sight.gpu.reading
    if not sight.has_values or reading is None:
        wrong = trouble_of(sight.gpu, sight.glyphs)
        words: Row = ((wrong.reason, "text-muted"),) if wrong else ()
        return fit((*start, ("  ", "text"), *words), width, "…")
    row = (
        *start,
        *fit(_chart(sight, 1, rows), columns.bar),
        (" ", "text"),
        *fit(_numbers(sight, reading), 20),
    )
    room = columns.process
    return fit((*row, *fit(_second_words(sight, room, rows), room, "…")), width)


def _numbers(sight: GpuSight, reading: GpuReading) -> Row:
    old, quiet = sight.is_old, not reading.utilisation_pct
    watts = None if reading.power_mw is None else round(reading.power_mw / 1000)
    return (
        *number_text(reading.utilisation_pct, 5, "%", is_old=old, is_quiet=quiet),
        *number_text(
            reading.temperature_c, 6, "°C", is_old=old, is_quiet=quiet, is_hot=is_slowed(reading)
        ),
        *number_text(watts, 7, " W", is_old=old, is_quiet=quiet),
    )


def _second_words(sight: GpuSight, room: int, rows: int) -> Row:
    wrong = trouble_of(sight.gpu, sight.glyphs)
    if wrong is not None:
        claimed = who(sight.claims, room - 2, is_old=sight.is_old, glyphs=sight.glyphs)
        return claimed or ((f"  {wrong.reason}", "text-muted"),)
    if sight.progress is not None and sight.progress.second and len(sight.claims) < 2:
        return sight.progress.second
    if not sight.claims:
        verdict = sight.verdict
        if verdict.verdict is Verdict.UNKNOWN and not sight.is_old:
            return ((f"  {verdict.reason}", "unknown"),)
        return ((f"  {verdict.note}", "text-muted"),)
    first = sight.claims[0]
    if len(sight.claims) > 1:
        return _nth_claim(sight, 1, rows)
    row = ((f"  {_origin(first)}", "text-muted"),)
    reading = sight.gpu.reading
    if reading is not None and is_slowed(reading) and not sight.is_old:
        return (*row, ("  slowed by heat", "unknown"))
    return row


def _other(claim: Claim, *, is_old: bool, hatch: str) -> Row:
    if not claim.is_family:
        mark = (f"{hatch} ", "text-muted" if is_old else "unknown-bar")
        return mark, (claim.name, "text-muted" if is_old else "unknown b")
    words = named(claim._replace(is_foreign=False), 20, is_old=is_old)
    amount = f" {format_memory(claim.used_bytes)}" if claim.used_bytes else ""
    owner = f" · {claim.user}" if claim.user else ""
    head, *rest = words
    muted = tuple((text, style if claim.is_dead else "text-muted") for text, style in rest)
    return (head, *muted, (amount + owner, "text-muted"))


def _origin(claim: Claim) -> str:
    """Say where the words of the first row come from."""
    if not claim.is_family:
        return claim.detail
    if claim.is_dead:
        return claim.keeper or "who keeps its memory is unknown"
    if claim.name.startswith("host pid"):
        return "of another pid namespace: no name from here"
    if not claim.letter:
        return "asking who it is"
    pids = f"pid {claim.pids[0]}" if claim.pids else ""
    if len(claim.pids) > 1:
        pids += f" +{len(claim.pids) - 1}"
    return " · ".join(part for part in (pids, claim.user) if part)


def _trouble_first(sight: GpuSight, start: Row, width: int) -> Row:
    wrong = trouble_of(sight.gpu, sight.glyphs)
    if wrong is None:
        wrong = Trouble("?", "unknown", "no reading", "")
    remedy: Row = ((f"{wrong.remedy} ", wrong.text),) if wrong.remedy else ()
    words = trouble_words(wrong._replace(reason=""), is_old=sight.is_old)
    return spread((*start, *words), remedy, width, "…")
