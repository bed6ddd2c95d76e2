"""What can be said of one GPU in a row: its numbers as written, its claims, its trouble."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gpudash.core.model import Gpu, GpuReading, GpuState
from gpudash.core.throttling import HEAT
from gpudash.core.units import GIB, format_memory, gib
from gpudash.core.verify import judge_gpu
from gpudash.ui.paint.claims import NO_MEMORY, Claim
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, left, right, row_width


class Trouble(NamedTuple):
    """Why a GPU can't be trusted."""

    glyph: str
    text: str
    """Theme variable."""
    words: str
    reason: str
    remedy: str = ""


def trouble_of(gpu: Gpu, glyphs: Glyphs) -> Trouble | None:
    """Return what is wrong with a GPU, or None when it was read."""
    match gpu.state:
        case GpuState.READ:
            return None
        case GpuState.LOST:
            reason = "no answer: the driver says the GPU is lost"
            return Trouble(glyphs.bad, "leftover", "lost", reason, "needs a reset or a reboot")
        case GpuState.NEEDS_RESET:
            return Trouble(glyphs.bad, "leftover", "needs a reset", judge_gpu(gpu).reason)
        case GpuState.MISSING:
            reason = "was here before, the driver does not list it any more"
            return Trouble(glyphs.bad, "leftover", "gone", reason)
        case GpuState.NEEDS_ATTENTION:
            return Trouble(glyphs.warning, "unknown", "needs attention", judge_gpu(gpu).reason)
        case GpuState.UNREAD:
            return Trouble(glyphs.nothing, "text-muted", "not read yet", "")
        case GpuState.NO_PERMISSION:
            reason = "its memory may not be read here"
            return Trouble(glyphs.unknown, "unknown", "not allowed", reason)
        case GpuState.UNIFIED:
            reason = "shares the system's memory: zero can't be proven"
            return Trouble(glyphs.unknown, "unknown", "unified memory", reason)
        case _:
            return Trouble(glyphs.unknown, "unknown", "unreadable", judge_gpu(gpu).reason)


# Of each form: blanks before, cells after the number, what is between, what ends it.
_FORMS = {
    "card": (0, 12, " / ", " GiB"),
    "unit": (1, 10, "/", " GiB"),
    "total": (1, 6, "/", ""),
    "bare": (1, 0, "", ""),
}


@lru_cache(maxsize=2048)
def memory_text(
    used: int | None, total: int | None, form: str, is_zero: bool, *, is_old: bool
) -> Row:
    """Write `71.2/95.6 GiB`; forms are `card` (17 cells), `unit` (16), `total` (12), `bare` (6).

    The used part ends in the fifth cell of its column, so that rows line up. `is_zero` is what
    the verdict says: a 0 without it is amber.
    """
    lead, rest_width, slash, end = _FORMS[form]
    number, unit = _used_words(used)
    if unit and not rest_width:
        number, unit = number + unit.strip()[0], ""
    style = "text-muted b" if is_old else _used_style(used, is_zero=is_zero)
    head = right(number, lead + 5)
    if not rest_width:
        return ((head, style),)
    whole = unit or (f"{slash}{gib(total)}{end}" if total else end)
    return (head, style), (left(whole, rest_width), "text-muted")


def _used_words(used: int | None) -> tuple[str, str]:
    if used is None:
        return "?", ""
    if used == 0:
        return "0", ""
    if used < GIB:
        number, unit = format_memory(used).rsplit(" ", 1)
        return number, f" {unit}"
    return gib(used), ""


def _used_style(used: int | None, *, is_zero: bool) -> str:
    if used:
        return "text-strong b"
    return "clear b" if is_zero else "unknown b"


@lru_cache(maxsize=1024)
def number_text(
    value: int | None,
    width: int,
    unit: str,
    *,
    is_old: bool,
    is_quiet: bool,
    is_hot: bool = False,
) -> Row:
    """Write a number with its unit, right-aligned; what the driver doesn't say is `–`.

    Amber where the driver slows the GPU (`is_hot`), and nowhere else.
    """
    if value is None:
        # A dash where the number would end.
        return ((right("–" + " " * len(unit.strip()), width), "text-muted"),)
    style = "text-muted" if is_old or is_quiet else "text"
    if is_hot and not is_old:
        style = "unknown"
    return ((right(f"{value}{unit}", width), style),)


