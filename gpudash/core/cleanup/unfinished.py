"""Orders of earlier runs whose end is on no record: a killed gpudash, a link that never came back.

The hand may still keep their reports. Who fetched them since, or was told that they are gone, says
so in a record of its own, by `of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpudash.core.checked import InvalidLine, a_count, a_list, an_object
from gpudash.core.cleanup.progress import Target
from gpudash.core.cleanup.reports import identity_of
from gpudash.core.record import Record

CLOSING = ("fetched", "forgotten", "refused")
"""Kinds of lines after which nothing more is to be had of an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """One order whose end nobody knows."""

    run: str
    host: str
    targets: tuple[Target, ...]


def unfinished_of(records: Iterable[Record]) -> tuple[Unfinished, ...]:
    """Return the orders without an end, in the order of the records.

    Give all records that could close one as well: they are newer.
    """
    orders: dict[tuple[str, str], Mapping[str, object]] = {}
    closed: set[tuple[str, str]] = set()
    for record in records:
        for line in record.lines:
            run, host = str(line.get("of") or record.run), str(line.get("host") or "")
            if line["kind"] == "order":
                orders[run, host] = line
            elif line["kind"] in CLOSING:
                closed.add((run, host))
    return tuple(
        Unfinished(run=run, host=host, targets=recorded_targets(line))
        for (run, host), line in orders.items()
        if (run, host) not in closed
    )


def recorded_targets(line: Mapping[str, object]) -> tuple[Target, ...]:
    """Return whom a recorded order was about; what is damaged in it is left out."""
    found: list[Target] = []
    try:
        families = a_list(an_object(line.get("order")).get("families", []), "families")
        for row in families:
            family = an_object(row)
            number = a_count(family.get("f"), "f")
            members = a_list(family.get("members", []), "members")
            found += [Target(family=number, identity=identity_of(one)) for one in members]
    except InvalidLine:
        return tuple(found)
    return tuple(found)
