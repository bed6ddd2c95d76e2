"""Whether a key was meant: never what was typed ahead, pasted, or pressed before it could be read.

Times are of the press, not of when it was handled: a loop that was busy must not make a key that
was typed ahead look as if it came late.
"""

from __future__ import annotations

PAINTED_S = 0.4
"""A dialog takes keys only so long after its first paint."""
QUIET_S = 0.15
"""And only after so long without input."""
ALONE_S = 0.1
"""What decides something counts only when nothing follows within this time: a paste goes on."""


class Keystrokes:
    """When the user typed."""

    def __init__(self) -> None:
        """Nothing was typed yet."""
        self.last_s = float("-inf")
        """When the newest key was pressed, or text pasted."""
        self._before_s = float("-inf")
        self.count = 0

    def note(self, at_s: float) -> None:
        """Take one key or paste; those of one moment come in their order."""
        self._before_s, self.last_s = self.last_s, max(at_s, self.last_s)
        self.count += 1

    @property
    def is_after_quiet(self) -> bool:
        """Tell whether the newest key came alone so far."""
        return self.last_s - self._before_s >= QUIET_S

    def is_meant_for(self, painted_s: float | None) -> bool:
        """Tell whether the newest key may count in what was first painted then."""
        if painted_s is None:
            return False
        return self.is_after_quiet and self.last_s - painted_s >= PAINTED_S
