"""What a person decides about hosts while the dashboard runs: answers, and unknown host keys."""

from __future__ import annotations

from gpudash.core.hostkeys import OfferedKey
from gpudash.core.model import Host
from gpudash.sources.logins import Ask, Logins


class Door:
    """Asked by the screen for the host under the cursor."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    def be_asked(self, ask: Ask | None) -> None:
        """Let logins that were invited put their questions here; None: nobody is here any more."""
        self._logins.ask = ask

    def needs_person(self, host: Host) -> bool:
        """Tell whether a host waits for somebody."""
        return host.problem is not None and host.problem.needs_person

    def _keeper(self, host: Host) -> str:
        """Return who offered the key: the host itself, or the jump host before it."""
        gate = host.problem.gate if host.problem else ""
        return gate.rpartition(",")[2] or host.name

    def offered(self, host: Host) -> OfferedKey | None:
        """Return the unknown key that waits for a decision."""
        return self._logins.offered.get(self._keeper(host))

    def accept(self, host: Host, *, save: bool) -> None:
        """Trust the key that waits, for this run or for good."""
        self._logins.accept(self._keeper(host), save=save)

    def invite(self, host: Host) -> None:
        """Let the next attempt at a host ask."""
        self._logins.invite(host.name)
