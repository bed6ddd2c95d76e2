"""The plan of a cleanup as a dialog: who would be stopped, asked for, left, and what that leaves.

Nothing in it re-sorts: its rows stand in the plan's order, which was bound when it was made.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.cleanup.consent import chosen
from gpudash.core.cleanup.forecast import given_for
from gpudash.core.cleanup.plan import FamilyId, Plan
from gpudash.core.units import plural
from gpudash.ui.paint import box
from gpudash.ui.paint.banner import key_caps
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.plankeys import Toggle, confirming
from gpudash.ui.paint.planresult import result_rows
from gpudash.ui.paint.planrows import PlanColumns, columns_of, plan_body
from gpudash.ui.paint.spans import Row, finished, fit, on_background, outside, row_width, wrapped
from gpudash.ui.paint.story import Keys
from gpudash.ui.paint.view import WallClock, no_clock

FOLDED_BELOW = 30
WIDTH = 104
_BORDER = "border-focus"
LEFT_OUT = "Nobody is signalled there; the others are cleaned without it."


class PlanView(NamedTuple):
    """What the dialog shows."""

    plans: tuple[Plan, ...] = ()
    """One for each host that was looked at, in the order of the screen."""
    toggles: tuple[Toggle, ...] = ()
    """Families with a key of their own."""
    toggled: frozenset[tuple[str, FamilyId]] = frozenset()
    """Host and family of those that are turned from their default."""
    letters: dict[tuple[str, FamilyId], str] | None = None
    waiting: tuple[tuple[str, str], ...] = ()
    """Hosts without a plan, and why; empty while they are looked at."""
    why: tuple[str, ...] = ()
    """Why it is shown again, as sentences."""
    title: str = "Clean"
    now_s: float = 0.0
    wall_of: WallClock = no_clock
    glyphs: Glyphs = UNICODE
    is_folded: bool = False
    """Reasons are hidden until `d`."""
    top: int = 0
    """First row of the body that is in sight."""
    is_armed: bool = True
    """Keys are taken."""

    @property
    def digests(self) -> tuple[str, ...]:
        """Return what names the plans in sight: others are other plans."""
        return tuple(plan.digest for plan in self.plans)

    @property
    def is_looking(self) -> bool:
        """Tell whether a host is still looked at; one that can't be reached is not waited for."""
        return any(not why for _, why in self.waiting)

    def picked(self, plan: Plan) -> frozenset[FamilyId]:
        """Return whom `y` would stop on one host."""
        mine = frozenset(family for host, family in self.toggled if host == plan.host)
        return chosen(plan, given_for(plan, mine))


def dialog_size(width: int, height: int, view: PlanView) -> tuple[int, int]:
    """Return columns and rows of the dialog on a screen."""
    across = width if width < 60 else min(WIDTH, width - 4)
    needed = (
        len(_body(view, columns_of(across, view.glyphs))) + len(_tail(view, across, height)) + 1
    )
    return across, min(height if width < 60 else max(height - 2, 1), needed)


def plan_dialog(view: PlanView, width: int, height: int, screen_height: int) -> tuple[Row, ...]:
    """Paint the dialog at this size; `screen_height` decides what has room."""
    columns = columns_of(width, view.glyphs)
    tail = _tail(view, width, screen_height)
    body = _body(view, columns)
    room = max(0, height - 1 - len(tail))
    top = max(0, min(view.top, len(body) - room))
    shown = body[top : top + room]
    below = len(body) - top - len(shown)
    rows = (
        _title(view, width, above=top, below=below),
        *(box.side(row, width, _BORDER, view.glyphs) for row in shown),
        *tail,
    )
    return tuple(
        on_background(finished(row, width, view.glyphs), "raised") for row in rows[:height]
    )


def overflow(view: PlanView, width: int, height: int, screen_height: int) -> int:
    """Return how many rows of the body have no room."""
    room = height - 1 - len(_tail(view, width, screen_height))
    return max(0, len(_body(view, columns_of(width, view.glyphs))) - room)


