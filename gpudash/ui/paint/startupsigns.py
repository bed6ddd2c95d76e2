"""Ranks beside each other, and what is seen of the process while its log is silent."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.startup.logbook import rank_order
from gpudash.core.startup.model import Outcome, Phase
from gpudash.core.startup.stall import WORKS_CPU_PCT, rate
from gpudash.core.units import format_duration, gib
from gpudash.ui.paint import box
from gpudash.ui.paint.bars import memory_bar, sparkline
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.spans import Row, left, outside, right, wrapped
from gpudash.ui.paint.startupview import StartupView

_BEHIND_SHARE = 0.85
"""A rank whose memory is below this part of the others' median is behind them."""
_PHASES_IN_PLACE = frozenset({"load_weights", "load_draft"})
_SILENT_S = 5.0
SPARK = 12


class Rank(NamedTuple):
    """One rank, or one GPU where nothing tells of ranks."""

    name: str
    used: int | None
    total: int | None
    state: str
    is_behind: bool = False


def ranks_of(view: StartupView) -> tuple[Rank, ...]:
    """Return the ranks: GPUs in their order, with the names that the log gives them."""
    one = view.followed
    phase = one.startup.current
    begun = _names(phase, one.startup.phases)
    gpus = sorted(one.gpus, key=lambda gpu: view.indices.get(gpu, 0))
    names = begun if len(begun) == len(gpus) else ()
    late = phase.laggards if phase is not None else ()
    levels = [_newest(view, gpu) for gpu in gpus]
    known = sorted(level for level in levels if level is not None)
    middle = known[len(known) // 2] if known else 0
    rows = []
    for place, gpu in enumerate(gpus):
        name = names[place] if names else f"GPU {view.indices.get(gpu, place)}"
        level = levels[place]
        low = level is not None and len(known) > 1 and level < _BEHIND_SHARE * middle
        state, is_behind = _state(view, phase, name, late, is_low=low)
        rows.append(Rank(name, level, view.totals.get(gpu), state, is_behind))
    if not gpus:
        rows = [Rank(name, None, None, *_state(view, phase, name, late)) for name in begun]
    return tuple(rows)


def _names(phase: Phase | None, phases: tuple[Phase, ...]) -> tuple[str, ...]:
    known = [one for one in ((phase,) if phase else ()) if len(one.begun - {""}) > 1]
    known += [one for one in reversed(phases) if len(one.begun - {""}) > 1]
    return tuple(sorted(known[0].begun - {""}, key=rank_order)) if known else ()


def _newest(view: StartupView, gpu: str) -> int | None:
    curve = view.followed.memory.get(gpu)
    return curve[-1][1] if curve else None


def _state(
    view: StartupView,
    phase: Phase | None,
    name: str,
    late: tuple[str, ...],
    *,
    is_low: bool = False,
) -> tuple[str, bool]:
    startup = view.followed.startup
    if startup.failure is not None:
        return ("failed first", True) if startup.failure.rank == name else ("", False)
    if startup.outcome is Outcome.READY or phase is None:
        return "", False
    if name in late or (name.startswith("TP") and name[2:] in late):
        return "behind", True
    if is_low:
        return "less memory", True
    if phase.ended and name in phase.ended:
        return "waits" if late else "done", False
    return "", False


def ranks_rows(view: StartupView, width: int, height: int) -> list[Row]:
    """Paint the panel `ranks`."""
    ranks = ranks_of(view)
    inner, room = width - 2, height - 2
    label = max((len(rank.name) for rank in ranks), default=4) + 2
    words = 14 if inner >= 40 else 0
    bar = max(6, inner - label - 10 - 5 - words - 1)
    shown = ranks
    more = 0
    if len(ranks) > room:
        behind = [rank for rank in ranks if rank.is_behind]
        shown = tuple((behind + [rank for rank in ranks if not rank.is_behind])[: room - 1])
        shown = tuple(rank for rank in ranks if rank in shown)
        more = len(ranks) - len(shown)
    body = [_rank(view, rank, label, bar) for rank in shown]
    if more:
        body.append(((f" and {more} more", "text-muted"),))
    if not ranks:
        body = [((" none known yet", "text-muted"),)]
    title = "ranks" if any(not rank.name.startswith("GPU") for rank in ranks) else "GPUs"
    end = (Piece((("GPU memory", "text-muted"),), 1),)
    return _panel(view, title, end, body, width, height)


def _rank(view: StartupView, rank: Rank, label: int, bar: int) -> Row:
    colour = "unknown-bar" if rank.is_behind else "alive-bar"
    if view.followed.startup.outcome is Outcome.FAILED:
        colour = "leftover-bar" if rank.is_behind else "stale-bar"
    style = "unknown b" if rank.is_behind else "text"
    parts = ((colour, False, rank.used or 0),)
    drawn = memory_bar(bar, parts, rank.used, rank.total, stacked=True, glyphs=view.glyphs)
    percent = (
        "   ?" if rank.used is None or not rank.total else f"{100 * rank.used / rank.total:3.0f}%"
    )
    amount = "?" if rank.used is None else f"{gib(rank.used)} GiB"
    return (
        (f" {left(rank.name, label - 1)}", style),
        *drawn,
        (right(percent, 5), "text-strong b" if rank.is_behind else "text"),
        (right(amount, 10), "text-muted"),
        ("  ", "text"),
        (rank.state, "unknown b" if rank.is_behind else "text-muted"),
    )


# -- is it alive? --------------------------------------------------------------------------------


def alive_rows(view: StartupView, width: int, height: int) -> list[Row]:
    """Paint the panel `is it alive?`."""
    one = view.followed
    inner, room = width - 2, height - 2
    body = [] if room < 5 else _signs(view, inner)
    said = sentences(view)
    rows: list[Row] = []
    for text, style in said:
        rows += [((f" {line}", style),) for line in wrapped(text, inner - 2, 3)]
    if body and rows and len(body) + len(rows) < room:
        body.append(())
    body += rows
    silent = ""
    if one.startup.outcome is Outcome.STARTING:
        silent_s = one.life.silent_s
        silent = (
            "log moves" if silent_s < _SILENT_S else f"log silent for {format_duration(silent_s)}"
        )
    if one.link:
        silent = one.link
    end = (Piece(((silent, "unknown" if one.link else "text-muted"),), 1),) if silent else ()
    title = "is it alive?" if one.startup.outcome is Outcome.STARTING else "what was seen"
    return _panel(view, title, end, body, width, height)


def _signs(view: StartupView, inner: int) -> list[Row]:
    life, trace = view.followed.life, view.trace
    cores = None if life.cpu_pct is None else life.cpu_pct / 100
    signs = (
        ("disk", _flag(life.read_bps, 1e6), trace.disk, _read_words(life.read_bps)),
        ("CPU", _flag(life.cpu_pct, WORKS_CPU_PCT), trace.cpu, _core_words(cores)),
        ("GPU", _flag(life.gpu_pct, 5.0), trace.gpu, _busy_words(life.gpu_pct)),
    )
    rows = []
    for name, works, values, words in signs:
        mark: tuple[str, str] = (f" {view.glyphs.nothing} ", "text-muted")
        if works:
            mark = (f" {view.glyphs.clear} ", "clear b")
        row: Row = (mark, (left(name, 6), "text"))
        if inner >= 44:
            row += (*_spark(view, values), ("  ", "text"))
        rows.append((*row, (words, "text" if works else "text-muted")))
    if life.processes is not None:
        row = ((f" {view.glyphs.nothing} ", "text-muted"), (left("tree", 6), "text"))
        words = "1 process" if life.processes == 1 else f"{life.processes} processes alive"
        gap: Row = ((" " * (SPARK + 2), "text"),) if inner >= 44 else ()
        rows.append((*row, *gap, (words, "text-muted")))
    return rows


def _flag(value: float | None, least: float) -> bool:
    return value is not None and value >= least


def _spark(view: StartupView, values: tuple[int | None, ...]) -> Row:
    shown = (*[None] * SPARK, *values)[-SPARK:]
    return sparkline(shown, is_old=False, glyphs=view.glyphs)


def _read_words(read_bps: float | None) -> str:
    return "not known" if read_bps is None else f"reads {rate(read_bps)}"


def _core_words(cores: float | None) -> str:
    if cores is None:
        return "not known"
    return "idle" if cores < WORKS_CPU_PCT / 100 else f"{cores:.1f} cores"


def _busy_words(gpu_pct: float | None) -> str:
    return "not known" if gpu_pct is None else f"{gpu_pct:.0f} % busy"


def sentences(view: StartupView) -> list[tuple[str, str]]:
    """Return what there is to say in words, each with its style; what is odd first."""
    one = view.followed
    said: list[tuple[str, str]] = []
    if one.link:
        said.append((f"{outside(one.link, 200)}: what is shown is old.", "unknown"))
    phase = one.startup.current if one.startup.outcome is Outcome.STARTING else None
    if phase is not None and phase.laggards:
        said.append((_laggard_words(phase), "unknown"))
    if one.stall:
        said.append((_sentence(outside(one.stall, 240)), "unknown"))
    if one.stall_hint:
        said.append((_sentence(outside(one.stall_hint, 240)), "text"))
    if phase is not None and not phase.laggards and not one.stall:
        said += [(words, "text-muted") for words in _flat_words(view, phase)]
    if one.health and one.startup.outcome is not Outcome.FAILED:
        said.append((f"Health: {outside(one.health, 120)}.", "text-muted"))
    said += [(_sentence(outside(note, 200)), "unknown") for note in one.startup.notes]
    if one.ending:
        said.append((_sentence(outside(one.ending, 200)), "text-muted"))
    return said


def _sentence(text: str) -> str:
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "?")) else f"{whole}."


