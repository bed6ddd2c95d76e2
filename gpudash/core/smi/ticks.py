"""Rows of nvidia-smi's loop become ticks, and ticks become samples.

Nothing in the output marks the end of a tick. A tick is over when every GPU of the roster has
its row, or when a row comes that belongs to the next one: a GPU repeats, or the order goes back.
A GPU without a row in its tick has no reading in that sample; its old value never stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpudash.core.model import GpuInfo, GpuReading
from gpudash.core.smi.rows import EventLine, FatalLine, GpuRow, Line, Noise, WarningLine

NO_ROW = GpuReading()
"""Of a GPU that did not show in a tick."""
BROKEN_ROW = "a row of this reading was broken"

Tick = tuple[GpuReading, ...]
"""One reading for each GPU of the roster, in its order."""


class TickReader:
    """Group rows by tick; one reader for one nvidia-smi process."""

    def __init__(self, roster: tuple[GpuInfo, ...]) -> None:
        self._places = _places(roster)
        self._size = len(roster)
        self._bus_ids = tuple(info.bus_id for info in roster)
        self._rows: dict[int, GpuReading] = {}
        self._broken: list[GpuReading] = []
        self._errors: dict[int, GpuReading] = {}
        self._newest: Tick = (NO_ROW,) * self._size
        self._has_ticked = False
        self._doubts: dict[int, str] = {}
        self._warnings: dict[int, frozenset[int]] = {}
        self.has_strangers = False
        """A GPU answered that is not in the roster."""
        self.incomplete_in_a_row = 0
        """How many ticks in a row lacked a GPU's row."""

    @property
    def doubts(self) -> Mapping[int, str]:
        """Why a zero is in doubt, by place: the driver reported an event."""
        return dict(self._doubts)

    def inherit(self, doubts: Mapping[int, str]) -> None:
        """Take over the doubts of the reader before."""
        self._doubts.update(doubts)

    def settle(self, place: int) -> None:
        """Take the doubt from a GPU that was asked again and is well."""
        self._doubts.pop(place, None)

    def feed(self, line: Line) -> list[Tick]:
        """Take the next line and return the ticks that ended with it."""
        match line:
            case GpuRow():
                return self._row(line)
            case EventLine():
                for place in self._places_of_bus(line.bus_id):
                    self._doubts[place] = f"the driver reported: {line.text}"
                return self._again()
            case WarningLine():
                for place in self._places_of_bus(line.bus_id):
                    self._warnings[place] = frozenset({line.code})
            case FatalLine():
                self._rows, self._broken = {}, []
            case Noise():
                pass
        return []

    def empty(self) -> Tick:
        """Return a tick in which nobody answered."""
        return (NO_ROW,) * self._size

    def finish(self) -> Tick | None:
        """Return the newest state after the last line; None when no tick is open.

        A GPU that the open tick has not reached keeps what it held, never its zero.
        """
        if not self._rows and not self._broken:
            return None
        held = tuple(_no_zero(reading) for reading in self._newest)
        return self._close(held)

    def _row(self, row: GpuRow) -> list[Tick]:
        ended: list[Tick] = []
        place = self._place_of(row)
        if place is None:
            self.has_strangers |= row.key is not None
            self._broken.append(row.reading)
        elif row.is_error:
            self._errors[place] = row.reading
        else:
            if place in self._rows or (self._rows and place < max(self._rows)):
                ended.append(self._close())
            self._rows[place] = row.reading
            self._errors.pop(place, None)
        if self._size and self._covered() >= self._size:
            ended.append(self._close())
        return ended

    def _again(self) -> list[Tick]:
        """Return the newest tick anew, with doubts that came behind it."""
        if not self._has_ticked or self._rows or self._broken:
            return []
        self._newest = tuple(
            self._annotated(place, reading, "") for place, reading in enumerate(self._newest)
        )
        return [self._newest]

    def _covered(self) -> int:
        """Count the GPUs that this tick has an answer or an error for."""
        return len(self._rows.keys() | self._errors.keys()) + len(self._broken)

    def _place_of(self, row: GpuRow) -> int | None:
        if row.is_anonymous:
            return max(self._rows, default=-1) + 1 if len(self._rows) < self._size else None
        if row.key is None:
            return None
        if row.key in self._places:
            return self._places[row.key]
        by_place = (row.bus_id, f"index-{row.index}") if row.uuid is None else ()
        return next((self._places[key] for key in by_place if key in self._places), None)

    def _close(self, rest: Tick | None = None) -> Tick:
        """End the tick; broken rows stand for the GPUs that have none."""
        broken = iter(self._broken)
        lacking = rest or (NO_ROW,) * self._size
        readings = [
            self._rows.get(place) or self._errors.get(place) or next(broken, lacking[place])
            for place in range(self._size)
        ]
        surplus = BROKEN_ROW if next(broken, None) is not None else ""
        tick = tuple(
            self._annotated(place, reading, surplus) for place, reading in enumerate(readings)
        )
        is_complete = len(self._rows) == self._size
        self.incomplete_in_a_row = 0 if is_complete else self.incomplete_in_a_row + 1
        self._rows, self._broken, self._newest, self._has_ticked = {}, [], tick, True
        return tick

    def _annotated(self, place: int, reading: GpuReading, surplus: str) -> GpuReading:
        doubt = reading.doubt or self._doubts.get(place, "") or surplus
        codes = reading.codes | self._warnings.get(place, frozenset())
        if doubt == reading.doubt and codes == reading.codes:
            return reading
        return replace(reading, doubt=doubt, codes=codes)

    def _places_of_bus(self, bus_id: str | None) -> Iterable[int]:
        """Return the GPU of a bus id; all, when it can't be told which one is meant."""
        if bus_id is not None and bus_id in self._bus_ids:
            return (self._bus_ids.index(bus_id),)
        return range(self._size)


def _places(roster: tuple[GpuInfo, ...]) -> dict[str, int]:
    places: dict[str, int] = {}
    for place, info in enumerate(roster):
        for key in (info.uuid, info.bus_id, f"index-{info.index}"):
            if key is not None:
                places.setdefault(key, place)
    return places


def _no_zero(reading: GpuReading) -> GpuReading:
    return reading if reading.used_bytes else NO_ROW
