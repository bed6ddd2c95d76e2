"""What a host pane says when there are no GPUs to show: one sentence, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.core.hostspec import LOCAL
from gpudash.core.model import Host, Link
from gpudash.ui.paint.columns import is_compact
from gpudash.ui.paint.spans import Row, outside, wrapped
from gpudash.ui.paint.view import NO_NAMES

_LIMIT = 400


def sentences(host: Host, width: int, renamed: Mapping[str, str] = NO_NAMES) -> tuple[Row, ...]:
    """Return the body of such a pane, at most this wide, without borders."""
    room = max(width - (1 if is_compact(width) else 5), 8)
    if host.problem is None:
        return (_indented(_waiting_words(host), "text-muted"),)
    problem = host.problem
    is_fault = host.link is Link.DOWN
    rows = [
        _indented(line, "text-strong b" if is_fault else "text-strong")
        for line in wrapped(outside(problem.sentence, _LIMIT), room)
    ]
    if problem.needs_person and problem.detail.startswith("known "):
        facts = "     ".join(outside(line, 80) for line in problem.detail.splitlines())
        rows += [_indented(line, "text") for line in wrapped(facts, room)]
    rows += [
        _indented(line, "text-muted") for line in wrapped(outside(problem.advice, _LIMIT), room)
    ]
    rows.append(_keys(host, room, renamed))
    return tuple(rows)


def _waiting_words(host: Host) -> str:
    match host.link:
        case Link.CONNECTING if host.facts is None:
            return "Starting the probe …" if host.name == LOCAL else "Logging in …"
        case Link.PAUSED:
            return "Nothing was read before the pause."
        case _:
            return "Waiting for the first reading …"


def _indented(text: str, style: str) -> Row:
    return ("  ", "text"), (text, style)


def cap(key: str) -> Row:
    """Draw a filled key."""
    return ((f" {key} ", "key b on key-cap"),)


def _keys(host: Host, room: int, renamed: Mapping[str, str]) -> Row:
    has_detail = host.problem is not None and bool(host.problem.detail)
    full = "full text, can be copied" if room >= 50 else "full text"
    row: Row = (("  ", "text"),)
    if has_detail or host.link is Link.DOWN:
        row += (*cap(renamed.get("e", "e")), (f" {full}     ", "text"))
    return (*row, *cap(renamed.get("r", "r")), (" try again", "text"))
