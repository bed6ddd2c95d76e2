"""The panel `holders`: one row for each family, with what it holds and where."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.units import (
    GIB,
    format_duration,
    format_known,
    format_memory,
    gib,
    index_list,
    plural,
)
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.glyphs import PATTERNS, Glyphs
from gpudash.ui.paint.holdertable import (
    MAP_MOST,
    HolderColumns,
    HolderRow,
    holder_columns,
    host_width,
    map_width,
)
from gpudash.ui.paint.spans import Row, cell_width, finished, fit, left, outside, right, shorten
from gpudash.ui.paint.tally import Tally
from gpudash.ui.paint.view import WallClock

_VERB_STYLE = {"stop": "leftover b", "ask": "unknown b", "leave": "text-muted"}


class HoldersView(NamedTuple):
    """What the panel shows."""

    table: tuple[HolderRow, ...]
    sums: Tally
    now_s: float
    wall_of: WallClock
    glyphs: Glyphs
    has_focus: bool = False
    clean_key: str = "c"
    """As it is written on the screen."""


def holders_height(table: tuple[HolderRow, ...]) -> int:
    """Return how many rows the panel needs to show all."""
    return len(table) + 3 if table else 3


def holders_rows(view: HoldersView, width: int, height: int) -> tuple[Row, ...]:
    """Paint the panel at this height, borders included."""
    if height < 3:
        return ()
    border = "border-focus" if view.has_focus else "border"
    several = len(view.sums.hosts) > 1
    columns = holder_columns(width, host_width(view.table) if several else 0, map_width(view.table))
    has_plan = any(row.verb for row in view.table)
    body = [_head(columns, view.clean_key if has_plan else "")] if view.table else [_none(view)]
    body += _table_rows(view, columns, height - 3)
    body = [*body, *[()] * (height - 2 - len(body))][: height - 2]
    start = (Piece((("holders", "text-strong b"),)),)
    rows = (
        box.top(start, _sums(view), width, border, view.glyphs),
        *(box.side(row, width, border, view.glyphs) for row in body),
        box.bottom((), (), width, border, view.glyphs),
    )
    return tuple(finished(row, width, view.glyphs) for row in rows)


def _table_rows(view: HoldersView, columns: HolderColumns, room: int) -> list[Row]:
    table = view.table
    names = max((len(row.name) for row in table), default=0)
    name_width = min(names, max(8, columns.who // 2), 16)
    if len(table) <= room:
        return [_holder(row, name_width, columns, view) for row in table]
    shown = table[: max(room - 1, 0)]
    more: Row = ((f"     +{len(table) - len(shown)} more", "text-muted"),)
    return [*(_holder(row, name_width, columns, view) for row in shown), more]


def _none(view: HoldersView) -> Row:
    """Say that nobody holds anything, and how far that is known: unknown is never none."""
    sums = view.sums
    unproven = sums.gpus_held + sums.gpus_open
    seen = [host.received_s for host in sums.hosts if host.received_s is not None]
    if not sums.gpus_read:
        return ((" not known yet", "text-muted"),)
    if unproven:
        are = "is" if unproven == 1 else "are"
        words = f"; {plural(unproven, 'GPU')} {are} not proven zero"
        return (" nobody is listed", "text-muted"), (words, "unknown")
    where = " on the hosts that answer" if sums.silent else ""
    looked = f", last look {view.wall_of(max(seen))}" if seen else ""
    return ((f" none{where}{looked}{_open_handles(view)}", "text-muted"),)


def _open_handles(view: HoldersView) -> str:
    """Say who has a GPU open without memory: it holds nothing and only blocks a reset."""
    scanned = [host for host in view.sums.hosts if host.scan is not None]
    if not scanned:
        return ""
    from gpudash.core.attribution import attributions, handle_words

    said = [outside(handle_words(attributions(host)), 120) for host in scanned]
    return "".join(f"; {words}" for words in said if words)


def _sums(view: HoldersView) -> tuple[Piece, ...]:
    count = view.sums
    total = format_known(count.used_bytes, count.is_whole)
    dot = f" {view.glyphs.dot} "
    if not count.gpus_read:
        return (Piece((("nothing read", "text-muted"),), 1),)
    gaps = sum(mark.used_bytes for mark in count.unexplained)
    note = ("all accounted for", "text-muted")
    if gaps:
        note = (f"{format_memory(gaps)} unexplained", "unknown")
    elif count.unasked:
        note = ("asking who they are", "text-muted")
    elif count.silent:
        names = outside(count.silent[0].name, 24) if len(count.silent) == 1 else ""
        note = (f"without {names or f'{len(count.silent)} hosts'}", "unknown")
    elif count.gpus_open or not count.is_whole:
        note = (f"{plural(count.gpus_open, 'GPU')} not known", "unknown")
    row: Row = ((total, "text"), (dot, "text-muted"), note)
    return (Piece(row, 1),)


def _head(columns: HolderColumns, clean_key: str) -> Row:
    text = " " * 5 + left("who", columns.who)
    text += left("user", columns.user) if columns.user else ""
    text += left("host", columns.host) if columns.host else ""
    text += left("GPUs", columns.gpus) + " " + right("memory", columns.memory)
    text += "  " + left("since", columns.since) if columns.since == 19 else " " + right("since", 7)
    text += (
        "  " + left(f"{clean_key} would" if clean_key else "processes", columns.state)
        if columns.state
        else ""
    )
    return ((text, "text-muted"),)


def _holder(row: HolderRow, name_width: int, columns: HolderColumns, view: HoldersView) -> Row:
    plain = "text-muted" if row.is_old else "text"
    spans: Row = (
        (f" {_swatch(row, view.glyphs)} ", row.bar),
        (left(row.letter, 2), f"{row.text} b"),
        *_who(row, name_width, columns.who, view.glyphs),
    )
    if columns.user:
        spans += ((left(shorten(row.user, columns.user - 1), columns.user), plain),)
    if columns.host:
        name = shorten(outside(row.host, 64), columns.host - 1)
        spans += ((left(name, columns.host), plain),)
    spans += (*_map(row, columns.gpus, view.glyphs), (" ", "text"), *_memory(row, columns.memory))
    spans += _since(row, columns, view)
    if columns.state and row.verb and not row.is_hatched and not row.is_old:
        words: Row = ((f"{row.verb}: ", _VERB_STYLE.get(row.verb, plain)), (row.would, plain))
        return (*spans, ("  ", "text"), *fit(words, columns.state, view.glyphs.cut))
    if columns.state:
        style = "unknown" if row.is_hatched or row.state.endswith(("stopped", "ended")) else plain
        # The word that counts is the last one; it is never cut.
        is_long = row.state.endswith("ended") and len(row.state) > columns.state
        state = "ended" if is_long else row.state
        spans += (("  ", "text"), (left(state, columns.state), style))
    return spans


def _swatch(row: HolderRow, glyphs: Glyphs) -> str:
    if row.is_hatched:
        return glyphs.hatch
    return PATTERNS.get(row.bar, "#") if glyphs.has_patterns else glyphs.use


def _who(row: HolderRow, name_width: int, width: int, glyphs: Glyphs) -> Row:
    name = "text-muted" if row.is_old else "unknown b" if row.is_hatched else "text-strong b"
    plain = "text-muted" if row.is_old else "text"
    words: Row = ((left(row.name, max(name_width, len(row.name))), name), (" ", "text"))
    room = max(0, width - max(name_width, len(row.name)) - 2)
    detail = row.detail if cell_width(row.detail) <= room else ""
    if row.letter and not row.is_hatched:
        detail = _fitting(row.detail, room)
    return (*fit((*words, (detail, plain)), max(width - 1, 0), glyphs.cut), (" ", "text"))


def _fitting(detail: str, room: int) -> str:
    """Leave out whole words from the right; cut a word only where it is the first."""
    words = detail.split(" ")
    while len(words) > 1 and cell_width(" ".join(words)) > room:
        words.pop()
    return shorten(" ".join(words), room)


def _map(row: HolderRow, width: int, glyphs: Glyphs) -> Row:
    style = f"{row.text} b"
    if len(row.roster) > MAP_MOST:
        return ((left(shorten(index_list(list(row.gpus)), width), width), style),)
    spans: Row = ()
    held = set(row.gpus)
    for index in row.roster:
        spans += ((str(index)[-1], style) if index in held else (glyphs.nothing, "decor"),)
    return fit(spans, width)


def _memory(row: HolderRow, width: int) -> Row:
    style = "text-muted" if row.is_old else "text-strong b"
    used = row.used_bytes
    if used is None:
        number, unit = "?", "    "
    elif used < GIB:
        number, unit = format_memory(used).rsplit(" ", 1)
        unit = f" {unit}"
    else:
        number, unit = gib(used), " GiB"
    if used is not None and not row.is_whole:
        number = f"≥{number}"
    if width < 10:
        if unit == " MiB":
            number += "M"
        return ((right(number, width), style),)
    return (right(number, width - 4), style), (unit, "text-muted")


def _since(row: HolderRow, columns: HolderColumns, view: HoldersView) -> Row:
    if row.age_s is None:
        return ((" " * (columns.since + (2 if columns.since == 19 else 1)), "text"),)
    age = format_duration(row.age_s)
    if columns.since < 19:
        return ((" " + right(age, columns.since), "text-muted" if row.is_old else "text"),)
    began = view.wall_of(view.now_s - row.age_s)
    if len(began) > 9:
        # Of another day: the date has room, and the age says the rest.
        began = began.rpartition(" ")[0]
    plain = "text-muted" if row.is_old else "text"
    return (f"  {left(began, 10)}", plain), (left(age, 9), "text-muted")
