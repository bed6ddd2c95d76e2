"""Everything that is asked about one host's processes, through one hand."""

from __future__ import annotations

from collections.abc import Callable

from gpudash.core.events import Ack, Event, Scanned
from gpudash.core.holding import Scan
from gpudash.core.model import Host, Problem
from gpudash.services.clock import Clock
from gpudash.services.hand import Hand, Heard
from gpudash.services.inquiry import Inquiry
from gpudash.services.lookout import Lookout, scan_arguments
from gpudash.sources.base import HostSource, SourceError

SCAN_PATIENCE_S = 10.0
"""A scan takes a tenth of a second; a hand that starts over a slow link takes longer."""


class Looking:
    """The questions about one host's processes."""

    def __init__(self, source: HostSource, clock: Clock, tell: Callable[[Event], None]) -> None:
        """Ask nothing yet; `tell` gets each answer."""
        self._tell = tell
        self._hand = Hand(source, self._hear)
        self._inquiry = Inquiry(self._hand, clock, tell)
        self._lookout = Lookout(self._hand, clock)

    def _hear(self, answer: Heard) -> None:
        if isinstance(answer, Ack):
            self._inquiry.hear(answer)
        else:
            self._tell(answer)

    def consider(self, host: Host) -> None:
        """Ask what is not known of the host's newest tick."""
        self._inquiry.consider(host)
        self._lookout.consider(host)

    async def scan(
        self,
        host: Host,
        *,
        is_whole: bool = False,
        has_maps: bool = False,
        patience_s: float = SCAN_PATIENCE_S,
    ) -> Scan:
        """Return a fresh scan, which the host's value has then too. Raises SourceError."""
        arguments = scan_arguments(host, is_whole=is_whole, has_maps=has_maps)
        try:
            events = await self._hand.ask("scan", arguments, patience_s)
        except TimeoutError as error:
            raise SourceError(_no_scan(f"There was none within {patience_s:.0f} s.")) from error
        for event in events:
            if isinstance(event, Scanned):
                return event.scan
        refusals = [event.error for event in events if isinstance(event, Ack)]
        raise SourceError(_no_scan(" ".join(refusals) or "It was not complete."))

    async def close(self) -> None:
        """End the hand; what was asked is forgotten."""
        self._inquiry.forget()
        self._lookout.forget()
        await self._hand.close()


def _no_scan(why: str) -> Problem:
    return Problem(title="no scan", sentence=f"The host's processes could not be scanned. {why}")
