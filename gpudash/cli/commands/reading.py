"""One reading of several hosts, wherever they are; the event loop of the headless commands."""

from __future__ import annotations

import asyncio

from gpudash.cli.entering import can_ask, enter
from gpudash.core.model import Fleet
from gpudash.core.ways import Way
from gpudash.services.survey import PATIENCE_S, survey
from gpudash.sources.hosts import Hosts


def read(ways: tuple[Way, ...]) -> Fleet:
    """Return the fleet after one reading of each host."""
    return asyncio.run(_read(ways))


async def _read(ways: tuple[Way, ...]) -> Fleet:
    hosts = Hosts(ways)
    try:
        if can_ask():
            await enter(hosts, PATIENCE_S)
        return await survey(hosts.sources)
    finally:
        await hosts.close()
