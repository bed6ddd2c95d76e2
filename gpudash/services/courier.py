"""Takes a cleanup's orders to its host and asks for their reports; what is refused is told.

A line of the record comes before each step that can't be taken back. Where the host can't be
reached, nobody knows whether a command arrived: that is a lost link and never a refusal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.lines import order_line, target_row
from gpudash.core.cleanup.orderrows import order_row
from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.progress import Target, lost
from gpudash.core.record import Line
from gpudash.services.ground import Ground
from gpudash.services.record_files import RecordError
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

ORDER_PATIENCE_S = 15.0
RELEASED = "the host keeps nothing of the order any more"


class Courier:
    """What goes to one host."""

    def __init__(
        self,
        name: str,
        ground: Ground,
        offer: Callable[[ev.Event], None],
        lose: Callable[[], None],
        targets: Callable[[], tuple[Target, ...]],
    ) -> None:
        """`offer` is told what came of it, `lose` that the host could not be asked.

        `targets` tells what is known of each.
        """
        self._name = name
        self._ground = ground
        self._offer = offer
        self._lose = lose
        self._targets = targets
        self._looking = ground.monitor.looking(name)
        self._is_fetching = False

    async def record(self, order: Order, serial: int) -> None:
        """Make an order durable; where that can't be, the recorder has told the user."""
        try:
            await self._ground.run.write_durably(order_line(order, self._name, serial))
        except RecordError as error:
            log.warning("[%s] %s", self._name, error)
        self._offer(ev.Recorded(serial=serial))

    async def send(self, order: Order) -> None:
        """Send an order."""
        refused = await self._ask("order", {"order": order_row(order)})
        if refused:
            self._say("refused", f"the order was not taken: {refused}")
            self._offer(ev.Declined(run=order.run, reason=refused))
        elif refused is not None:
            self._offer(ev.Taken(run=order.run))

    async def abort(self, run: str) -> None:
        """Let an order begin no further step."""
        self._say("abort", "the order is asked to begin no further step")
        await self._ask("abort", {"run": run})

    async def fetch(self, run: str, first: int) -> None:
        """Ask for the reports from a number on."""
        if self._is_fetching:
            return
        self._is_fetching = True
        refused = await self._ask("report", {"run": run, "from": first})
        self._is_fetching = False
        if refused:
            said = self._line("forgotten", f"the host can't tell any more: {refused}")
            fates = {"targets": [target_row(one) for one in lost(self._targets())]}
            self._ground.run.write(replace(said, details=fates))
            self._offer(ev.Forgotten(run=run))

    async def drop(self, run: str, count: int) -> None:
        """Let the host forget its reports once they are durable here."""
        says = f"all {count} reports of the order are here"
        try:
            await self._ground.run.write_durably(self._line("fetched", says))
        except RecordError as error:
            log.warning("[%s] %s", self._name, error)
            return
        refused = await self._ask("report", {"run": run, "from": count, "drop": True})
        if refused is not None:
            self._say("released", refused or RELEASED)

    async def _ask(self, do: str, arguments: dict[str, object]) -> str | None:
        """Return why the host refused, an empty text, or None where it can't be reached."""
        try:
            return await self._looking.order(do, arguments, ORDER_PATIENCE_S)
        except SourceError as error:
            log.warning("[%s] %s: %s", self._name, do, error)
            self._lose()
            return None

    def _say(self, kind: str, says: str) -> None:
        self._ground.run.write(self._line(kind, says))

    def _line(self, kind: str, says: str) -> Line:
        host = self._ground.monitor.fleet.host(self._name)
        return Line(
            kind=kind,
            says=says,
            host=self._name,
            host_monotonic_s=host.host_monotonic_s,
            boot_id=host.facts.boot_id if host.facts else None,
        )
