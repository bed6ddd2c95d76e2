"""The source for this machine: NVML, and nvidia-smi where NVML can't be used."""

from __future__ import annotations

from gpudash.sources.base import HostSource
from gpudash.sources.local import LocalSource


def local_source(name: str = "local") -> HostSource:
    """Return this machine as a host."""
    return LocalSource(name)
