"""The panel `what happened`: one row for each happening, newest first."""

from __future__ import annotations

from gpudash.core.model import Happening
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.claims import TEXT_OF
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, Span, cell_width, finished, left, outside
from gpudash.ui.paint.view import WallClock

TITLE = "what happened"
_HOST_MOST = 20


def events_rows(
    happenings: tuple[Happening, ...],
    width: int,
    height: int,
    *,
    wall_of: WallClock,
    glyphs: Glyphs,
    has_hosts: bool,
    has_focus: bool = False,
) -> tuple[Row, ...]:
    """Paint the panel at this height, borders included; `has_hosts` adds the host's name."""
    if height < 2:
        return ()
    border = "border-focus" if has_focus else "border"
    head = Piece(((TITLE, "text-strong b"),))
    end = (Piece((("newest first", "text-muted"),), 1),)
    shown = happenings[: height - 2]
    name_width = _name_width(shown) if has_hosts and width >= 60 else 0
    rows = [box.top((head,), end, width, border, glyphs)]
    body = [_event(one, name_width, wall_of, glyphs) for one in shown]
    if not body:
        body = [((" nothing yet", "text-muted"),)]
    body = [*body, *[()] * (height - 2 - len(body))][: height - 2]
    rows += [box.side(row, width, border, glyphs) for row in body]
    rows.append(box.bottom((), (), width, border, glyphs))
    return tuple(finished(row, width, glyphs) for row in rows)


def _name_width(shown: tuple[Happening, ...]) -> int:
    longest = max((cell_width(outside(one.host, 64)) for one in shown), default=0)
    return min(longest, _HOST_MOST) + 2


def _event(one: Happening, name_width: int, wall_of: WallClock, glyphs: Glyphs) -> Row:
    row: Row = ((f" {wall_of(one.at_s)}  ", "text-muted"),)
    if name_width:
        row += ((left(outside(one.host, 64), name_width - 2) + "  ", "text"),)
    style = "text-strong b" if one.tone == "proven" else "text"
    return (*row, mark_of(one, glyphs), ("  ", "text"), (outside(one.words, 200), style))


def mark_of(one: Happening, glyphs: Glyphs) -> Span:
    """Draw the family's letter, or what kind of news it is."""
    if one.letter:
        style = TEXT_OF[one.owner] if one.owner else "text-strong"
        return one.letter, f"{style} b"
    match one.tone:
        case "good":
            # Green is zero or done: who answers again is neither.
            return glyphs.live, "text-strong b"
        case "proven":
            return glyphs.clear, "clear b"
        case "zero":
            return glyphs.zero, "holding b"
        case "bad":
            return glyphs.bad, "leftover b"
        case "going":
            return glyphs.going, "unknown b"
        case "warn":
            return glyphs.warning, "unknown b"
        case _:
            return glyphs.nothing, TEXT_OF[one.owner] if one.owner else "decor"
