"""Picks up what an order of an earlier run came to, where its host still keeps the reports.

Nobody is signalled. What comes is written into this run's record under the other's id, and only
when it is durable the host may forget it.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from gpudash.core.cleanup.lines import report_line, target_row
from gpudash.core.cleanup.progress import Target, after, lost
from gpudash.core.cleanup.reports import Done, Report
from gpudash.core.cleanup.results import PickedUp
from gpudash.core.cleanup.unfinished import Unfinished
from gpudash.core.record import Line
from gpudash.services.courier import ORDER_PATIENCE_S, RELEASED
from gpudash.services.ground import Ground, readable
from gpudash.services.record_files import RecordError
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

MOST_LINES = 1_000_000
"""More than any order reports."""


class Pickup:
    """The reports of one earlier order."""

    def __init__(self, unfinished: Unfinished, ground: Ground) -> None:
        self._unfinished = unfinished
        self._ground = ground
        self._looking = ground.monitor.looking(unfinished.host)
        self._reports: dict[int, Report] = {}
        self._is_whole = asyncio.Event()
        self.targets: tuple[Target, ...] = unfinished.targets
        """What became of each, as far as it is known."""

    async def fetch(self, patience_s: float) -> str:
        """Fetch and record them; return one sentence on what came of it.

        An order that still runs after that time is left alone. Of one whose reports are on record
        the host only lets go; the sentence is empty where it had done so before.
        """
        run = self._unfinished.run
        if self._unfinished.is_fetched:
            return await self._release_late(run)
        self._looking.report_listeners.append(self._hear)
        try:
            arguments: dict[str, object] = {"run": run, "from": 0}
            refused = await self._looking.order("report", arguments, ORDER_PATIENCE_S)
            if refused:
                self.targets = lost(self.targets)
                self._write("forgotten", f"the host can't tell any more of {run}: {refused}")
                return f"the host can't tell any more what became of {run}"
            try:
                async with asyncio.timeout(patience_s):
                    await self._is_whole.wait()
            except TimeoutError:
                return f"{run} still runs there"
            return await self._keep(run)
        except SourceError as error:
            log.warning("[%s] %s: %s", self._unfinished.host, run, error)
            return f"the host could not be asked about {run}"
        finally:
            self._looking.report_listeners.remove(self._hear)

    def _hear(self, report: Report | None) -> None:
        if report is None or report.run != self._unfinished.run:
            return
        self._reports[report.number] = report
        count = len(self._reports)
        is_done = any(isinstance(one.told, Done) for one in self._reports.values())
        if is_done and set(self._reports) == set(range(count)):
            self._is_whole.set()

    async def _keep(self, run: str) -> str:
        for number in sorted(self._reports):
            report = self._reports[number]
            self.targets = after(self.targets, report.told)
            line = report_line(report, self._unfinished.host, None)
            details = {**line.details, "of": run}
            self._ground.run.write(replace(line, details=details))
        ended = sum(one.is_over for one in self.targets)
        says = f"{run}: {ended} of {len(self.targets)} accounted for, {len(self._reports)} reports"
        try:
            await self._ground.run.write_durably(self._line("fetched", says))
        except RecordError as error:
            log.warning("[%s] %s", self._unfinished.host, error)
            return f"{says}; not on record"
        await self._release(run, len(self._reports))
        return says

    async def _release(self, run: str, count: int) -> str:
        """Let the host forget an order; return why it could not."""
        drop: dict[str, object] = {"run": run, "from": count, "drop": True}
        refused = await self._looking.order("report", drop, ORDER_PATIENCE_S)
        self._write("released", refused or RELEASED)
        return refused

    async def _release_late(self, run: str) -> str:
        """Do what whoever fetched the reports did not come to any more."""
        self.targets = ()
        try:
            # Every line is on record: from beyond the last one, none comes again.
            refused = await self._release(run, MOST_LINES)
        except SourceError as error:
            log.warning("[%s] %s: %s", self._unfinished.host, run, error)
            return f"the host could not be asked about {run}"
        return "" if refused else f"{run} was on record; the host has let go of it"

    def _write(self, kind: str, says: str) -> None:
        self._ground.run.write(self._line(kind, says))

    def _line(self, kind: str, says: str) -> Line:
        return Line(
            kind=kind,
            says=says,
            host=self._unfinished.host,
            details={
                "of": self._unfinished.run,
                "targets": [target_row(one) for one in self.targets],
            },
        )


async def picked_up(
    before: tuple[Unfinished, ...], ground: Ground, patience_s: float
) -> tuple[PickedUp, ...]:
    """Fetch what these orders came to, one after the other; return what is to be told.

    Each host is waited for until it can be read.
    """
    found: list[PickedUp] = []
    for one in before:
        await readable(one.host, ground)
        pickup = Pickup(one, ground)
        if says := await pickup.fetch(patience_s):
            found.append(PickedUp(run=one.run, says=says, targets=pickup.targets))
    return tuple(found)