def _title(view: PlanView, width: int, *, above: int, below: int) -> Row:
    is_simulated = any(plan.is_simulated for plan in view.plans)
    start: tuple[Piece, ...] = (Piece(((outside(view.title, 60), "text-strong b"),)),)
    if is_simulated:
        start = (*start, Piece((("SIMULATED", "on-badge-loud b on badge-unknown"),)))
    if above or below:
        words = f"{below} rows below" if below else f"{above} rows above"
        return box.top(start, (Piece(((words, "unknown"),)),), width, _BORDER, view.glyphs)
    made = min((plan.created_s for plan in view.plans), default=None)
    words = f"plan of {view.wall_of(made)}, nothing sent yet" if made is not None else "looking"
    return box.top(start, (Piece(((words, "text-muted"),), 1),), width, _BORDER, view.glyphs)


def _body(view: PlanView, columns: PlanColumns) -> list[Row]:
    rows: list[Row] = []
    for sentence in view.why:
        rows += [
            ((f"  {line}", "unknown b"),)
            for line in wrapped(f"{sentence} Look again.", columns.inner - 4)
        ]
    several = len(view.plans) + len(view.waiting) > 1
    for plan in view.plans:
        if several:
            rows += [(), ((f"  {outside(plan.host, 64)}", "text-strong b"),)]
        rows += plan_body(
            plan,
            view.picked(plan),
            {
                family: letter
                for (host, family), letter in (view.letters or {}).items()
                if host == plan.host
            },
            {one.family: one.key for one in view.toggles if one.host == plan.host},
            columns,
            view.glyphs,
            is_folded=view.is_folded,
        )
    for name, why in view.waiting:
        rows += [(), ((f"  {outside(name, 64)}", "text-strong b"),)]
        if not why:
            rows.append((("  looking at its processes", "text-muted"),))
        for line in wrapped(f"{why} {LEFT_OUT}" if why else "", columns.inner - 4):
            rows.append(((f"  {line}", "unknown"),))
    return rows or [()]


def _tail(view: PlanView, width: int, screen_height: int) -> tuple[Row, ...]:
    """Return the rows that always stay: what it leaves, the keys, the border."""
    glyphs = view.glyphs
    edge = _divider(width, glyphs)
    rows: list[Row] = []
    is_small = screen_height < 16 or width < 60
    result = () if is_small else result_rows(view.plans, view.picked, width - 2, glyphs)
    if result:
        rows += [edge, *(box.side(row, width, _BORDER, glyphs) for row in result)]
    rows += [] if is_small else [edge]
    rows.append(box.side(_keys(view, width - 2), width, _BORDER, glyphs))
    undo = "What is ended can't be brought back." if any(map(view.picked, view.plans)) else ""
    note = (Piece(((undo, "text-muted"),), 1),) if undo else ()
    rows.append(box.bottom((), note, width, _BORDER, glyphs))
    return tuple(rows)


def _divider(width: int, glyphs: Glyphs) -> Row:
    first, last = ("+", "+") if glyphs.is_ascii else ("├", "┤")
    return ((first + glyphs.across * (width - 2) + last, _BORDER),)


def _keys(view: PlanView, room: int) -> Row:
    keys: Keys = ()
    if words := confirming(view.plans, view.picked, view.letters or {}):
        keys = (("y", words),)
    for one in view.toggles:
        keys = (*keys, (one.key, one.words(view.toggled)))
    if not view.plans:
        keys = ()
    keys = (*keys, ("d", "reasons" if view.is_folded else "fold"), ("esc", "cancel"))
    while True:
        row: Row = ((" ", "text"), *key_caps(keys, view.glyphs))
        droppable = [one for one in keys if one[0] not in ("y", "esc")]
        if row_width(row) <= room or not droppable:
            return fit(row, room, view.glyphs.cut)
        keys = tuple(one for one in keys if one != droppable[-1])


def summary(plans: tuple[Plan, ...]) -> str:
    """Name what the dialog is about: `gpu-a`, `GPU 3 of gpu-a`, `3 hosts`."""
    if len(plans) == 1:
        return plans[0].host
    return plural(len(plans), "host")
