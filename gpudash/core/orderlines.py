"""Lines that tell how an order on a host goes, from JSON to values."""

from __future__ import annotations

from typing import Any

from gpudash.core.checked import (
    InvalidLine,
    a_count,
    a_list,
    a_number,
    a_text,
    an_object,
    maybe_count,
)
from gpudash.core.events import OrderTold

KINDS = frozenset(
    ("bound", "refused", "joined", "signal", "ended", "stuck", "forced", "aborted", "done")
) | {"failed", "closed"}


def order_told(value: dict[str, Any]) -> OrderTold:
    """Return what one line tells. Raises InvalidLine."""
    line = an_object(value.get("line"))
    kind = a_text(line.get("k"), "k")
    if kind not in KINDS:
        raise InvalidLine("an order tells what nobody knows")
    return OrderTold(
        run=a_text(value.get("run"), "run"),
        kind=kind,
        number=a_count(line["n"], "n") if "n" in line else -1,
        at_s=a_number(line.get("at"), "at"),
        pid=maybe_count(line.get("pid"), "pid"),
        start_ticks=maybe_count(line.get("start"), "start"),
        uid=maybe_count(line.get("uid"), "uid"),
        signal=maybe_count(line.get("signal"), "signal"),
        step=maybe_count(line.get("step"), "step"),
        error=maybe_count(line.get("error"), "error"),
        why=a_text(line.get("why", line.get("by", "")), "why"),
        wchan=a_text(line.get("wchan", ""), "wchan"),
        left=tuple(_left(row) for row in a_list(line.get("left", []), "left")),
    )


def _left(row: object) -> tuple[int, int, str]:
    pid, start, state = a_list(row, "left")
    return a_count(pid, "pid"), a_count(start, "start"), a_text(state, "state")
