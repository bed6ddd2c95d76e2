"""The processes of a host or GPU as trees, each with what it holds on GPU and host."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gpudash.core.kintree import TreeRow
from gpudash.core.model import Owner
from gpudash.core.units import format_duration, format_memory, gib
from gpudash.ui.paint.box import Piece, bottom, side, top
from gpudash.ui.paint.claims import TEXT_OF
from gpudash.ui.paint.detailview import DetailsView
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, finished, left, on_background, outside, right, shorten

HEAD_ROWS = 2
"""The border and the heads of the columns."""


class Columns(NamedTuple):
    """Widths; 0 where a column is dropped."""

    name: int
    pid: int
    user: int
    here: int
    every: int
    host: int
    cpu: int
    threads: int
    handles: int
    state: int
    since: int
    command: int


@lru_cache(maxsize=64)
def columns_for(width: int, *, is_host: bool) -> Columns:
    """Return the widths; what says least goes first as room shrinks."""
    room = width - 4
    # (least width of the screen, name of the column, its width)
    wanted = (
        (0, "here", 7),
        (48, "state", 11),
        (56, "pid", 9),
        (64, "cpu", 6),
        (76, "since", 8),
        (84, "host", 8),
        (100, "every", 8 if not is_host else 0),
        (110, "user", 8),
        (128, "threads", 5),
        (140, "handles", 5),
    )
    given = {name: size for least, name, size in wanted if width >= least}
    rest = room - sum(given.values())
    name = max(8, min(rest, 44 if width >= 140 else 34)) if width >= 100 else max(8, rest)
    command = max(0, rest - name - 1)
    sizes = {field: given.get(field, 0) for field in Columns._fields}
    return Columns(**{**sizes, "name": name, "command": command if command >= 12 else 0})


def tree_rows(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    """Paint the pane: exactly `height` rows."""
    glyphs = view.glyphs
    if height < 5 or width < 48:
        return _bare(view, width, height)
    columns = columns_for(width, is_host=view.is_host)
    room = height - 3
    shown = view.tree[view.top : view.top + room]
    what = "families on this host" if view.is_host else "families with memory on this GPU"
    title = (Piece((("processes", "text-strong b"),)), Piece(((what, "text-muted"),), 2))
    rows = [top(title, (), width, view.border, glyphs)]
    rows.append(side(_heads(view, columns), width, view.border, glyphs))
    for place, row in enumerate(shown, view.top):
        inner = _row(row, columns, view, is_cursor=place == view.cursor)
        rows.append(side(inner, width, view.border, glyphs))
    if not shown:
        rows.append(side(((_nobody(view), "text-muted"),), width, view.border, glyphs))
    rows += [side((), width, view.border, glyphs)] * (height - 1 - len(rows))
    rows.append(bottom((), _more(view, room), width, view.border, glyphs))
    return tuple(finished(row, width, glyphs) for row in rows[:height])


def _bare(view: DetailsView, width: int, height: int) -> tuple[Row, ...]:
    columns = columns_for(width + 2, is_host=view.is_host)
    rows: list[Row] = []
    for place, row in enumerate(view.tree[view.top : view.top + height], view.top):
        rows.append(_row(row, columns, view, is_cursor=place == view.cursor))
    if not rows and height:
        rows.append(((_nobody(view), "text-muted"),))
    rows += [()] * (height - len(rows))
    return tuple(finished(row, width, view.glyphs) for row in rows[:height])


def _more(view: DetailsView, room: int) -> tuple[Piece, ...]:
    if len(view.tree) <= room:
        return ()
    words = f"{view.top + 1} to {min(view.top + room, len(view.tree))} of {len(view.tree)}"
    return (Piece(((words, "text-muted"),)),)


def _nobody(view: DetailsView) -> str:
    return "  nobody is listed" if not view.is_old else "  nobody was listed"


def _heads(view: DetailsView, columns: Columns) -> Row:
    here = "memory" if view.gpu is None else f"GPU {view.gpu.info.index}"
    words = (
        (" " + left("process", columns.name), True),
        (right("pid ", columns.pid), bool(columns.pid)),
        (left(" user", columns.user), bool(columns.user)),
        (right(here, columns.here), True),
        (right("all", columns.every), bool(columns.every)),
        (right("host", columns.host), bool(columns.host)),
        (right("CPU", columns.cpu), bool(columns.cpu)),
        (right("thr", columns.threads), bool(columns.threads)),
        (right("fds", columns.handles), bool(columns.handles)),
        (left("  state", columns.state), bool(columns.state)),
        (right("since", columns.since), bool(columns.since)),
        ("  command", bool(columns.command)),
    )
    return tuple((text, "text-muted") for text, is_shown in words if is_shown)


def _row(row: TreeRow, columns: Columns, view: DetailsView, *, is_cursor: bool) -> Row:
    glyphs = view.glyphs
    calm = "text-muted" if row.is_dead or view.is_old else "text"
    index = None if view.gpu is None else view.gpu.info.index
    edge = (glyphs.cursor if is_cursor else " ", "border-focus")
    spans: list[tuple[str, str]] = [edge, *_name(row, columns.name, calm, glyphs)]
    pid = "" if row.pid is None else str(row.pid)
    state = calm if row.is_dead or row.owner is Owner.MINE else TEXT_OF[row.owner]
    strong = calm if row.is_dead else "text-strong b" if row.is_family else "text-strong"
    cells = (
        (right(f"{pid} ", columns.pid), "text-muted", columns.pid),
        (left(" " + outside(row.user, 32), columns.user), calm, columns.user),
        (right(_memory(row.bytes_on(index)), columns.here), strong, columns.here),
        (right(_memory(row.bytes_on(None)), columns.every), calm, columns.every),
        (right(_amount(row.rss_bytes), columns.host), calm, columns.host),
        (right(_share(row.cpu_share), columns.cpu), calm, columns.cpu),
        (right(_count(row.threads), columns.threads), "text-muted", columns.threads),
        (right(_count(row.handles), columns.handles), "text-muted", columns.handles),
        (left("  " + row.state, columns.state), state, columns.state),
        (right(_since(row.age_s), columns.since), calm, columns.since),
        (f"  {_command(row, columns.command - 2, glyphs)}", "text-muted", columns.command),
    )
    spans += [(text, style) for text, style, size in cells if size]
    return on_background(tuple(spans), "row-cursor") if is_cursor else tuple(spans)


def _name(row: TreeRow, width: int, calm: str, glyphs: Glyphs) -> list[tuple[str, str]]:
    if row.is_family:
        letter = left(row.letter or " ", 2)
        rest = left(shorten(outside(row.name, 120), width - 2, glyphs.cut), width - 2)
        return [(letter, f"{TEXT_OF[row.owner]} b"), (rest, f"{calm} b")]
    steps = branches(row.lasts, glyphs)
    steps = steps[-max(4, width // 2) :]
    rest = left(shorten(outside(row.name, 120), width - len(steps), glyphs.cut), width - len(steps))
    return [(steps, "decor"), (rest, calm)]


def branches(lasts: tuple[bool, ...], glyphs: Glyphs) -> str:
    """Draw the lines that lead to a row."""
    fork, end, down = ("+ ", "` ", "| ") if glyphs.is_ascii else ("├ ", "└ ", "│ ")
    *above, last = lasts
    return "".join("  " if one else down for one in above) + (end if last else fork)


def _memory(found: tuple[int | None, bool]) -> str:
    used, is_there = found
    if not is_there:
        return ""
    return "?" if used is None else _amount(used)


def _amount(value: int | None) -> str:
    if value is None:
        return ""
    if value < 1 << 30:
        return "0" if value == 0 else format_memory(value).replace(" MiB", "M")
    return gib(value)


def _share(cores: float | None) -> str:
    if cores is None:
        return ""
    return f"{round(cores * 100)}%"


def _count(number: int | None) -> str:
    return "" if number is None else str(number)


def _since(age_s: float | None) -> str:
    return "" if age_s is None else format_duration(age_s)


def _command(row: TreeRow, width: int, glyphs: Glyphs) -> str:
    room = f"[{row.room}] " if row.room else ""
    return shorten(outside(room + row.command, 400), max(0, width), glyphs.cut)


def row_at(view: DetailsView, y: int, height: int, width: int) -> int | None:
    """Return the row of the tree that lies at a row of the pane."""
    above = 0 if height < 5 or width < 48 else HEAD_ROWS
    place = view.top + y - above
    return place if y >= above and place < len(view.tree) else None
