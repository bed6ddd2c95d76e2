"""One reading through nvidia-smi, for a command that has no event loop yet."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from gpudash.core.smi.commands import ELSEWHERE, PROGRAM

if TYPE_CHECKING:
    from gpudash.core.events import Event

PATIENCE_S = 60.0


def smi_events() -> list[Event] | None:
    """Return the events up to the first tick; None where nvidia-smi is not there or fails too."""
    if not any(shutil.which(PROGRAM, path=path) for path in (None, *ELSEWHERE)):
        return None
    import asyncio

    return asyncio.run(_read())


async def _read() -> list[Event] | None:
    import asyncio

    from gpudash.core.events import Sample
    from gpudash.sources.base import SourceError
    from gpudash.sources.smi import SmiSource

    events: list[Event] = []
    try:
        stream = await SmiSource("local").open_sampler(1.0)
    except SourceError:
        return None
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not any(isinstance(event, Sample) for event in events):
                events += await stream.read()
    except (SourceError, TimeoutError):
        return None
    finally:
        await stream.close()
    return events
