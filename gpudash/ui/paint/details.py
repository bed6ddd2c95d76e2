"""The details of a host or GPU as a whole screen: banner, charts, facts, processes, keys."""

from __future__ import annotations

from gpudash.ui.paint.banner import banner_rows
from gpudash.ui.paint.detailcharts import chart_rows
from gpudash.ui.paint.detailfacts import facts_rows
from gpudash.ui.paint.detailtree import tree_rows
from gpudash.ui.paint.detailview import DetailsView, Frame, Page, divide
from gpudash.ui.paint.footer import footer_row
from gpudash.ui.paint.header import SIMULATED, notes
from gpudash.ui.paint.spans import (
    Row,
    finished,
    outside,
    plain,
    row_width,
    shorten,
    spread,
)


def details_rows(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    """Paint a screen: exactly `height` rows of `width` cells."""
    frame = frame_of(view, width, height)
    rows: list[Row] = [_header(view, width)] if frame.header else []
    rows += banner_rows(view.story, width, view.glyphs, () if frame.header else notes(view.header))
    rows += _wide(view, frame, width) if frame.is_wide else _page(view, frame, width)
    if frame.footer:
        rows.append(footer_row(view.keys, width, view.glyphs))
    blank = finished((), width, view.glyphs)
    return tuple([*rows, *[blank] * (height - len(rows))][:height])


def frame_of(view: DetailsView, width: int, height: int) -> Frame:
    """Return how the screen is divided; a page has all of it."""
    frame = divide(width, height, len(view.tree))
    if frame.is_wide and view.page is not Page.CHARTS:
        return frame._replace(charts=frame.charts + frame.tree, tree=0, left=width, is_wide=False)
    return frame


def details_text(view: DetailsView, width: int, height: int) -> str:
    """Return what is shown as plain text, without borders' and keys' rows."""
    frame = frame_of(view, width, height)
    rows = details_rows(view, width, height)
    shown = rows[: len(rows) - frame.footer]
    return "\n".join(plain(row).rstrip() for row in shown)


def tree_place(view: DetailsView, width: int, height: int) -> tuple[int, int]:
    """Return the row at which the processes begin on the screen, and how many rows they have."""
    frame = frame_of(view, width, height)
    above = frame.header + 2
    if frame.is_wide:
        return above + frame.charts, frame.tree
    return (
        (above + _tab_rows(frame), frame.charts - _tab_rows(frame))
        if (view.page is Page.PROCESSES)
        else (0, 0)
    )


def _header(view: DetailsView, width: int) -> Row:
    host = shorten(outside(view.host.name, 60), 32)
    what = "host" if view.gpu is None else f"GPU {view.gpu.info.index}"
    count = len(view.host.gpus)
    start: Row = ((" gpudash", "key b"), (f"  {host}", "text-strong"))
    start += ((f"  {what}", "text-strong b"), (f"  of {count}", "text-muted"))
    end: Row = ((f"{view.header.clock} ", "text-strong"),)
    if view.header.paused_s is not None:
        end = (("PAUSED  ", "unknown b"), *end)
    elif width >= 60:
        end = ((f"every {view.header.interval_s:.1f} s   ", "text-muted"), *end)
    if not view.header.is_simulated:
        return finished(spread(start, end, width, view.glyphs.cut), width, view.glyphs)
    before = (width - row_width(SIMULATED)) // 2
    after = width - before - row_width(SIMULATED)
    if row_width(end) > after - 1:
        end = end[-1:]
    row = (*spread(start, (), before, view.glyphs.cut), *SIMULATED, *spread((), end, after))
    return finished(row, width, view.glyphs)


def _wide(view: DetailsView, frame: Frame, width: int) -> list[Row]:
    charts = chart_rows(view, frame.left, frame.charts)
    right_width = width - frame.left
    # What scrolls here is the tree.
    facts = facts_rows(view._replace(top=0), right_width, frame.charts)
    rows = [(*one, *other) for one, other in zip(charts, facts, strict=True)]
    return [*rows, *tree_rows(view, width, frame.tree)]


def _tab_rows(frame: Frame) -> int:
    return 1 if frame.charts >= 9 else 0


def _page(view: DetailsView, frame: Frame, width: int) -> list[Row]:
    tabs = _tab_rows(frame)
    height = frame.charts - tabs
    rows = [_tabs(view, width)] if tabs else []
    match view.page:
        case Page.CHARTS:
            return [*rows, *chart_rows(view, width, height)]
        case Page.FACTS:
            return [*rows, *facts_rows(view, width, height)]
        case Page.PROCESSES:
            return [*rows, *tree_rows(view, width, height)]


def _tabs(view: DetailsView, width: int) -> Row:
    row: Row = ((" ", "text"),)
    for page in Page:
        is_shown = page is view.page
        row += ((f" {page.value} ", "text-strong b on key-cap" if is_shown else "text-muted"),)
        row += ((" ", "text"),)
    end: Row = (("f", "key b"), (" next ", "text-muted"))
    return finished(spread(row, end, width, view.glyphs.cut), width, view.glyphs)
