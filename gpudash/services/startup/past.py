"""Earlier start-ups, in a file of the state folder."""

from __future__ import annotations

from pathlib import Path

from gpudash.core.startup.history import PastRun


class Past:
    """The stored start-ups."""

    def __init__(self, path: Path | None = None) -> None:
        """Read nothing yet; `path` is for tests."""
        self._path = path

    def load(self) -> tuple[PastRun, ...]:
        """Return all that is stored, oldest first."""
        raise NotImplementedError

    def add(self, run: PastRun) -> None:
        """Store one more. Raises OSError."""
        raise NotImplementedError
