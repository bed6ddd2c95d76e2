"""The source for this machine: NVML, and nvidia-smi where NVML can't be used."""

from __future__ import annotations

from gpudash.sources.base import HostSource
from gpudash.sources.handover import EarlySampler
from gpudash.sources.local import LocalSource


def local_source(name: str = "local", early: EarlySampler | None = None) -> HostSource:
    """Return this machine as a host; `early` is its sampler where one runs already."""
    return LocalSource(name, early)
