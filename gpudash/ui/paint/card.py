"""One GPU in two rows: the bar with its owner, and under it the past with the numbers."""

from __future__ import annotations

from gpudash.core.model import GpuReading
from gpudash.core.units import format_memory
from gpudash.core.verify import Verdict
from gpudash.ui.paint.bars import sparkline
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

_NUMBERS = 20
"""Cells between the bar and the letter, less the blank after the bar."""


def card_row(sight: GpuSight, columns: CardColumns, width: int, *, second: bool) -> Row:
    """Draw one of the two rows of a GPU, at this inner width."""
    return _second(sight, columns, width) if second else _first(sight, columns, width)


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


def _second(sight: GpuSight, columns: CardColumns, width: int) -> Row:
    start = (*lead(sight, 2), ("    ", "text"))
    reading = sight.gpu.reading
    if not sight.has_values or reading is None:
        wrong = trouble_of(sight.gpu, sight.glyphs)
        words: Row = ((wrong.reason, "text-muted"),) if wrong else ()
        return fit((*start, ("  ", "text"), *words), width, "…")
    drawn = sparkline(sight.samples, is_old=sight.is_old, glyphs=sight.glyphs)
    row = (*start, *fit(drawn, columns.bar), (" ", "text"), *fit(_numbers(sight, reading), 20))
    room = columns.process
    return fit((*row, *fit(_second_words(sight, room), room, "…")), width)


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


def _second_words(sight: GpuSight, room: int) -> Row:
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
    first, *others = sight.claims
    if others:
        row = _other(others[0], is_old=sight.is_old, hatch=sight.glyphs.hatch)
        if len(others) > 1:
            row += ((f"  +{len(others) - 1}", "text-muted"),)
        return row
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
