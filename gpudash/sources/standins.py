"""Which hosts are made up: by their source, or because stand-in devices take the place of GPUs."""

from __future__ import annotations

import os

from gpudash.core.standins import VARIABLE

TYPE_CHECKING = False  # typing takes 5 ms to import
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpudash.sources.base import HostSource


def has_standins() -> bool:
    """Tell whether this side's environment maps stand-in devices: then nothing is about GPUs."""
    return bool(os.environ.get(VARIABLE))


def made_up(sources: Iterable[HostSource]) -> frozenset[str]:
    """Return the names of the hosts that must be marked from the start."""
    return frozenset(one.name for one in sources if one.is_simulated or has_standins())
