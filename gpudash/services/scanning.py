"""How a proof has hosts scanned: by their hand, through the monitor."""

from __future__ import annotations

from gpudash.core.holding import Scan
from gpudash.services.monitor import FleetMonitor
from gpudash.services.prover import Scanner
from gpudash.sources.base import SourceError


def scanner(monitor: FleetMonitor) -> Scanner:
    """Return what answers a proof's wish for a scan; None where a host can't be scanned."""

    async def scan(name: str) -> Scan | None:
        host = monitor.fleet.host(name)
        is_held = any(gpu.reading and gpu.reading.used_bytes for gpu in host.gpus)
        try:
            return await monitor.scan(name, has_maps=is_held)
        except (SourceError, TimeoutError):
            # The hand's end is in the log; the proof says that nobody looked.
            return None

    return scan
