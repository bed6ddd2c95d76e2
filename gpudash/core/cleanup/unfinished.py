"""Orders of earlier runs whose end is on no record: a killed gpudash, a link that never came back.

The hand may still keep their reports. Who fetched them since, or was told that they are gone, says
so in a record of its own, by `of`. What was fetched is kept there until the host is told to let go:
where that is on no record a process may wait there, though nothing more is to be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpudash.core.checked import InvalidLine, a_count, an_object
from gpudash.core.cleanup.progress import Target
from gpudash.core.holding import Identity
from gpudash.core.record import Record

FETCHED = "fetched"
"""All reports of an order are on record."""
CLOSING = ("released", "forgotten", "refused")
"""Kinds of lines after which the host keeps nothing of an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """One order whose end nobody knows, or whose host was not told that somebody does."""

    run: str
    host: str
    targets: tuple[Target, ...]
    is_fetched: bool = False
    """Its reports are on record; the host may still keep them."""


def unfinished_of(records: Iterable[Record]) -> tuple[Unfinished, ...]:
    """Return the orders without an end, in the order of the records.

    Give all records that could close one as well: they are newer.
    """
    orders: dict[tuple[str, str], Mapping[str, object]] = {}
    fetched: set[tuple[str, str]] = set()
    closed: set[tuple[str, str]] = set()
    for record in records:
        for line in record.lines:
            run, host = str(line.get("of") or record.run), str(line.get("host") or "")
            if line["kind"] == "order":
                orders[run, host] = line
            elif line["kind"] == FETCHED:
                fetched.add((run, host))
            elif line["kind"] in CLOSING:
                closed.add((run, host))
    return tuple(
        Unfinished(
            run=run,
            host=host,
            targets=recorded_targets(line),
            is_fetched=(run, host) in fetched,
        )
        for (run, host), line in orders.items()
        if (run, host) not in closed
    )


def recorded_targets(line: Mapping[str, object]) -> tuple[Target, ...]:
    """Return whom a recorded order was about; what is damaged in it is left out."""
    found: list[Target] = []
    rows = line.get("targets")
    for row in rows if isinstance(rows, list) else ():
        try:
            found.append(_target(an_object(row)))
        except InvalidLine:
            continue
    return tuple(found)


def _target(row: dict[str, Any]) -> Target:
    device, inode = row.get("exe_device"), row.get("exe_inode")
    exe = None if device is None else (a_count(device, "device"), a_count(inode, "inode"))
    identity = Identity(
        pid=a_count(row.get("pid"), "pid", least=2),
        start_ticks=a_count(row.get("start_ticks"), "start"),
        uid=a_count(row.get("uid"), "uid"),
        exe=exe,
    )
    return Target(family=a_count(row.get("family"), "family"), identity=identity)
