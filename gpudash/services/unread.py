"""The fleet before anything was read: what is known of hosts by their sources alone."""

from __future__ import annotations

from gpudash.core.fleet import new_fleet
from gpudash.core.model import Fleet
from gpudash.sources.base import HostSource
from gpudash.sources.expecting import expected_gpus
from gpudash.sources.standins import made_up


def unread_fleet(sources: tuple[HostSource, ...], at_s: float) -> Fleet:
    """Return hosts that are being connected, with what is made up and expected of them."""
    names = tuple(source.name for source in sources)
    return new_fleet(names, at_s, simulated=made_up(sources), expected=expected_gpus(sources))
