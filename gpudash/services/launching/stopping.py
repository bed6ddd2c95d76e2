"""Ends a command that was launched, by an order like any other: durable first, carried by the host.

No killer of its own: who is meant is looked up in a fresh scan, the hand binds identities, and what
it reports stands in the record.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from gpudash.core.cleanup.lines import order_line, report_line, target_row
from gpudash.core.cleanup.orderrows import order_row
from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.progress import Target, after, lost, targets_of
from gpudash.core.cleanup.reports import Done, Report
from gpudash.core.cleanup.table import handle_names
from gpudash.core.launch.stopping import family_of, stop_order
from gpudash.core.record import Line
from gpudash.core.units import plural
from gpudash.services.courier import ORDER_PATIENCE_S, RELEASED
from gpudash.services.monitor import FleetMonitor
from gpudash.services.record_files import RecordError
from gpudash.services.recorder import Run
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

MOST_ORDERS = 3
"""Who was born between the look and the signal needs another one."""


class Stopping:
    """The end of one command."""

    def __init__(self, name: str, monitor: FleetMonitor, run: Run) -> None:
        self._name = name
        self._monitor = monitor
        self._run = run
        self._looking = monitor.looking(name)
        self._reports: asyncio.Queue[Report | None] = asyncio.Queue()
        self._orders = 0

    async def stop(self, pid: int, start_ticks: int, *, is_forced: bool) -> str:
        """End it; return one sentence on what came of it."""
        ended: set[int] = set()
        failed: SourceError | None = None
        self._looking.report_listeners.append(self._reports.put_nowait)
        try:
            for _ in range(MOST_ORDERS):
                try:
                    why = await self._once(pid, start_ticks, ended, is_forced=is_forced)
                except SourceError as error:
                    # A hand ends with each try to read a driver that is not there; the next look
                    # has one of its own, and says what the order came to.
                    log.warning("[%s] the stop: %s", self._name, error)
                    failed = error
                    continue
                if why is not None:
                    return why
        finally:
            self._looking.report_listeners.remove(self._reports.put_nowait)
        if failed is not None:
            return f"whether it was ended is not known: {failed.message}"
        return "it may run on: processes of it came again and again"

    async def _once(
        self, pid: int, start_ticks: int, ended: set[int], *, is_forced: bool
    ) -> str | None:
        """Look and end whoever is there; return what came of it, None to look again.

        Raises SourceError.
        """
        scan = await self._monitor.scan(self._name, is_whole=True)
        family = family_of(scan, pid, start_ticks)
        if not family:
            return f"it has ended: {plural(len(ended), 'process', 'processes')}"
        self._orders += 1
        host = self._monitor.fleet.host(self._name)
        names = handle_names(host, is_simulated=scan.is_simulated)
        order = stop_order(
            family,
            pid,
            scan,
            host,
            run=f"{self._run.id}.stop{self._orders}",
            gpu_names=tuple(sorted(names.values())),
            is_forced=is_forced,
        )
        targets, why = await self._carried_out(order)
        ended |= {one.identity.pid for one in targets if one.is_over}
        return f"it may run on: {why}" if why else None

    async def _carried_out(self, order: Order) -> tuple[tuple[Target, ...], str]:
        """Return what became of each, and why it was not done. Raises SourceError."""
        line = order_line(order, self._name, self._orders)
        try:
            await self._run.write_durably(self._of(line, order))
        except RecordError as error:
            log.warning("[%s] %s", self._name, error)
        targets = targets_of(order)
        refused = await self._looking.order("order", {"order": order_row(order)}, ORDER_PATIENCE_S)
        if refused:
            self._say("refused", f"the order was not taken: {refused}", order)
            return targets, refused
        count = 0
        while True:
            report = await self._reports.get()
            if report is None:
                return lost(targets), "the link was cut; the host carries the order out by itself"
            if report.run != order.run or report.number < count:
                continue
            count += 1
            self._run.write(self._of(report_line(report, self._name, order.boot_id), order))
            targets = after(targets, report.told)
            if isinstance(report.told, Done):
                break
        await self._drop(order, count)
        left = [one.identity.pid for one in targets if not one.is_over]
        return targets, f"pid {left[0]} has not ended" if left else ""

    async def _drop(self, order: Order, count: int) -> None:
        """Let the host forget it, once all is on record."""
        says = f"all {count} reports of the order are here"
        try:
            await self._run.write_durably(self._line("fetched", says, order))
        except RecordError as error:
            log.warning("[%s] %s", self._name, error)
            return
        arguments = {"run": order.run, "from": count, "drop": True}
        refused = await self._looking.order("report", arguments, ORDER_PATIENCE_S)
        self._say("released", refused or RELEASED, order)

    def _say(self, kind: str, says: str, order: Order) -> None:
        self._run.write(self._line(kind, says, order))

    def _line(self, kind: str, says: str, order: Order) -> Line:
        details = {"targets": [target_row(one) for one in targets_of(order)]}
        kept = details if kind == "refused" else {}
        return self._of(Line(kind=kind, says=says, host=self._name, details=kept), order)

    @staticmethod
    def _of(line: Line, order: Order) -> Line:
        return replace(line, details={**line.details, "of": order.run})
