"""One cleanup of one host: feeds the machine of `core.cleanup.run` and carries out what it wants.

Nothing is decided here. An order leaves only by the machine's word, after its line in the record
is durable or the user was told that it can't be. What the world says (samples, reports, a link
that ends) is passed on where the machine's table knows it, and dropped where it doesn't.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import replace

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup import lines
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.leavings import Leavings
from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.phases import ORDERED, TRANSITIONS, Phase
from gpudash.core.cleanup.reports import Report
from gpudash.core.cleanup.results import PickedUp
from gpudash.core.cleanup.run import step
from gpudash.core.cleanup.state import State, begin
from gpudash.core.cleanup.timing import Times, after_report, after_sample
from gpudash.core.errors import UsageError
from gpudash.core.events import Event, Sample
from gpudash.core.model import Host, Link, Problem
from gpudash.core.record import Line
from gpudash.services.courier import Courier
from gpudash.services.ground import AGAIN_S, Ground, Wish, host_now, plan_surely, used_in_scope
from gpudash.services.pickup import picked_up
from gpudash.services.remains import Remains
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)

RATE_S = 0.1
"""Between two samples of a host that is being cleaned."""
PACE = "clean"
"""Under which name it asks for them."""
MOST_SCANS = 5
"""After an order, before what became of it is called unknown."""
LOOKS = 4
"""Before memory after an order is called nobody's."""


