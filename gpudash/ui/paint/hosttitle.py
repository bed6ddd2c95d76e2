"""The borders of a host pane: state, name and what is true of the whole host."""

from __future__ import annotations

from collections import Counter

from gpudash.core.distance import clock_words, round_trip_words
from gpudash.core.gates import gate_of
from gpudash.core.model import GpuState, Host, Link
from gpudash.core.readings import held_sum
from gpudash.core.units import format_duration, format_known, plural
from gpudash.core.verify import HostVerdict, Verdict
from gpudash.ui.paint import box
from gpudash.ui.paint.box import Piece
from gpudash.ui.paint.columns import card_columns, line_columns, seconds_per_column
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.spans import Row, outside
from gpudash.ui.paint.view import Density, HostView

_NAME_NOISE = ("NVIDIA ", " Server Edition", " Workstation Edition", " Max-Q")
_SILENT = (GpuState.LOST, GpuState.MISSING)
_TONES = {
    Verdict.ZERO: "clear",
    Verdict.BASELINE: "clear",
    Verdict.HELD: "text",
    Verdict.UNKNOWN: "unknown",
}


def has_old_values(host: Host) -> bool:
    """Tell whether what is known of the GPUs is not what is now."""
    return host.link is not Link.LIVE and bool(host.gpus)


def tone_of(judged: HostVerdict) -> str:
    """Return the theme variable of a host's state: its border and glyph. Green is zero only."""
    host = judged.host
    states = {gpu.state for gpu in host.gpus}
    match host.link:
        case Link.CONNECTING:
            return "text-muted" if not host.gpus else "unknown"
        case Link.DOWN:
            return "leftover"
        case Link.LIVE if states & {*_SILENT, GpuState.NEEDS_RESET}:
            return "leftover"
        case Link.LIVE:
            return _TONES[judged.verdict]
        case _:
            return "unknown"


def is_calm(judged: HostVerdict) -> bool:
    """Tell whether nothing is wrong with a host: its GPUs are read, held or zero."""
    return tone_of(judged) in ("clear", "text")


def glyph_of(judged: HostVerdict, glyphs: Glyphs) -> str:
    """Return the glyph of a host's state."""
    tone = tone_of(judged)
    match judged.host.link:
        case Link.CONNECTING:
            return glyphs.nothing
        case Link.STALE | Link.PAUSED:
            return glyphs.waiting
        case Link.HUNG:
            return glyphs.warning
        case _:
            by_tone = {"leftover": glyphs.bad, "unknown": glyphs.unknown}
            return by_tone.get(tone, glyphs.live)


def border_of(view: HostView) -> str:
    """Return the style of a pane's border; focus shows on every state."""
    if view.has_focus:
        return "border-focus"
    tone = tone_of(view.verdict)
    return tone if tone in ("leftover", "unknown") else "border"


def title(view: HostView, width: int) -> Row:
    """Draw the upper border."""
    return box.top(title_pieces(view), right_pieces(view), width, border_of(view), view.glyphs)


def title_pieces(view: HostView) -> tuple[Piece, ...]:
    """Return state, name, GPUs, driver and what is wrong; what goes first costs most."""
    host = view.host
    tone = tone_of(view.verdict)
    name = outside(host.name, 64) or "?"
    dot = "decor" if tone == "text-muted" else tone
    head: Row = ((f"{glyph_of(view.verdict, view.glyphs)} ", dot), (name, "text-strong b"))
    pieces = [Piece(head)]
    wrong = _wrong_words(view)
    if host.gpus and not has_old_values(host):
        pieces.append(Piece(((gpu_names(host), "text"),), 3))
        driver = host.facts.driver if host.facts else None
        if driver:
            pieces.append(Piece(((f"driver {outside(driver, 16)}", "text-muted"),), 4))
    if view.kept is not None:
        words = f"{len(view.kept)} of {plural(len(host.gpus), 'GPU')} shown"
        pieces.append(Piece(((words, "key"),), 1))
    if wrong:
        pieces.append(Piece(((wrong, f"{tone} b" if tone == "leftover" else tone),), 2))
    if view.behind:
        words = f"and {plural(view.behind, 'other')} behind {outside(gate_of(host), 40)}"
        pieces.append(Piece(((words, tone),), 1))
    if has_old_values(host) and host.received_s is not None and host.link is not Link.PAUSED:
        pieces.append(Piece((("values below are old", "text-muted"),), 4))
    pieces += link_pieces(host)
    if host.is_simulated:
        pieces.append(Piece((("simulated", "unknown"),)))
    return tuple(pieces)


def link_pieces(host: Host) -> list[Piece]:
    """Return what must be seen of the way to a host: never dropped where nobody checks its key."""
    pieces = [Piece(((outside(note, 60), "unknown"),)) for note in host.link_notes]
    if host.transport not in ("", "ssh"):
        pieces.append(Piece(((outside(host.transport, 40), "text-muted"),), 3))
    if host.facts is not None and host.facts.source == "nvidia-smi":
        pieces.append(Piece((("through nvidia-smi", "unknown"),), 3))
        if lacks := "; ".join(host.facts.unsupported):
            pieces.append(Piece(((f"lacks {outside(lacks, 60)}", "text-muted"),), 5))
    return pieces


