"""One host on the screen.

`HostPane` holds what all rows of a pane share, so that a widget can paint a single row. Make a
new one for each new view: it is a value, and what it computes is computed once.
"""

from __future__ import annotations

from functools import cached_property

from gpudash.core.model import Gpu, GpuState, Host, MigReading
from gpudash.core.slices import judge_slice, slices_of
from gpudash.core.verify import GpuVerdict, judge_host
from gpudash.ui.paint import box, hosttitle, trouble
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.card import card_row
from gpudash.ui.paint.claims import Book
from gpudash.ui.paint.columns import (
    card_columns,
    is_compact,
    line_columns,
    seconds_per_column,
)
from gpudash.ui.paint.line import GpuSight, line_row
from gpudash.ui.paint.mig import mig_row, slice_card, slice_row
from gpudash.ui.paint.spans import Row, finished, fit, joined, on_background
from gpudash.ui.paint.view import CARD_ROWS, Density, HostView

_TRUSTED = 40
"""From this width on the columns of a row add up to it; below, rows are cut."""

Place = tuple[int, int]
"""Position of a GPU in the roster, and the row within its block."""


def has_title(host: Host, width: int, *, is_alone: bool) -> bool:
    """Tell whether a pane has a title row: narrow panes only where there is something to say."""
    if not is_compact(width):
        return True
    return not is_alone or not hosttitle.is_calm(judge_host(host))


def is_split(gpu: Gpu) -> bool:
    """Tell whether a GPU is shown as MIG slices."""
    return bool(gpu.reading and gpu.reading.mig) and gpu.state is GpuState.READ


def block_height(gpu: Gpu, density: Density, card_rows: int) -> int:
    """Return how many rows a GPU takes."""
    if is_split(gpu):
        return 1 + len(slices_of(gpu))
    return card_rows if density is Density.CARD else 1


def pane_height(
    host: Host,
    density: Density,
    width: int,
    *,
    is_alone: bool = True,
    kept: tuple[int, ...] | None = None,
    card_rows: int = CARD_ROWS,
) -> int:
    """Return how many rows a host takes, borders included; `kept`: the GPUs that are shown."""
    borders = 0 if is_compact(width) else 1
    around = borders + has_title(host, width, is_alone=is_alone)
    if not host.gpus:
        return around + len(trouble.sentences(host, width))
    return around + sum(
        block_height(host.gpus[at], density, card_rows) for at in positions(host, kept)
    )


