"""How long and how often things are measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the command line asks for."""

    is_real: bool = False
    """Measure on this machine's own driver instead of the fake one."""
    runs: int = 3
    """Full-screen programs and samplers."""
    settle_s: float = 6.0
    window_s: float = 20.0
    one_shots: int = 15
    loops: int = 5
    """Repetitions of a timed loop."""


QUICK = {"runs": 1, "settle_s": 4.0, "window_s": 8.0, "one_shots": 5, "loops": 3}
