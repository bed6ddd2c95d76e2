"""Decides when a host's processes are scanned unasked: when memory is unexplained or a pid odd.

Something new that the newest scan does not explain is looked at soon; what stays odd every ten
seconds, for whoever keeps memory may end. A host where nothing is odd is never scanned.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.core.listed import is_odd, listed_pids
from gpudash.core.model import Host
from gpudash.services.clock import Clock
from gpudash.services.hand import Hand

AGAIN_S = 10.0
SOON_S = 2.0
SETTLED_TICKS = 2
"""A pid is odd for a moment while it starts or ends: it must stay so for a second tick."""


class Lookout:
    """The unasked scans of one host."""

    def __init__(self, hand: Hand, clock: Clock) -> None:
        """Look at nothing yet."""
        self._hand = hand
        self._clock = clock
        self._scanned_s: float | None = None
        self._ticks = 0

    def consider(self, host: Host) -> None:
        """Scan where this tick shows something odd and the last scan is old enough."""
        if not is_odd(host):
            self._ticks = 0
            return
        self._ticks += 1
        if self._ticks < SETTLED_TICKS:
            return
        from gpudash.core.holders import scan_need

        now = self._clock.now()
        waited_s = None if self._scanned_s is None else now - self._scanned_s
        need = scan_need(host)
        is_due = waited_s is None or waited_s > (SOON_S if need else AGAIN_S)
        if is_due:
            self._scanned_s = now
            has_maps = need.has_maps if need else host.scan is not None and host.scan.has_maps
            self._hand.tell("scan", scan_arguments(host, has_maps=has_maps))

    def forget(self) -> None:
        """Forget what was looked at: the link is a new one."""
        self._scanned_s, self._ticks = None, 0


def scan_arguments(
    host: Host, *, is_whole: bool = False, has_maps: bool = False
) -> Mapping[str, object]:
    """Return the arguments of a scan of a host."""
    return {"pids": sorted(listed_pids(host)), "all": is_whole, "maps": has_maps}
