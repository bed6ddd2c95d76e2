"""One GPU in one row: line density, and the slices of a MIG GPU in every density."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.model import Gpu, GpuState
from gpudash.core.readings import held_bytes
from gpudash.core.units import format_duration
from gpudash.core.verify import GpuVerdict, Verdict
from gpudash.ui.paint.bars import memory_bar, sparkline, with_ghost
from gpudash.ui.paint.claims import Claim, parts_of
from gpudash.ui.paint.columns import LineColumns
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.sight import Trouble, is_slowed, memory_text, number_text, trouble_of, who
from gpudash.ui.paint.spans import (
    Row,
    Span,
    cell_width,
    fit,
    left,
    right,
    row_width,
    shorten,
    spread,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpudash.ui.paint.cleaning import GpuProgress

_HALF_REASON = 24
_READABLE = (GpuState.READ, GpuState.NEEDS_RESET, GpuState.NEEDS_ATTENTION)


class GpuSight(NamedTuple):
    """One GPU and all that its rows are made of."""

    gpu: Gpu
    verdict: GpuVerdict
    """Of the GPU, or of the MIG slice that is drawn; only ZERO is painted as zero."""
    claims: tuple[Claim, ...]
    samples: tuple[int | None, ...]
    """Utilisation, one for each sparkline column."""
    is_old: bool
    is_cursor: bool
    has_focus: bool
    is_marked: bool
    glyphs: Glyphs
    phase: str = ""
    """`holding` or `proven` where a proof is about this GPU."""
    progress: GpuProgress | None = None
    """What became of it, while its host is cleaned."""

    @property
    def has_values(self) -> bool:
        """Tell whether there is a reading to draw, whatever else is wrong."""
        return self.gpu.reading is not None and self.gpu.state in _READABLE

    @property
    def is_zero(self) -> bool:
        """Tell whether this reading is judged zero."""
        return self.verdict.verdict is Verdict.ZERO


def form_of(columns: LineColumns) -> str:
    """Return how memory is written in these columns."""
    return "unit" if columns.has_unit else "total" if columns.has_total else "bare"


def lead(sight: GpuSight, width: int) -> Row:
    """Draw the cursor, and the mark where there is room beside it."""
    has_cursor = sight.is_cursor and sight.has_focus
    if not sight.is_marked:
        return ((left(sight.glyphs.cursor if has_cursor else " ", width), "border-focus"),)
    mark = (sight.glyphs.marked, "key b")
    if width < 2:
        # The background of the row shows the cursor.
        return (mark,)
    return (sight.glyphs.cursor if has_cursor else " ", "border-focus"), (
        left(mark[0], width - 1),
        mark[1],
    )


def index_text(sight: GpuSight, width: int) -> Row:
    """Write the index: bold where something is held."""
    is_held = sight.has_values and bool(used_of(sight))
    style = "text-strong b" if is_held and not sight.is_old else "text-muted"
    return ((right(str(sight.gpu.info.index), width), style),)


def used_of(sight: GpuSight) -> int | None:
    """Return what is used: what processes hold for certain counts where the sum says less."""
    held, is_whole = held_bytes(sight.gpu.reading)
    return held if is_whole else None


def line_row(sight: GpuSight, columns: LineColumns, width: int) -> Row:
    """Draw a GPU in one row of this inner width."""
    start = (*lead(sight, columns.lead), *index_text(sight, columns.ordinal), (" ", "text"))
    if not sight.has_values:
        return _trouble_row(sight, start, width)
    used, total = used_of(sight), sight.gpu.info.total_bytes
    bar = bar_of(sight, columns.bar, used, total, stacked=True)
    memory = memory_text(used, total, form_of(columns), sight.is_zero, is_old=sight.is_old)
    start = (*start, *bar, *memory, *numbers(sight, columns))
    return with_process(start, process_words(sight, columns.process), sight, columns)


def with_process(start: Row, words: Row, sight: GpuSight, columns: LineColumns) -> Row:
    """Append process text and age to the numbers."""
    row = (*start, ("  ", "text"), *fit(words, columns.process, "…"))
    if columns.age:
        return (*row, age_span(sight, columns.age + 1))
    return (*row, (" ", "text"))


def bar_of(
    sight: GpuSight, width: int, used: int | None, total: int | None, *, stacked: bool
) -> Row:
    """Draw the memory bar; old values lose their colours, not their length."""
    parts = parts_of(sight.claims, used)
    if sight.is_old:
        parts = tuple(("stale-bar", hatched, size) for _, hatched, size in parts)
        parts = parts or (("stale-bar", False, used or 0),)
    bar = memory_bar(width, parts, used, total, stacked=stacked, glyphs=sight.glyphs)
    if sight.progress is None:
        return bar
    return with_ghost(bar, width, sight.progress.before_bytes, total)


def numbers(sight: GpuSight, columns: LineColumns) -> Row:
    """Write sparkline, utilisation, temperature, power and clock, as far as there are columns."""
    reading = sight.gpu.reading
    row: Row = ()
    if columns.spark:
        drawn = sparkline(sight.samples, is_old=sight.is_old, glyphs=sight.glyphs)
        row += (("  ", "text"), *fit(drawn, columns.spark))
    if reading is None:
        return row
    old, util = sight.is_old, reading.utilisation_pct
    quiet = not util
    hot = is_slowed(reading)
    wanted = (
        (columns.utilisation, util, "%", False),
        (columns.temperature, reading.temperature_c, "°C", hot),
        (columns.power, _watts(reading.power_mw), " W", False),
        (columns.clock, reading.sm_clock_mhz, " MHz", hot),
    )
    for size, value, unit, is_hot in wanted:
        if size:
            row += number_text(value, size + 1, unit, is_old=old, is_quiet=quiet, is_hot=is_hot)
    return row


def _watts(power_mw: int | None) -> int | None:
    return None if power_mw is None else round(power_mw / 1000)


def process_words(sight: GpuSight, room: int) -> Row:
    """Say who is on the GPU, or that it is free, or what stands in the way."""
    wrong = trouble_of(sight.gpu, sight.glyphs)
    if sight.progress is not None and wrong is None and sight.progress.first:
        return sight.progress.first
    words = who(sight.claims, room, is_old=sight.is_old, glyphs=sight.glyphs)
    if wrong is not None:
        style = "text-muted" if sight.is_old else f"{wrong.text} b"
        first: Row = ((f"{wrong.glyph} {wrong.words}", style),)
        both = (*first, (" + ", "text-muted"), *words)
        return both if words and row_width(both) <= room else first
    if words:
        return words
    return free_words(sight, used_of(sight), room)


def zero_words(sight: GpuSight) -> Row:
    """Say of a zero how well it is known: by one reading, so far, or proven."""
    match sight.phase:
        case "proven":
            return ((f"{sight.glyphs.clear} zero", "clear b"),)
        case "holding":
            return ((f"{sight.glyphs.zero} zero", "holding b"),)
        case _:
            return (("free", "clear b"),)


def free_words(sight: GpuSight, used: int | None, room: int) -> Row:
    """Say what a GPU or slice without any claim is: free only where it is judged zero."""
    if sight.is_zero:
        return zero_words(sight)
    if used is None:
        return (("? memory not readable", "text-muted" if sight.is_old else "unknown"),)
    if used:
        # A context's own overhead: used, and too little to call it unexplained.
        return (("no process listed", "text-muted"),)
    if sight.is_old:
        return (("was 0 MiB", "text-muted"),)
    return ((open_words(sight.verdict.reason, room), "unknown"),)


def open_words(reason: str, room: int) -> str:
    """Say why a 0 is no zero, as far as there is room; half of the reason says more than none."""
    whole = f"0 MiB, not proven: {reason}"
    if cell_width(whole) <= room:
        return whole
    return shorten(reason, room) if room >= _HALF_REASON else "not proven"


def age_span(sight: GpuSight, width: int) -> Span:
    """Write how long the first family is there, and the blank before the border."""
    if sight.progress is not None and sight.progress.right:
        words = "".join(text for text, _ in sight.progress.right)
        if cell_width(words) <= width + 1:
            return right(words, width + 1), sight.progress.right[0][1]
    age_s = sight.claims[0].age_s if sight.claims else None
    if age_s is None or sight.gpu.state is not GpuState.READ:
        return " " * (width + 1), "text"
    style = "text-muted" if sight.is_old else "text"
    return right(format_duration(age_s), width) + " ", style


def _trouble_row(sight: GpuSight, start: Row, width: int) -> Row:
    wrong = trouble_of(sight.gpu, sight.glyphs)
    if wrong is None:
        wrong = Trouble("?", "unknown", "no reading", "the driver said nothing of it")
    words = trouble_words(wrong, is_old=sight.is_old)
    remedy = _remedy(wrong)
    room = width - row_width(start) - row_width(remedy) - 1
    if row_width(words) > room:
        # Half a reason says nothing: the words alone then.
        words = words[:1]
    return spread((*start, *words), remedy if room > row_width(words) else (), width, "…")


def trouble_words(wrong: Trouble, *, is_old: bool) -> Row:
    """Write `× lost  no answer: …`."""
    style = "text-muted" if is_old or wrong.text == "text-muted" else f"{wrong.text} b"
    words: Row = ((f"{wrong.glyph} {wrong.words}", style),)
    if wrong.reason:
        words += ((f"  {wrong.reason}", "text-muted" if is_old else "text"),)
    return words


def _remedy(wrong: Trouble) -> Row:
    return ((f"{wrong.remedy} ", wrong.text),) if wrong.remedy else ()
