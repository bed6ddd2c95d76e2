"""Puts readings into the history, in its units."""

from __future__ import annotations

from gpudash.core.history import History
from gpudash.core.model import GpuInfo, GpuReading, Host


def remember(history: History, host: Host, at_s: int) -> None:
    """Store the newest reading of each GPU of a host for one second."""
    for gpu in host.gpus:
        if gpu.reading is not None:
            history.put(host.name, gpu.info.key, at_s, values_of(gpu.info, gpu.reading))


def values_of(info: GpuInfo, reading: GpuReading) -> tuple[int | None, ...]:
    """Return a reading in the order and units of `history.Series`."""
    memory = None
    if reading.used_bytes is not None and info.total_bytes:
        memory = round(reading.used_bytes * 10_000 / info.total_bytes)
    power = None if reading.power_mw is None else round(reading.power_mw / 1000)
    return memory, reading.utilisation_pct, power, reading.temperature_c
