"""Looks for alerts in a live fleet: hosts that changed, and those where something is under way."""

from __future__ import annotations

from collections.abc import Callable

from gpudash.core.alert_levels import Bounds
from gpudash.core.alerts import Alerts, Raised, Told, look
from gpudash.core.events import Event
from gpudash.core.model import Host
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor


class Alarm:
    """The alerts of one monitor's hosts. Whoever shows them calls `heed` as often as it likes."""

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        bounds: Bounds,
        tell: Callable[[Told], None],
    ) -> None:
        """Begin to listen; `tell` gets what is raised and what is taken back."""
        self.bounds = bounds
        self._monitor = monitor
        self._clock = clock
        self._tell = tell
        self._alerts: dict[str, Alerts] = {}
        self._changed: set[str] = {host.name for host in monitor.fleet.hosts}
        monitor.listeners.append(self._hear)

    def _hear(self, _event: Event, _before: Host, after: Host) -> None:
        self._changed.add(after.name)

    def look_again(self) -> None:
        """Let the next look be at every host: other bounds count now."""
        self._changed = {host.name for host in self._monitor.fleet.hosts}

    def close(self) -> None:
        """Listen no more."""
        self._monitor.listeners.remove(self._hear)

    @property
    def raised(self) -> Raised:
        """Return what is raised now on any host, the oldest first."""
        found = [
            (name, place, alert)
            for name, alerts in self._alerts.items()
            for place, alert in alerts.raised
        ]
        # Equal times stay in the order of the hosts.
        return tuple(sorted(found, key=lambda one: one[2].raised_s))

    def heed(self) -> None:
        """Look at what changed, and where a wait may be over; tell what is new."""
        # A host that is silent sends nothing that would call for a look.
        names = self._changed | {name for name, alerts in self._alerts.items() if alerts.standing}
        self._changed = set()
        now_s = self._clock.now()
        for host in self._monitor.fleet.hosts:
            if host.name not in names:
                continue
            before = self._alerts.get(host.name, Alerts())
            self._alerts[host.name], news = look(before, host, self.bounds, now_s)
            for told in news:
                if told.is_news:
                    self._monitor.note(told.happening)
                self._tell(told)
