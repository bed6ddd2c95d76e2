"""Follows one start-up: its log, its health URL, its GPUs' memory and its processes.

One task. It opens a hand of its own, so that a long log never delays a scan or an order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.following import Followed, FollowSpec
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.startup.past import Past
from gpudash.sources.base import HostSource


class Following:
    """One start-up that is being followed."""

    def __init__(
        self,
        source: HostSource,
        spec: FollowSpec,
        *,
        clock: Clock,
        catalog: Catalog,
        changed: Callable[[], None] = lambda: None,
        history: Past | None = None,
        record: Run | None = None,
        monitor: FleetMonitor | None = None,
    ) -> None:
        """Follow nothing yet; `changed` is called whenever `followed` is another value.

        `monitor` tells of GPU memory, where the host is watched. `record` is written and not ended.
        """
        raise NotImplementedError

    @property
    def followed(self) -> Followed:
        """Return what is known now."""
        raise NotImplementedError

    async def run(self) -> Followed:
        """Follow until it is over: READY (unless it stays), failed, or the log has ended.

        Raises SourceError where the host can't be reached at all, or has no such log.
        """
        raise NotImplementedError

    def exited(self, code: int | None) -> None:
        """Take the end of the process from whoever launched it; None: nobody knows the code."""
        raise NotImplementedError

    async def close(self) -> None:
        """Follow no longer; what runs on the host goes on."""
        await asyncio.sleep(0)
