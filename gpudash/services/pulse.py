"""Measures the way to a host: a ping down the probe's own stream, and its answer.

It is sent right after a tick, so a stream that went quiet is never kept awake by it, and it is
answered by a thread of its own there, so a driver that hangs does not look like a slow link.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudash.core.events import Ack, LinkMeasured
from gpudash.core.model import Host
from gpudash.sources.base import Stream

EVERY_S = 10.0
_FIRST_ID = 1 << 20
"""Far from the numbers of all other commands."""


class Pulse:
    """The pings of one host."""

    def __init__(self, now: Callable[[], float], unix: Callable[[], float]) -> None:
        """`now` is in seconds and only goes forward, `unix` is the wall clock of this machine."""
        self._now = now
        self._unix = unix
        self._last_id = _FIRST_ID
        self._sent_s: float | None = None
        self._sent_unix_s = 0.0
        self._is_out = False

    def forget(self) -> None:
        """Begin anew: the link is another one."""
        self._sent_s, self._is_out = None, False

    def beat(self, host: Host, stream: Stream) -> bool:
        """Ping a host where it is due; tell whether an answer is to be waited for.

        This machine is no distance away, and nvidia-smi answers no ping.
        """
        is_answered = host.facts is not None and host.facts.source == "nvml"
        now_s = self._now()
        is_due = self._sent_s is None or now_s - self._sent_s >= EVERY_S
        if not host.transport or not is_answered or not is_due:
            return self._is_out
        self._last_id += 1
        self._sent_s, self._sent_unix_s, self._is_out = now_s, self._unix(), True
        stream.send(self._last_id, "ping", {})
        return True

    def hear(self, ack: Ack) -> LinkMeasured | None:
        """Return what an answer tells of the way; None where it answers something else."""
        if not self._is_out or ack.id != self._last_id or self._sent_s is None:
            return None
        self._is_out = False
        if ack.wall_s is None:
            return None
        trip_s = max(0.0, self._now() - self._sent_s)
        # The answer was given half-way.
        offset_s = ack.wall_s - (self._sent_unix_s + trip_s / 2)
        return LinkMeasured(round_trip_s=trip_s, clock_offset_s=offset_s)
