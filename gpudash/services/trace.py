"""Puts readings into the history, in its units and on its grid of seconds."""

from __future__ import annotations

import math

from gpudash.core.history import History
from gpudash.core.model import GpuInfo, GpuReading, Host

_EDGE = 0.1


class Pacer:
    """Gives ticks of one host their second.

    A sampler ticks on a grid of its own. Where that grid lies near the edge of our seconds, jitter
    of some milliseconds would put two ticks into one second and none into the next; so the edge
    is moved away from the ticks.
    """

    def __init__(self) -> None:
        self._shift_s: float | None = None

    def second(self, at_s: float) -> int:
        """Return the second of a time, on this host's grid."""
        return math.floor(at_s + (self._shift_s or 0.0))

    def tick(self, at_s: float) -> int:
        """Return the second of a tick, and move the grid where the tick came near its edge."""
        place = (at_s + (self._shift_s or 0.0)) % 1.0
        if self._shift_s is None or not _EDGE <= place <= 1.0 - _EDGE:
            self._shift_s = 0.5 - at_s % 1.0
        return self.second(at_s)


def remember(history: History, host: Host, second: int) -> None:
    """Store the newest reading of each GPU of a host for one second, and whose it is."""
    history.ownership.note(host, second)
    for gpu in host.gpus:
        if gpu.reading is not None:
            history.put(host.name, gpu.info.key, second, values_of(gpu.info, gpu.reading))


def values_of(info: GpuInfo, reading: GpuReading) -> tuple[int | None, ...]:
    """Return a reading in the order and units of `history.Series`."""
    memory = None
    if reading.used_bytes is not None and info.total_bytes:
        memory = round(reading.used_bytes * 10_000 / info.total_bytes)
    power = None if reading.power_mw is None else round(reading.power_mw / 1000)
    return memory, reading.utilisation_pct, power, reading.temperature_c
