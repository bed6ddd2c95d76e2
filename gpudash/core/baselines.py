"""Idle readings above zero that a user accepted, by GPU UUID and driver version.

A baseline is memory without holders that a person looked at once and called idle. It is named as
such, never called zero, and there is no tolerance: one byte more is HELD.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """One accepted reading."""

    uuid: str
    """Of the GPU."""
    driver: str
    """Version under which it was read; another driver has another idle reading."""
    used_bytes: int
    accepted_at: str = ""
    """UTC, as written in the record."""
    host: str = ""
    """Under which name its host was read then; display only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baselines:
    """All that was accepted."""

    entries: tuple[Baseline, ...] = ()
    """Of two for the same GPU and driver the later one counts."""
    is_strict: bool = False
    """A baseline counts as held (`--strict`)."""

    def accepted_bytes(self, uuid: str | None, driver: str | None) -> int | None:
        """Return what was accepted for a GPU under a driver; None where nothing was."""
        if uuid is None or driver is None:
            return None
        for entry in reversed(self.entries):
            if entry.uuid == uuid and entry.driver == driver:
                return entry.used_bytes
        return None


NO_BASELINES = Baselines()
