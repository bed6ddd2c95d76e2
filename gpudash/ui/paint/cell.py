"""All hosts in one pane, one row each: how full every GPU is, and by whom."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.model import GpuState, Host, Link
from gpudash.core.readings import held_bytes, held_sum
from gpudash.core.units import format_duration, format_known
from gpudash.core.verify import GpuVerdict, HostVerdict, Verdict
from gpudash.ui.paint import box, hosttitle
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.claims import TEXT_OF, Book, Claim
from gpudash.ui.paint.columns import is_compact
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.sight import trouble_of
from gpudash.ui.paint.spans import (
    Row,
    Span,
    cell_width,
    finished,
    fit,
    left,
    on_background,
    outside,
    right,
    row_width,
    shorten,
)
from gpudash.ui.paint.view import HostView

_HOST_LEAST, _HOST_MOST = 8, 24
_FAMILY_LEAST = 12
"""Cells from which a family is named behind what is wrong."""


class CellColumns(NamedTuple):
    """Widths of a row in cell density."""

    host: int
    cell: int
    gap: int
    shown: int
    """Cells of the host with the most GPUs."""
    has_memory: bool


def cell_columns(hosts: tuple[Host, ...], width: int) -> CellColumns:
    """Return the columns; more than 8 GPUs make narrower cells."""
    longest = max((cell_width(outside(host.name, 64)) for host in hosts), default=0)
    count = max((len(host.gpus) for host in hosts), default=0)
    most = 12 if width < 100 else _HOST_MOST
    host = max(_HOST_LEAST, min(longest, most))
    cell, gap = (4, 1) if count <= 8 and width >= 100 else (3, 0)
    has_memory = not is_compact(width)
    room = max(0, (width - 2 - 4 - host - 1 - (10 if has_memory else 0)) // (cell + gap))
    return CellColumns(host, cell, gap, min(count, room), has_memory)


class CellPane:
    """The rows of all hosts at one width."""

    def __init__(self, views: tuple[HostView, ...], width: int, glyphs: Glyphs) -> None:
        # Judged once, not by each cell that asks.
        self._views = tuple(view._replace(judged=view.verdict) for view in views)
        self._width = width
        self._glyphs = glyphs
        self._columns = cell_columns(tuple(view.host for view in views), width)
        self.height = len(views) + 3
        self._border = "border-focus" if any(view.has_focus for view in views) else "border"

    def rows(self) -> tuple[Row, ...]:
        """Paint the whole pane."""
        return tuple(self.row(y) for y in range(self.height))

    def row(self, y: int) -> Row:
        """Paint one row."""
        return finished(self._row(y), self._width, self._glyphs)

    def _row(self, y: int) -> Row:
        if y == 0:
            head = Piece((("hosts", "text-strong b"),))
            note = Piece((("one cell is one GPU, number is memory in %", "text-muted"),), 1)
            return box.top((head, note), (), self._width, self._border, self._glyphs)
        if y == self.height - 1:
            legend = (Piece(_legend(self._glyphs), 1),)
            return box.bottom(legend, (), self._width, self._border, self._glyphs)
        if not 1 <= y < self.height:
            return ()
        inner = self._numbers() if y == 1 else self._host(self._views[y - 2])
        return box.side(inner, self._width, self._border, self._glyphs)

    def _numbers(self) -> Row:
        columns = self._columns
        gap = " " * columns.gap
        cells = gap.join(
            right(str(number), columns.cell - 1) + " " for number in range(columns.shown)
        )
        text = (
            " " * (4 + columns.host + 1)
            + cells
            + right("memory", 10 + (1 if gap and columns.shown else 0))
            + "   who"
        )
        if not columns.has_memory:
            text = " " * (4 + columns.host + 1) + cells
        return ((text, "text-muted"),)

    def _host(self, view: HostView) -> Row:
        host, columns = view.host, self._columns
        tone = hosttitle.tone_of(view.verdict)
        has_cursor = view.has_focus
        name = shorten(outside(host.name, 64), columns.host)
        row: Row = (
            (self._glyphs.cursor if has_cursor else " ", "border-focus"),
            (self._glyphs.marked if view.marks else " ", "key b"),
            (
                hosttitle.glyph_of(view.verdict, self._glyphs),
                "decor" if tone == "text-muted" else tone,
            ),
            (" ", "text"),
            (left(name, columns.host), "text-strong b" if tone != "unknown" else "unknown b"),
            (" ", "text"),
        )
        row += self._rest(view, self._width - 2 - row_width(row))
        return on_background(fit(row, self._width - 2, "…"), "row-cursor") if has_cursor else row

    def _rest(self, view: HostView, room: int) -> Row:
        """Draw the cells and what follows; where nothing follows, words stand for no cells."""
        if not self._columns.has_memory:
            return self._cells(view) if view.host.gpus else fit(self._who(view, room), room)
        row = (*self._cells(view), *_memory(view.verdict), ("   ", "text"))
        return (*row, *self._who(view, room - row_width(row) - 1))

    def _cells(self, view: HostView) -> Row:
        book = Book(view.host, view.holders)
        columns = self._columns
        row: Row = ()
        for position in range(columns.shown):
            if position < len(view.host.gpus):
                judged = view.verdict.gpus[position]
                is_live = not view.verdict.reason
                claims = book.claims(judged.gpu, view.now_s)
                row += (_cell(judged, claims, columns.cell, self._glyphs, is_live=is_live),)
            else:
                row += ((" " * columns.cell, "text"),)
            if columns.gap:
                row += ((" ", "text"),)
        return row

    def _who(self, view: HostView, room: int) -> Row:
        host = view.host
        if host.link is Link.STALE and host.received_s is not None:
            ago = format_duration(view.now_s - host.received_s)
            return ((f"last seen {ago} ago", "unknown"),)
        if hosttitle.is_calm(view.verdict):
            return _families(view, room)
        wrong = [piece.row for piece in hosttitle.title_pieces(view) if piece.cost == 2]
        if wrong:
            return fit(wrong[0], room, "…")
        if host.link is Link.CONNECTING:
            return (("connecting", "text-muted"),)
        return fit(self._troubles(view, room), room, "…")

    def _troubles(self, view: HostView, room: int) -> Row:
        """Name the first GPU that something is wrong with, count the others, then who is there."""
        judged = view.verdict
        if judged.reason:
            return ((outside(judged.reason), "unknown"),)
        troubled = [one for one in judged.gpus if is_troubled(one)]
        if not troubled:
            return _families(view, room)
        first, *others = troubled
        wrong = trouble_of(first.gpu, self._glyphs)
        index = f"GPU {first.gpu.info.index}"
        row: Row = ((f"{index} not proven zero: {first.reason}", "unknown"),)
        if wrong is not None:
            row = ((f"{index} {wrong.words}", wrong.text),)
        row += ((f" +{len(others)}", "text-muted"),) if others else ()
        left_over = room - row_width(row) - 2
        if view.holders and left_over >= _FAMILY_LEAST:
            return (*row, ("  ", "text"), *_families(view, left_over))
        return row


def _legend(glyphs: Glyphs) -> Row:
    return (
        (glyphs.use, "alive-bar"),
        (" alive, yours   ", "text-muted"),
        (glyphs.use, "foreign-bar"),
        (" someone else's   ", "text-muted"),
        (glyphs.nothing, "decor"),
        (" zero   ", "text-muted"),
        ("?", "unknown"),
        (" unknown   ", "text-muted"),
        (glyphs.bad, "leftover"),
        (" lost", "text-muted"),
    )


def is_troubled(judged: GpuVerdict) -> bool:
    """Tell whether a GPU is more than held or zero."""
    return judged.verdict is Verdict.UNKNOWN or judged.gpu.state is not GpuState.READ


def _memory(judged: HostVerdict) -> Row:
    """Write what is held, as a lower bound where not every GPU tells."""
    host = judged.host
    if judged.reason:
        style = "text-muted" if host.link is Link.CONNECTING else "unknown"
        return ((right("?", 10), style),)
    held, is_whole = held_sum(gpu.reading for gpu in host.gpus)
    amount = format_known(held, is_whole).replace("≥ ", "≥")
    style = "text" if held else "clear" if judged.verdict is Verdict.ZERO else "unknown"
    return ((right(amount, 10), style),)


def _families(view: HostView, room: int) -> Row:
    """Name the families that have room, and count the others."""
    holders = view.holders
    if not holders:
        is_zero = view.verdict.verdict is Verdict.ZERO
        return (("free", "clear"),) if is_zero else (("no process listed", "text-muted"),)
    row: Row = ()
    for number, holder in enumerate(holders):
        rest = len(holders) - number
        name = outside(holder.label.name, 24)
        one: Row = ((", ", "text-muted"),) if row else ()
        if holder.letter:
            one += ((f"{holder.letter} ", f"{TEXT_OF[holder.owner]} b"),)
        one += ((name, "text"),)
        if row and row_width(row) + row_width(one) + (4 if rest > 1 else 0) > room:
            return (*row, (f" +{rest}", "text-muted"))
        row += one
    return row


def _cell(
    judged: GpuVerdict, claims: tuple[Claim, ...], width: int, glyphs: Glyphs, *, is_live: bool
) -> Span:
    gpu = judged.gpu
    used, is_whole = held_bytes(gpu.reading)
    total = gpu.info.total_bytes
    if gpu.state in (GpuState.LOST, GpuState.MISSING, GpuState.NEEDS_RESET):
        return right(glyphs.bad + " ", width), "leftover b on tint-bad"
    if judged.verdict is Verdict.ZERO:
        return right(glyphs.nothing + " ", width), "decor on bar-track"
    if not is_whole or not used or not total or not is_live:
        return right("? ", width), "unknown on bar-track"
    percent = min(100, round(100 * used / total))
    number = "<1" if percent < 1 else str(percent)
    text = right(number + ("" if len(number) == 3 and width == 3 else " "), width)
    if not claims or not claims[0].is_family or claims[0].is_hatched:
        return text, "unknown b on bar-track"
    # In steps of 10 %: few styles, and no eye tells more apart.
    share = 40 + 6 * min(10, -(-percent // 10))
    background = "cell-foreign" if claims[0].is_foreign else "cell-alive"
    if claims[0].text == "leftover":
        background = "cell-leftover"
    if claims[0].text in ("unknown", "text-muted"):
        return text, f"{claims[0].text} b on bar-track"
    return text, f"on-cell b on {background}~{share}"