def _laggard_words(phase: Phase) -> str:
    late = ", ".join(phase.laggards[:4])
    more = f" and {len(phase.laggards) - 4} more" if len(phase.laggards) > 4 else ""
    verb = "is" if len(phase.laggards) == 1 else "are"
    return f"{late}{more} {verb} behind: {len(phase.ended)} of {len(phase.begun)} ranks are done."


def _flat_words(view: StartupView, phase: Phase) -> list[str]:
    """Say that flat memory is how these engines load, where it is flat."""
    if phase.name not in _PHASES_IN_PLACE:
        return []
    curves = [curve for curve in view.followed.memory.values() if curve]
    if not curves:
        return []
    curve = curves[0]
    last = curve[-1][1]
    began = next((at_s for at_s, used in curve if used >= 0.97 * last), 0.0)
    flat_s = curve[-1][0] - began
    if last < 1 << 30 or flat_s < 8.0:
        return []
    at = format_duration(began)
    return [f"Memory is flat: normal here. Space was taken at {at}; shards are copied into it."]


def _panel(
    view: StartupView, title: str, end: tuple[Piece, ...], body: list[Row], width: int, height: int
) -> list[Row]:
    glyphs = view.glyphs
    rows = [*body, *[()] * max(0, height - 2 - len(body))][: height - 2]
    return [
        box.top((Piece(((title, "text-strong b"),)),), end, width, "border", glyphs),
        *(box.side(row, width, "border", glyphs) for row in rows),
        box.bottom((), (), width, "border", glyphs),
    ]