class Cleaning:
    """One host that is being cleaned."""

    def __init__(self, name: str, wish: Wish, ground: Ground) -> None:
        """Scan the host as soon as it can be read."""
        self.name = name
        self.times = Times()
        self.why = ""
        """Why the plan is shown again."""
        self.hold: tuple[float, str] | None = None
        self.problem: Problem | None = None
        """Why the host could not be looked at."""
        self.usage: UsageError | None = None
        """A GPU was named that the host does not have."""
        self.picked_up: tuple[PickedUp, ...] = ()
        self._before = tuple(one for one in wish.unfinished if one.host == name)
        self._failures = 0
        self._wish = wish
        self._ground = ground
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_scanning = False
        self._lost_s: float | None = None
        self._remains = Remains(name, ground)
        self._courier = Courier(name, ground, self.offer, self._lose, lambda: self.state.targets)
        self.state: State
        self.state, effects = begin(ground.run.id, {}, hold_s=wish.hold_s, is_forced=wish.is_forced)
        self._looking = ground.monitor.looking(name)
        self._looking.report_listeners.append(self._hear_report)
        ground.monitor.listeners.append(self._hear)
        ground.monitor.rate(name, RATE_S, by=PACE)
        self._write(lines.phase_line(self.state.phase, name))
        self._carry_out(effects)

    # -- for whoever drives it -----------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Tell whether it has ended."""
        return self.state.phase is Phase.DONE

    @property
    def waits_for_consent(self) -> bool:
        """Tell whether a plan is shown that nobody agreed to yet."""
        return self.state.phase is Phase.PLANNED

    @property
    def host(self) -> Host:
        """Return the host as it is now."""
        return self._ground.monitor.fleet.host(self.name)

    def confirm(self, given: Given, digest: str = "") -> None:
        """Agree to a plan: to the one of this digest, else to the newest that was shown.

        A host that waits for no consent any more is left: it went down while somebody was asked.
        """
        if self.state.plan is None or not self.waits_for_consent:
            return
        digest = digest or self.state.plan.digest
        now = self._ground.clock.now()
        unix_s = self._ground.clock.unix()
        self.times = replace(self.times, confirmed_s=now, confirmed_unix_s=unix_s)
        self.feed(ev.Confirmed(given=given, at_s=now, host_s=self._host_now(), digest=digest))

    def stop(self) -> None:
        """Go no further: end what has not begun, ask what runs to begin no further step."""
        if self.state.phase in (*ORDERED, Phase.DRAINING):
            self.offer(ev.Aborted())
        elif self.state.phase is not Phase.RESCANNING:
            self.offer(ev.Cancelled())

    def give_up(self) -> None:
        """Wait no longer."""
        self.offer(ev.Cancelled())

    def force(self) -> None:
        """Kill at once."""
        self.offer(ev.Forced(at_s=self._ground.clock.now(), host_s=self._host_now()))

    def offer(self, event: ev.Event) -> None:
        """Pass an event on if it can happen now."""
        if (self.state.phase, type(event)) in TRANSITIONS:
            self.feed(event)

    def feed(self, event: ev.Event) -> None:
        """Let the machine take a step. Raises IllegalEvent for one that can't be."""
        before = self.state.phase
        self.state, effects = step(self.state, event)
        if self.state.phase is not before:
            self._write(lines.phase_line(self.state.phase, self.name))
        self._carry_out(effects)
        self._ground.changed(self.name)

    async def settled(self, patience_s: float) -> None:
        """Wait until what was begun for it is done."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=patience_s)

    async def close(self) -> None:
        """Let go of the host; an order under way goes on there."""
        self._looking.report_listeners.remove(self._hear_report)
        self._ground.monitor.listeners.remove(self._hear)
        self._ground.monitor.rate(self.name, None, by=PACE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- what the host says --------------------------------------------------------------------

    def _hear(self, event: Event, before: Host, after: Host) -> None:
        del before
        if after.name != self.name:
            return
        if isinstance(event, Sample) and after.host_monotonic_s is not None:
            now = self._ground.clock.now()
            used = used_in_scope(after, self.state.plan)
            if self.state.is_sent:
                self.times = after_sample(self.times, used, now)
            self.offer(ev.Sampled(used=used, at_s=now, host_s=after.host_monotonic_s))
            if self._lost_s is not None and now - self._lost_s > AGAIN_S:
                self._lost_s = None
                self.offer(ev.LinkBack())
        elif after.link is Link.DOWN and not self.state.is_sent and after.problem is not None:
            # Nothing was begun there: whoever can't be reached now is not waited for.
            self._fail(after.problem)
        self._ground.changed(self.name)

    def _hear_report(self, report: Report | None) -> None:
        if report is None:
            self._lose()
            return
        if report.run != self.state.run:
            return
        before = self.state.reports
        if report.number == before and self.state.is_sent:
            boot_id = self.state.order.boot_id if self.state.order else None
            self._write(lines.report_line(report, self.name, boot_id))
            self.times = after_report(self.times, report, self._ground.clock.now())
        self.offer(ev.Reported(report=report))

    def _lose(self) -> None:
        """The hand is gone; what it was asked is not."""
        if self._lost_s is None:
            self.offer(ev.LinkCut())
        self._lost_s = self._ground.clock.now()

    def _fail(self, problem: Problem) -> None:
        self.problem = problem
        self.offer(ev.Cancelled())

    # -- what the machine wants ----------------------------------------------------------------

    def _carry_out(self, effects: tuple[ev.Effect, ...]) -> None:
        for effect in effects:
            match effect:
                case ev.Scan():
                    self._do(self._scan())
                case ev.ShowPlan(plan=plan, why=why):
                    self.why = why
                    self._write(lines.plan_line(plan, why))
                case ev.Record(order=order, serial=serial):
                    self._do(self._record(order, serial))
                case ev.SendOrder(order=order):
                    self._do(self._courier.send(order))
                case ev.SendAbort(run=run):
                    self._do(self._courier.abort(run))
                case ev.FetchReports(run=run, first=first):
                    self._do(self._courier.fetch(run, first))
                case ev.DropReports(run=run):
                    self._do(self._courier.drop(run, self.state.reports))
                case ev.StartProof(hold_s=hold_s, why=why):
                    self.hold = hold_s, why
                    assert self.state.plan is not None
                    self._write(lines.hold_line(self.name, hold_s, why))
                    self._ground.prove(self.name, self.state.plan, hold_s)
                case ev.Finish():
                    self.times = replace(self.times, ended_s=self._ground.clock.now())

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=f"clean {self.name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _record(self, order: Order, serial: int) -> None:
        if serial == 1:
            await self._remains.note(self.state)
        await self._courier.record(order, serial)

    async def look_for_remains(self, *, remove: bool) -> None:
        """After an order, look for what the families left behind."""
        if self.state.is_sent and not self.state.declined:
            await self._remains.look(self.state, remove=remove)

    @property
    def leavings(self) -> Leavings | None:
        """Return what is left; None where nobody looked."""
        return self._remains.found

    async def _scan(self) -> None:
        """Look at the host and plan; where that fails, LinkBack or nothing tries again."""
        if self._is_scanning:
            return
        if (
            (problem := self.host.problem)
            and self.host.link is Link.DOWN
            and not self.state.is_sent
        ):
            self._fail(problem)
            return
        self._is_scanning = True
        try:
            await self._pick_up()
            # After an order memory is not called nobody's at first sight.
            looks = LOOKS if self.state.phase is Phase.RESCANNING or self.picked_up else 1
            plan, names = await plan_surely(self.name, self._wish, self._ground, looks)
        except SourceError as error:
            log.warning("[%s] no scan: %s", self.name, error)
            self._failures += 1
            if self.state.is_sent and self._failures < MOST_SCANS:
                self._lose()
            else:
                self._fail(error.problem)
            return
        except UsageError as error:
            self.usage = error
            self.give_up()
            return
        finally:
            self._is_scanning = False
        self._failures = 0
        if self.state.order is None:
            self.state = replace(self.state, gpu_names=names)
        if self.state.phase is Phase.RESCANNING:
            self._write(lines.rescan_line(plan))
        self.offer(ev.Planned(plan=plan, at_s=plan.created_s, host_s=self._host_now()))

    # -- words and numbers ---------------------------------------------------------------------

    def _host_now(self) -> float:
        return host_now(self.host, self._ground.clock.now())

    async def _pick_up(self) -> None:
        """Before anything else, learn what orders of earlier runs came to here."""
        before, self._before = self._before, ()
        if before:
            self.picked_up += await picked_up(before, self._ground, self._wish.pickup_s)

    def _write(self, line: Line) -> None:
        self._ground.run.write(line)
