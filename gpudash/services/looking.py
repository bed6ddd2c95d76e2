"""Everything that is asked about one host's processes, through one hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpudash.core.events import Ack, Event, KindredTold, LeavingsTold, OrderTold, Scanned
from gpudash.core.holding import Scan
from gpudash.core.model import Host, Problem
from gpudash.services.clock import Clock
from gpudash.services.hand import Hand, Heard
from gpudash.services.inquiry import Inquiry
from gpudash.services.lookout import Lookout, scan_arguments
from gpudash.sources.base import HostSource, SourceError

if TYPE_CHECKING:
    from gpudash.core.cleanup.leavings import Leavings
    from gpudash.core.cleanup.reports import Report
    from gpudash.core.kinship import Kindred

WHOLE_PATIENCE_S = 40.0
"""For everybody, with maps: a loaded host with thousands of processes takes its time."""

SCAN_PATIENCE_S = 10.0
"""A scan takes a tenth of a second; a hand that starts over a slow link takes longer."""

MANAGERS_PATIENCE_S = 6.0
"""The hand gives up on a manager that hangs after three."""


class Looking:
    """The questions about one host's processes."""

    def __init__(self, source: HostSource, clock: Clock, tell: Callable[[Event], None]) -> None:
        """Ask nothing yet; `tell` gets each answer."""
        self._tell = tell
        self.source = source
        """How the host is reached."""
        self.report_listeners: list[Callable[[Report | None], None]] = []
        """Hear what orders on the host tell, as it comes; None when the hand ended."""
        self._hand = Hand(source, self._hear, lambda: self._report(None))
        self._inquiry = Inquiry(self._hand, clock, tell)
        self._lookout = Lookout(self._hand, clock)

    def _hear(self, answer: Heard) -> None:
        if isinstance(answer, OrderTold):
            self._report(answer.report)
        elif isinstance(answer, Ack):
            self._inquiry.hear(answer)
        else:
            self._tell(answer)

    def _report(self, report: Report | None) -> None:
        for listener in tuple(self.report_listeners):
            listener(report)

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
        patience_s: float | None = None,
    ) -> Scan:
        """Return a fresh scan, which the host's value has then too. Raises SourceError."""
        patience_s = patience_s or (WHOLE_PATIENCE_S if is_whole else SCAN_PATIENCE_S)
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

    async def managers(self, asked: list[list[str]]) -> tuple[tuple[int, int | None, str], ...]:
        """Return place, exit code and text of each question's answer. Raises SourceError."""
        try:
            events = await self._hand.ask("managers", {"ask": asked}, MANAGERS_PATIENCE_S)
        except TimeoutError as error:
            raise SourceError(_no_answer(MANAGERS_PATIENCE_S)) from error
        return tuple(row for one in events if isinstance(one, Ack) for row in one.answers)

    async def leavings(self, arguments: Mapping[str, object]) -> Leavings:
        """Return what processes have, or have left behind. Raises SourceError."""
        events = await self._answers("leavings", arguments)
        for event in events:
            if isinstance(event, LeavingsTold):
                return event.leavings
        refused = " ".join(event.error for event in events if isinstance(event, Ack))
        raise SourceError(_no_scan(refused or "It was not complete."))

    async def kindred(self, pids: list[int]) -> Kindred:
        """Return these processes and all below them, as they are now. Raises SourceError."""
        events = await self._answers("kindred", {"pids": pids})
        for event in events:
            if isinstance(event, KindredTold):
                return event.kindred
        refused = " ".join(event.error for event in events if isinstance(event, Ack))
        raise SourceError(_no_scan(refused or "It was not complete."))

    async def environment(self, pid: int, start_ticks: int) -> tuple[tuple[str, str], ...]:
        """Return the environment of one process, masked on its host. Raises SourceError."""
        events = await self._answers("environment", {"pid": pid, "start": start_ticks})
        for event in events:
            if isinstance(event, Ack) and not event.is_ok:
                sentence = f"The environment of pid {pid} can't be shown: {event.error}."
                raise SourceError(Problem(title="no environment", sentence=sentence))
        return tuple(row for one in events if isinstance(one, Ack) for row in one.variables)

    async def _answers(self, do: str, arguments: Mapping[str, object]) -> tuple[Event, ...]:
        try:
            return await self._hand.ask(do, arguments, WHOLE_PATIENCE_S)
        except TimeoutError as error:
            raise SourceError(_no_answer(WHOLE_PATIENCE_S)) from error

    async def order(self, do: str, arguments: Mapping[str, object], patience_s: float) -> str:
        """Send one command about an order; return why it was refused, or an empty text.

        Raises SourceError where the hand can't be had or does not answer: then nobody knows
        whether the command arrived.
        """
        try:
            events = await self._hand.ask(do, arguments, patience_s)
        except TimeoutError as error:
            # What is still on its way must not arrive when nobody expects it any more.
            await self._hand.close()
            raise SourceError(_no_answer(patience_s)) from error
        return next((one.error for one in events if isinstance(one, Ack) and not one.is_ok), "")

    async def close(self) -> None:
        """End the hand; what was asked is forgotten."""
        self._inquiry.forget()
        self._lookout.forget()
        await self._hand.close()


def _no_scan(why: str) -> Problem:
    return Problem(title="no scan", sentence=f"The host's processes could not be scanned. {why}")


def _no_answer(patience_s: float) -> Problem:
    return Problem(
        title="no answer", sentence=f"The hand said nothing about it within {patience_s:.0f} s."
    )