def _wrong_words(view: HostView) -> str:
    host = view.host
    match host.link:
        case Link.STALE if host.received_s is not None:
            return f"last seen {_seen(view)}"
        case Link.PAUSED:
            return outside(host.problem.title, 40) if host.problem else "paused"
        case Link.LIVE if host.gpus:
            silent = sum(gpu.state in _SILENT for gpu in host.gpus)
            return f"{len(host.gpus) - silent} of {len(host.gpus)} GPUs answer" if silent else ""
        case _:
            return outside(host.problem.title, 40) if host.problem else ""


def _seen(view: HostView) -> str:
    at_s = view.host.received_s or 0.0
    return f"{view.wall_of(at_s)}, {format_duration(view.now_s - at_s)} ago"


def gpu_names(host: Host) -> str:
    """Write `8 × H200`, or `4 × H200 + 4 × H100`."""
    counts = Counter(short_gpu_name(gpu.info.name) for gpu in host.gpus)
    return " + ".join(f"{count} × {name}" for name, count in counts.items())


def short_gpu_name(name: str | None) -> str:
    """Return a GPU's name without what all of them share."""
    text = outside(name or "GPU", 48)
    for noise in _NAME_NOISE:
        text = text.replace(noise, "")
    return text


def right_pieces(view: HostView) -> tuple[Piece, ...]:
    """Return what is true of the whole pane: the sum where others stand beside it, and age."""
    host = view.host
    pieces: list[Piece] = []
    if not view.is_alone and host.link is Link.LIVE and host.gpus:
        pieces.append(Piece((_sum_words(host),), 5))
    for words, style, cost in (
        (clock_words(host), "unknown", 3),
        (round_trip_words(host), "text-muted", 4),
    ):
        pieces += [Piece(((words, style),), cost)] if words else []
    age = _age_words(view)
    if age:
        pieces.append(Piece((age,), 1))
    return tuple(pieces)


def _sum_words(host: Host) -> tuple[str, str]:
    held, is_whole = held_sum(gpu.reading for gpu in host.gpus)
    style = "text" if held else "text-muted" if is_whole else "unknown"
    return f"{format_known(held, is_whole)} held", style


def _age_words(view: HostView) -> tuple[str, str] | None:
    host = view.host
    stood_s = max(0.0, view.now_s - host.link_since_s)
    again = f", try {host.retry + 1}" if host.retry else ""
    match host.link:
        case Link.CONNECTING:
            return f"connecting{again}, {format_duration(stood_s, tenths=True)}", "text-muted"
        case Link.DOWN if host.problem is not None and host.problem.needs_person:
            return "not retried by itself", "text-muted"
        case Link.DOWN if host.gpus and host.received_s is not None:
            return f"last seen {_seen(view)}", "leftover"
        case Link.DOWN:
            tries = f", {host.retry} tries" if host.retry > 1 else ""
            return f"for {format_duration(stood_s)}{tries}", "text-muted"
        case Link.HUNG:
            return f"no answer for {format_duration(stood_s)}", "unknown"
        case Link.PAUSED:
            return f"for {format_duration(stood_s)}", "text-muted"
        case Link.LIVE if host.received_s is not None:
            late_s = view.now_s - host.received_s
            if late_s < 2 * host.interval_s + 1:
                return "now", "text"
            return f"{format_duration(late_s)} ago", "text-muted"
        case _:
            return None


def foot(view: HostView, width: int) -> Row:
    """Draw the lower border: the legend on the first pane, and what the sparklines show."""
    start: tuple[Piece, ...] = ()
    end: tuple[Piece, ...] = ()
    if view.is_first and view.host.gpus and width >= 100:
        start = (Piece(_legend(view.glyphs), 1),)
        end = (Piece(((_spark_words(view, width), "text-muted"),), 2),)
    return box.bottom(start, end, width, border_of(view), view.glyphs)


def _legend(glyphs: Glyphs) -> Row:
    by_pattern = glyphs.has_patterns
    return (
        ("#" if by_pattern else glyphs.use, "alive-bar"),
        (" alive, yours   ", "text-muted"),
        (glyphs.hatch if by_pattern else glyphs.use, "leftover-bar"),
        (" leftover   ", "text-muted"),
        ("=" if by_pattern else glyphs.use, "foreign-bar"),
        (" someone else's   ", "text-muted"),
        ("?" if by_pattern else glyphs.use, "unknown-bar"),
        (" unknown   ", "text-muted"),
        (glyphs.hatch, "unknown-bar"),
        (" unexplained", "text-muted"),
    )


def _spark_words(view: HostView, width: int) -> str:
    if view.density is Density.CARD:
        whole_s = card_columns(width).bar * seconds_per_column(width, is_card=True)
    else:
        whole_s = line_columns(width).spark
    # Rounded down: the last 5 min and a bit are the last 5 min.
    span = f"{whole_s // 60} min" if whole_s >= 120 else f"{whole_s} s"
    return f"thin bars: utilisation, last {span}"