def is_slowed(reading: GpuReading) -> bool:
    """Tell whether the driver slows this GPU because it is hot."""
    return bool((reading.throttle_bits or 0) & HEAT)


def who(claims: tuple[Claim, ...], room: int, *, is_old: bool, glyphs: Glyphs) -> Row:
    """Write the families on a GPU in one row: letter, name, what it does, and the others.

    What has no room is left out as a whole: a letter says more than half a name.
    """
    if not claims:
        return ()
    first, *others = claims
    if not first.is_family:
        return _gap_words(first, room, is_old=is_old, glyphs=glyphs)
    row = named(first, room, is_old=is_old)
    if not others:
        return row
    more: Row = ((f" +{len(others) - 1}", "text-muted"),) if len(others) > 1 else ()
    left_over = room - row_width(row) - row_width(more)
    return (*row, *_longest(_also(others[0], is_old=is_old, glyphs=glyphs), left_over), *more)


def _longest(choices: tuple[Row, ...], room: int) -> Row:
    """Return the first that fits, else the last."""
    return next((row for row in choices if row_width(row) <= room), choices[-1])


def named(claim: Claim, room: int, *, is_old: bool) -> Row:
    """Write one family: `A sglang  scheduler TP0`."""
    style = "text-muted b" if is_old else f"{claim.text} b"
    letter = (f"{claim.letter or '·'} ", style)
    plain = "text-muted" if is_old else "text"
    if claim.is_dead:
        name = "dead pid" if room < 20 else f"{claim.name} is dead"
        loud = f"{claim.text} b" if claim.text == "leftover" else "unknown b"
        return letter, (name, "text-muted" if is_old else loud)
    detail = claim.detail if room >= 34 else _short(claim.detail)
    if claim.has_ended:
        plain = plain if is_old else "unknown"
        detail = "ended" if room < 34 else detail
    gap = "  " if room >= 34 else " "
    row: Row = (letter, (claim.name, plain))
    if detail:
        row += ((gap + detail, plain),)
    if claim.is_foreign and claim.user and room >= 26:
        row += ((f" ({claim.user})", "text-muted"),)
    return row


def _short(detail: str) -> str:
    """Keep what tells ranks apart: the last word of `scheduler TP0`, else the first."""
    words = detail.split()
    if not words or detail == NO_MEMORY:
        return detail
    return words[-1] if words[-1][-1:].isdigit() and ":" not in words[-1] else words[0]


def _also(claim: Claim, *, is_old: bool, glyphs: Glyphs) -> tuple[Row, ...]:
    """Return ways to write a second family, the longest first."""
    plus, tight = (" + ", "text-muted"), (" +", "text-muted")
    style = "text-muted" if is_old else f"{claim.text} b"
    if not claim.is_family:
        mark = (glyphs.hatch, "text-muted" if is_old else "unknown-bar")
        amount = f" {format_memory(claim.used_bytes or 0)}"
        whole = (f"{amount} unexplained", style)
        return (plus, mark, whole), (plus, mark, (amount, style)), (plus, mark), (tight, mark)
    letter = (claim.letter, style)
    gap = " " if claim.letter else ""
    name = (gap + claim.name, "text-muted" if is_old else "text")
    if not claim.letter:
        return (plus, name), (tight, ("1", "text-muted"))
    rows: tuple[Row, ...] = ((plus, letter, name), (plus, letter), (tight, letter))
    if claim.is_foreign and claim.user:
        user = (f" ({claim.user})", "text-muted")
        return ((plus, letter, name, user), *rows)
    return rows


def _gap_words(claim: Claim, room: int, *, is_old: bool, glyphs: Glyphs) -> Row:
    mark = (f"{glyphs.hatch} ", "text-muted" if is_old else "unknown-bar")
    words: Row = (mark, (claim.name, "text-muted" if is_old else "unknown b"))
    detail = (f", {claim.detail}", "text-muted" if is_old else "text")
    short = (format_memory(claim.used_bytes or 0), words[1][1])
    return _longest(((*words, detail), words, (mark, short)), room)
