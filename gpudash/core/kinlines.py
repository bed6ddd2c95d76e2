"""A look at families, from lines to a value: it is whole or it is none, as a scan is."""

from __future__ import annotations

from typing import Any

from gpudash.core.checked import InvalidLine, a_count, a_list, a_number
from gpudash.core.events import KindredTold
from gpudash.core.holding import Process
from gpudash.core.kinship import Kindred
from gpudash.core.scanlines import MAX_PARTS, process_of


class KindredParts:
    """Joins the parts of one look after the other."""

    def __init__(self) -> None:
        self._id = -1
        self._next = 0
        self._processes: list[Process] = []

    def take(self, value: dict[str, Any]) -> KindredTold | None:
        """Take one part; return the look with the last one. Raises InvalidLine, begins anew."""
        try:
            look_id, part = a_count(value.get("id"), "id"), a_count(value.get("part"), "part")
            if part == 0:
                self._id, self._next, self._processes = look_id, 0, []
            if look_id != self._id or part != self._next or part >= MAX_PARTS:
                raise InvalidLine("a look at families is not complete")
            self._next += 1
            self._processes += [process_of(row) for row in a_list(value.get("rows"), "rows")]
            if value.get("last") is not True:
                return None
            mono = a_number(value.get("mono"), "mono")
        except InvalidLine:
            self._id = -1
            raise
        found, self._id = tuple(self._processes), -1
        return KindredTold(kindred=Kindred(id=look_id, host_monotonic_s=mono, processes=found))
