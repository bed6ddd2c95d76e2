"""Why a host can't be read, as one value for a pane and for a command line alike."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a host can't be read, for a pane and for a command line alike."""

    title: str
    """What, in two or three words: `driver not loaded`."""
    sentence: str
    advice: str = ""
    detail: str = ""
    """Technical text for the errors screen; may be long."""
    code: int | None = None
    """NVML code, where one was the cause."""
    is_no_driver: bool = False
    """There is no NVIDIA driver on that machine at all."""
    exit_code: ExitCode = ExitCode.UNKNOWN
    needs_person: bool = False
    """It is not tried again by itself: a lockout, a wrong key or a code needs somebody."""
    gate: str = ""
    """The jump host that stands in the way of all behind it; empty where it is the host itself."""
