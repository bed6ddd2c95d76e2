"""The facts of a host or GPU, and what stands between it and zero."""

from __future__ import annotations

from gpudash.core.detailwords import MUTED, WARN, FactLine
from gpudash.core.obstacles import Obstacle
from gpudash.ui.paint.box import Piece, bottom, side, top
from gpudash.ui.paint.detailview import DetailsView, Page
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, cell_width, finished, left, outside, shorten, wrapped

_LABEL = 13
_TONES = {WARN: "unknown", MUTED: "text-muted"}
_MOST_LINES = 3
_SMALL_BELOW = 60


def facts_rows(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    """Paint both panes over each other: exactly `height` rows; obstacles come first where few."""
    if height < 12:
        return _flat(view, width, height)
    facts = _fact_lines(view, width - 4)
    below = zero_lines(view, width - 4)
    zero = min(len(below) + 2, max(6, height // 2))
    room = height - zero
    if len(facts) + 2 < room:
        room = len(facts) + 2
        zero = height - room
    rows = [*_pane(view, _title(view), facts[view.top :], width, room)]
    rows += _pane(view, _zero_title(), below, width, zero)
    blank = finished((), width, view.glyphs)
    return tuple([*rows, *[blank] * (height - len(rows))][:height])


def stacked_rows(view: DetailsView, width: int) -> tuple[Row, ...]:
    """Return all lines of both, for a page that scrolls."""
    rows = [*zero_lines(view, width), ((" ", "text"),), *_fact_lines(view, width)]
    return tuple(finished(row, width, view.glyphs) for row in rows)


def _flat(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    rows = stacked_rows(view, width)[view.top :][:height]
    return (*rows, *[finished((), width, view.glyphs)] * (height - len(rows)))


def _title(view: DetailsView) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    gpu = view.gpu
    if gpu is None:
        name = outside(view.host.name, 40)
        count = f"{len(view.gpus)} GPUs"
        return (Piece(((name, "text-strong b"),)),), (Piece(((count, "text-muted"),), 1),)
    name = outside((gpu.info.name or "").removeprefix("NVIDIA "), 40)
    return (
        (Piece(((f"GPU {gpu.info.index}", "text-strong b"),)),),
        (Piece(((name.removesuffix(" Server Edition"), "text-muted"),), 1),),
    )


def _zero_title() -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    return (
        (Piece((("zero?", "text-strong b"),)),),
        (Piece((("what stands in the way", "text-muted"),), 1),),
    )


def _pane(
    view: DetailsView,
    title: tuple[tuple[Piece, ...], tuple[Piece, ...]],
    lines: list[Row],
    width: int,
    height: int,
) -> list[Row]:
    glyphs, border = view.glyphs, view.border
    if height < 2:
        return []
    room = height - 2
    more: tuple[Piece, ...] = ()
    if len(lines) > room:
        how = "down scrolls" if view.page is Page.FACTS else "f shows all"
        more = (Piece(((f"{len(lines) - room} more, {how}", "text-muted"),), 1),)
    rows = [top(title[0], title[1], width, border, glyphs)]
    rows += [side(((" ", "text"), *line), width, border, glyphs) for line in lines[:room]]
    rows += [side((), width, border, glyphs)] * (room - len(lines[:room]))
    rows.append(bottom((), more, width, border, glyphs))
    return [finished(row, width, glyphs) for row in rows]


def _fact_lines(view: DetailsView, width: int) -> list[Row]:
    label = _LABEL if width >= _SMALL_BELOW // 2 else 11
    rows: list[Row] = []
    for line in view.facts:
        rows += _fact(line, width, label, view.glyphs)
    if view.note:
        rows += [((text, "unknown"),) for text in wrapped(view.note, width, 2)]
    return rows


def _fact(line: FactLine, width: int, label: int, glyphs: Glyphs) -> list[Row]:
    style = _TONES.get(line.tone, "text")
    room = max(8, width - label)
    words = outside(line.words, 400)
    if line.label == "id":
        return [((left("id", label), "text-muted"), (_middle(words, room, glyphs), style))]
    first, *rest = wrapped(words, room, _MOST_LINES) or ("",)
    rows: list[Row] = [((left(line.label, label), "text-muted"), (first, style))]
    return rows + [((" " * label, "text"), (text, style)) for text in rest]


def _middle(text: str, width: int, glyphs: Glyphs) -> str:
    """Keep both ends of a UUID: neither alone tells it from its neighbours."""
    if cell_width(text) <= width:
        return text
    end = text[-8:]
    return shorten(text, max(1, width - len(end)), glyphs.cut) + end


def zero_lines(view: DetailsView, width: int) -> list[Row]:
    """Return what stands in the way of zero, line by line."""
    rows: list[Row] = []
    for one in view.obstacles:
        rows += _obstacle(one, width, view.glyphs)
    for sentence in (view.verdict, *view.since):
        if sentence:
            rows += [((text, "text-muted"),) for text in wrapped(sentence, width, 2)]
    return rows


def _obstacle(one: Obstacle, width: int, glyphs: Glyphs) -> list[Row]:
    sign, style = {
        True: (glyphs.bad, "leftover b"),
        False: (glyphs.clear, "clear b"),
        None: (glyphs.dot, "text-muted"),
    }[one.stands]
    first, *rest = wrapped(outside(one.words, 300), max(8, width - 3)) or ("",)
    rows: list[Row] = [((f"{sign}  ", style), (first, "text"))]
    return rows + [(("   ", "text"), (text, "text")) for text in rest]
