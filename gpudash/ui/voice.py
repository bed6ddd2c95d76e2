"""A way to say something to the terminal itself, beside what is drawn on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.driver import Driver


class Voice:
    """Says sequences through the driver, in line with its frames; mute where there is none."""

    def __init__(self) -> None:
        self.write: Callable[[str], object] | None = None

    def say(self, sequence: str) -> None:
        """Send a sequence to the terminal."""
        if self.write is not None:
            self.write(sequence)


def voiced(base: type[Driver], voice: Voice) -> type[Driver]:
    """Return the same driver; once it is made, `voice` speaks through it."""

    class VoicedDriver(base):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            voice.write = self.write

    return VoicedDriver