def positions(host: Host, kept: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the positions in the roster that are shown."""
    if kept is None:
        return tuple(range(len(host.gpus)))
    return tuple(at for at in kept if at < len(host.gpus))


class HostPane:
    """The rows of one host at one width."""

    def __init__(self, view: HostView, width: int) -> None:
        # Judged once, not by each row that asks.
        view = view._replace(judged=view.verdict)
        self.view = view
        self.width = width
        self._is_compact = is_compact(width)
        self._inner = width if self._is_compact else width - 2
        self._has_title = has_title(view.host, width, is_alone=view.is_alone)
        self._border = hosttitle.border_of(view)
        self._sights: dict[int, GpuSight] = {}

    @cached_property
    def _places(self) -> tuple[Place, ...]:
        return tuple(
            (position, step)
            for position in positions(self.view.host, self.view.kept)
            for step in range(self._height_of(self.view.host.gpus[position]))
        )

    def _height_of(self, gpu: Gpu) -> int:
        return block_height(gpu, self.view.density, self.view.card_rows)

    @cached_property
    def _book(self) -> Book:
        return Book(self.view.host, self.view.holders)

    @cached_property
    def _sentences(self) -> tuple[Row, ...]:
        return trouble.sentences(self.view.host, self.width, self.view.renamed)

    @cached_property
    def height(self) -> int:
        """Return how many rows there are."""
        body = len(self._places) if self.view.host.gpus else len(self._sentences)
        return body + self._has_title + (not self._is_compact)

    def gpu_at(self, y: int) -> int | None:
        """Return the position of the GPU in a row, or None on a border."""
        y -= self._has_title
        return self._places[y][0] if 0 <= y < len(self._places) else None

    def rows_of(self, position: int) -> range:
        """Return the rows that show one GPU; none where a filter hides it."""
        rows = [y for y, place in enumerate(self._places) if place[0] == position]
        if not rows:
            return range(0)
        return range(rows[0] + self._has_title, rows[-1] + 1 + self._has_title)

    def rows(self) -> tuple[Row, ...]:
        """Paint the whole pane."""
        return tuple(self.row(y) for y in range(self.height))

    def row(self, y: int) -> Row:
        """Paint one row; beyond the pane it is blank."""
        row = self._row(y)
        # Between borders a row is already as wide as it must be.
        if row and row[0][0] == self.view.glyphs.down and not self.view.glyphs.is_ascii:
            return row
        return finished(row, self.width, self.view.glyphs)

    def _row(self, y: int) -> Row:
        if not 0 <= y < self.height:
            return ()
        if self._has_title and y == 0:
            return self._title()
        if not self._is_compact and y == self.height - 1:
            return hosttitle.foot(self.view, self.width)
        inner = self._body(y - self._has_title)
        if self._is_compact:
            return inner
        if self.width < _TRUSTED:
            return box.side(inner, self.width, self._border, self.view.glyphs)
        # GPU rows are as wide as their columns: measuring them again would cost a third.
        edge = (self.view.glyphs.down, self._border)
        return (edge, *inner, edge)

    def _title(self) -> Row:
        if not self._is_compact:
            return hosttitle.title(self.view, self.width)
        pieces: tuple[Piece, ...] = hosttitle.title_pieces(self.view)
        words = joined(tuple(piece.row for piece in pieces if piece.cost < 3), ("  ", "text"))
        return ((" ", "text"), *words)

    def _body(self, y: int) -> Row:
        if not self.view.host.gpus:
            return fit(self._sentences[y], self._inner)
        position, step = self._places[y]
        row = self._gpu_row(position, step)
        if position == self.view.cursor and self.view.has_focus:
            return on_background(row, "row-cursor")
        return row

    def _gpu_row(self, position: int, step: int) -> Row:
        view = self.view
        gpu = view.host.gpus[position]
        sight = self._sight(position)
        if step:
            # The mark stands beside the index.
            sight = sight._replace(is_marked=False)
        if is_split(gpu):
            return self._mig_row(position, sight, step)
        if view.density is Density.CARD:
            columns = card_columns(self.width)
            return card_row(sight, columns, self._inner, step, view.card_rows)
        return line_row(sight, line_columns(self.width), self._inner)

    def _mig_row(self, position: int, sight: GpuSight, step: int) -> Row:
        columns = line_columns(self.width)
        is_card = self.view.density is Density.CARD
        if step == 0:
            return mig_row(sight, self._inner, columns, is_card=is_card)
        slice_ = slices_of(sight.gpu)[step - 1]
        claims = self._book.slice_claims(slice_, self.view.now_s)
        sight = sight._replace(claims=claims, verdict=self._slice_verdict(position, slice_))
        if is_card:
            return slice_card(sight, step - 1, slice_, card_columns(self.width))
        return slice_row(sight, step - 1, slice_, columns)

    def _slice_verdict(self, position: int, slice_: MigReading) -> GpuVerdict:
        verdict = self.view.verdict
        if verdict.reason:
            return verdict.gpus[position]
        return judge_slice(self.view.host.gpus[position], slice_)

    def _sight(self, position: int) -> GpuSight:
        known = self._sights.get(position)
        if known is not None:
            return known
        view = self.view
        gpu = view.host.gpus[position]
        is_cards = view.density is Density.CARD and not is_split(gpu)
        columns = card_columns(self.width).bar if is_cards else line_columns(self.width).spark
        each_s = seconds_per_column(self.width, is_card=is_cards)
        sight = GpuSight(
            gpu=gpu,
            verdict=view.verdict.gpus[position],
            claims=self._book.claims(gpu, view.now_s),
            samples=view.utilisation(gpu.info.key, columns, each_s) if columns else (),
            is_old=hosttitle.has_old_values(view.host),
            is_cursor=position == view.cursor,
            has_focus=view.has_focus,
            is_marked=gpu.info.key in view.marks,
            glyphs=view.glyphs,
            progress=view.progress(gpu) if view.progress else None,
            phase=view.phase if view.in_proof is None or gpu.info.key in view.in_proof else "",
        )
        self._sights[position] = sight
        return sight


def rows(view: HostView, width: int) -> tuple[Row, ...]:
    """Paint a host."""
    return HostPane(view, width).rows()


def row(view: HostView, y: int, width: int) -> Row:
    """Paint one row of a host."""
    return HostPane(view, width).row(y)
