"""The rows of a plan: one family after the other, then who is never touched and who only reads."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.cleanup.forecast import can_be_keyed, owner_of_family
from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.plan import Action, FamilyId, FamilyPlan, Kept, Plan, Unseen
from gpudash.core.units import format_memory, gib, index_list, plural
from gpudash.ui.paint.banner import key_caps
from gpudash.ui.paint.claims import TEXT_OF
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import (
    Row,
    fit,
    left,
    outside,
    right,
    row_width,
    shorten,
    spread,
    wrapped,
)

_GIB = 1 << 30
_MAP_MOST = 10


class PlanColumns(NamedTuple):
    """Where things stand in the dialog."""

    inner: int
    verb: int
    """Width of swatch and verb, up to the letter."""
    has_map: bool
    is_ascii: bool

    @property
    def text(self) -> int:
        """Return the column at which names and reasons begin."""
        return self.verb + 3


def columns_of(width: int, glyphs: Glyphs) -> PlanColumns:
    """Return the columns of a dialog of this width."""
    inner = width - 2
    verb = 16 if width >= 100 else 12
    return PlanColumns(inner, verb, width >= 72, glyphs.is_ascii)


def plan_body(
    plan: Plan,
    picked: frozenset[FamilyId],
    letters: dict[FamilyId, str],
    keys: dict[FamilyId, str],
    columns: PlanColumns,
    glyphs: Glyphs,
    *,
    is_folded: bool,
) -> list[Row]:
    """Paint what a plan says of everybody on a host."""
    rows: list[Row] = []
    for family in plan.families:
        rows += [] if is_folded and rows else [()]
        letter, key = letters.get(family.id, ""), keys.get(family.id, "")
        will_stop = family.id in picked
        rows.append(_head(family, letter, plan, columns, glyphs, will_stop=will_stop))
        if not is_folded:
            rows += _reasons(family, key, columns, glyphs, will_stop=will_stop)
    if not plan.families and not plan.unseen:
        rows += [(), (("  nobody holds memory there", "text-muted"),)]
    rows += [_unseen(row, columns, glyphs) for row in plan.unseen]
    if plan.kept:
        rows += [] if is_folded else [()]
        rows += _kept_rows(plan.kept, columns, glyphs)
    if plan.shows_first and not is_folded:
        rows += [(), ((f"  {plan.shows_first}: look before you confirm", "text-muted"),)]
    return [*rows] if is_folded else [*rows, ()]


def _verb(family: FamilyPlan, *, will_stop: bool) -> tuple[str, str]:
    """Return the word for what `y` does to it, and its colour."""
    if will_stop:
        return "stop", "leftover"
    if family.action is Action.LEAVE or not can_be_keyed(family):
        return "leave", TEXT_OF[owner_of_family(family)]
    return ("leave", "text-muted") if family.action is Action.STOP else ("ask", "unknown")


def _head(
    family: FamilyPlan,
    letter: str,
    plan: Plan,
    columns: PlanColumns,
    glyphs: Glyphs,
    *,
    will_stop: bool,
) -> Row:
    verb, colour = _verb(family, will_stop=will_stop)
    owner = TEXT_OF[owner_of_family(family)]
    start: Row = (
        ("  ", "text"),
        (f"{glyphs.use} ", colour),
        (left(verb, columns.verb - 4), f"{colour} b"),
        (left(letter or glyphs.nothing, 2), f"{owner} b"),
        (" ", "text"),
    )
    memory = _memory(family, is_short=columns.inner < 60)
    end: Row = (*_map(family, plan, owner, columns, glyphs), *memory, ("  ", "text"))
    room = columns.inner - row_width(start) - row_width(end) - 1
    name = family_name(family)
    count = plural(len(family.members), "process", "processes")
    user = f"{count} · {outside(family.user, 32)}"
    words: Row = ((shorten(name, room), "text-strong b"),)
    if row_width(words) + 2 + len(user) <= room:
        words = (*words, (f"  {user}", "text"))
    elif row_width(words) + 2 + len(family.user) <= room:
        words = (*words, (f"  {outside(family.user, 32)}", "text"))
    return spread((*start, *words), end, columns.inner, glyphs.cut)


def family_name(family: FamilyPlan) -> str:
    """Name a family as the plan does: leftovers by what they are left over from."""
    label = outside(family.label, 60)
    return f"{label.split(' ')[0]} leftovers" if family.life is Life.LEFTOVER else label


def _memory(family: FamilyPlan, *, is_short: bool) -> Row:
    used, is_complete = family.used_bytes
    if is_short and used >= _GIB:
        return ((right(gib(used), 6), "text-strong b"),)
    if used >= _GIB:
        return (right(("" if is_complete else "≥") + gib(used), 8), "text-strong b"), (
            " GiB",
            "text-muted",
        )
    words = format_memory(used) if used or is_complete else "?"
    width = 8 if is_short else 12
    return ((right(words, width), "text-strong b" if used else "text-muted"),)


def _map(family: FamilyPlan, plan: Plan, owner: str, columns: PlanColumns, glyphs: Glyphs) -> Row:
    if not columns.has_map:
        # Work on GPUs that nobody chose is told at every size.
        more = len(family.collateral)
        return ((f"+{plural(more, 'GPU')}", "unknown b"), (" ", "text")) if more else ()
    held = {share.index for share in family.shares}
    if len(plan.scope) > _MAP_MOST:
        return ((f"GPU {index_list(sorted(held))}", f"{owner} b"), ("  ", "text"))
    spans: Row = ()
    for _, index in plan.scope:
        spans += (
            ((str(index)[-1], f"{owner} b"),) if index in held else ((glyphs.nothing, "decor"),)
        )
    outside_scope = [share.index for share in family.collateral]
    if outside_scope:
        spans += ((f" +{index_list(outside_scope)}", "unknown b"),)
    return (*spans, ("     ", "text"))


def _reasons(
    family: FamilyPlan, key: str, columns: PlanColumns, glyphs: Glyphs, *, will_stop: bool
) -> list[Row]:
    room = max(10, columns.inner - columns.text - 3)
    indent = (" " * columns.text, "text")
    is_left = family.action is Action.LEAVE or not can_be_keyed(family)
    style = "text-muted" if is_left else "text"
    # The first one may begin with a name, which stays as it is.
    first, *rest = [outside(why, 200) for why in family.why] or [""]
    sentences = [_ended(first), *map(_sentence, rest)]
    if will_stop or is_left:
        return [(indent, (line, style)) for line in wrapped(" ".join(sentences), room, 4)]
    offer = "Left running unless you press" if family.action is Action.ASK else "Left. To stop it:"
    lines = wrapped(f"{' '.join(_facts(sentences))} {offer}", room - 4, 4)
    rows: list[Row] = [(indent, (line, style)) for line in lines]
    if key:
        rows[-1] = (*rows[-1], (" ", "text"), *key_caps(((key, ""),), glyphs)[:1])
    return rows


def _facts(sentences: list[str]) -> list[str]:
    """Leave out how it would be ended, while it is left."""
    return [one for one in sentences if not one.startswith(("Ask to end", "Force at once"))]


def _sentence(text: str) -> str:
    return _ended(text[:1].upper() + text[1:])


def _ended(text: str) -> str:
    return text if text.endswith((".", ":")) else f"{text}."


def _kept_rows(kept: tuple[Kept, ...], columns: PlanColumns, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = []
    for action, mark in (
        (Action.NEVER, "=" if glyphs.is_ascii else "≡"),
        (Action.WATCHING, glyphs.nothing),
    ):
        names = [outside(_kept_name(one), 60) for one in kept if one.action is action]
        if not names:
            continue
        used = sum(one.used_bytes for one in kept if one.action is action)
        words = ", ".join(names) + (_reading(names) if action is Action.WATCHING else "")
        memory = f"{format_memory(used) if used else 'no memory'}  "
        start: Row = (
            (f"  {mark} ", "text-muted b"),
            (left(action.value, columns.verb - 1), "text-muted b"),
        )
        end: Row = ((memory, "text-muted"),) if columns.has_map else ()
        room = columns.inner - row_width(start) - row_width(end) - 2
        row: Row = (*start, (shorten(words, room), "text"))
        rows.append(spread(row, end, columns.inner, glyphs.cut))
    return rows


def _reading(names: list[str]) -> str:
    return ": they only read" if len(names) > 1 or names[0][-1:].isdigit() else ": only reads"


def _kept_name(one: Kept) -> str:
    name = "gpudash" if one.name == "own" else one.name
    return f"{name} {len(one.pids)}" if len(one.pids) > 1 else name


def _unseen(row: Unseen, columns: PlanColumns, glyphs: Glyphs) -> Row:
    start: Row = (
        (f"  {glyphs.hatch} ", "unknown"),
        (left("leave", columns.verb - 1), "unknown b"),
        (f"GPU {row.index}: {outside(row.words, 120)}", "text"),
    )
    words = "?" if row.used_bytes is None else format_memory(row.used_bytes)
    return spread(
        fit(start, columns.inner - 14, glyphs.cut), ((f"{words}  ", "text"),), columns.inner
    )
