"""Why a GPU's clocks are held down: NVML's reason bits in words.

The bits are nvmlClocksEventReasons (nvml.h); drivers before 535 call them throttle reasons.
"""

from __future__ import annotations

IDLE = 0x1
HEAT = 0x40 | 0x20
"""Hardware's and software's thermal slowdown."""
SLOWED = HEAT | 0x80 | 0x8
"""What holds clocks down against the user's will: heat, the power brake, the hardware itself."""

_WORDS = (
    (0x40, "slowed by heat (hardware)"),
    (0x20, "slowed by heat"),
    (0x80, "slowed by the power brake"),
    (0x8, "slowed by the hardware"),
    (0x4, "at its power limit"),
    (0x2, "at the clocks that were set"),
    (0x100, "at the display's clocks"),
    (0x10, "in step with other GPUs (sync boost)"),
    (IDLE, "idle"),
)
_KNOWN = sum(bit for bit, _ in _WORDS)
_UMBRELLA = 0x8
"""Set together with the hardware reasons that it stands for (0x40, 0x80)."""


def reasons(bits: int | None) -> tuple[str, ...]:
    """Return the reasons in words, the gravest first; empty for none, and where none is told."""
    if not bits:
        return ()
    if bits & _UMBRELLA and bits & (0x40 | 0x80):
        bits &= ~_UMBRELLA
    found = tuple(word for bit, word in _WORDS if bits & bit)
    rest = bits & ~_KNOWN
    return (*found, f"for a reason this version does not know (0x{rest:x})") if rest else found


def is_slowed(bits: int | None) -> bool:
    """Tell whether clocks are held down against the user's will."""
    return bool((bits or 0) & SLOWED)
