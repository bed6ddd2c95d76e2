"""One cleanup of one host, as a machine without I/O: `step(state, event) -> (state, effects)`.

    scanning ─► planned ─► confirmed ─► bound ─► terminating ─► killing ─► draining
                   ▲            │                                             │
                   └── changed ─┘           done ◄── holding ◄── rescanning ◄─┘

`phases.TRANSITIONS` has every legal step; an event that a phase does not know raises IllegalEvent
and changes nothing. An order leaves only after a confirmation of exactly the plan that was shown,
and only once it is durable. The hand carries it with or without a link; what it reports is counted,
so a link that comes back asks for what is missing. Time and the host's clock come with the events.
"""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.consent import chosen
from gpudash.core.cleanup.happened import Event
from gpudash.core.cleanup.judging import (
    LONG_HOLD_S,
    drain_deadline_s,
    final_endings,
    hold_of,
    is_drained,
)
from gpudash.core.cleanup.orders import forced, order_of
from gpudash.core.cleanup.phases import ORDERED, TRANSITIONS, Phase
from gpudash.core.cleanup.plan import Plan, asks_again
from gpudash.core.cleanup.progress import (
    after,
    lost,
    mark_stuck,
    still,
    stuck_pids,
    targets_of,
)
from gpudash.core.cleanup.reports import Done, Report, Sent, Waiting
from gpudash.core.cleanup.state import State, Step

FRESH_S = 2.0
"""A plan that is younger is carried out as it is; an older one is compared with a fresh scan."""


class IllegalEvent(Exception):
    """An event that the phase does not know: our bug."""


P = Phase


def step(state: State, event: Event) -> Step:
    """Return the state after an event, and what is to be done. Raises IllegalEvent."""
    legal = TRANSITIONS.get((state.phase, type(event)))
    if legal is None:
        raise IllegalEvent(f"{type(event).__name__} while {state.phase.value}")
    new, effects = _react(state, event)
    if new.phase not in legal:
        raise IllegalEvent(f"{state.phase.value} to {new.phase.value} by {type(event).__name__}")
    return new, effects


def _react(state: State, event: Event) -> Step:
    match event:
        case ev.Planned():
            return _planned(state, event)
        case ev.Confirmed():
            return _confirmed(state, event)
        case ev.Cancelled():
            return _cancelled(state)
        case ev.Recorded():
            return _recorded(state, event)
        case ev.Taken(run=run):
            is_ours = state.is_sent and run == state.run and state.phase is P.CONFIRMED
            return replace(state, phase=P.BOUND if is_ours else state.phase), ()
        case ev.Declined():
            return _declined(state, event)
        case ev.Reported(report=report):
            return _reported(state, report)
        case ev.Sampled():
            return _sampled(state, event)
        case ev.Forced():
            return _forced(state, event)
        case ev.Aborted():
            return replace(state, is_aborted=True), (ev.SendAbort(run=state.run),)
        case ev.LinkCut():
            return replace(state, is_linked=False), ()
        case ev.LinkBack():
            return _linked(state)
        case ev.Forgotten(run=run):
            return _forgotten(state, run)
        case ev.ProofEnded(is_proven=is_proven):
            if is_proven:
                return _finished(state)
            return replace(state, phase=P.RESCANNING, is_broken=True), (ev.Scan(),)


# -- up to the order ---------------------------------------------------------------------------


def _planned(state: State, event: ev.Planned) -> Step:
    if state.phase is P.SCANNING:
        return _shown(state, event.plan, "")
    if state.phase is P.RESCANNING:
        return _rescanned(state, event.plan)
    if state.phase is not P.CONFIRMED or state.order is not None or state.plan is None:
        return state, ()
    if why := asks_again(state.plan, event.plan, state.picked, event.at_s):
        return _shown(replace(state, given=None, picked=frozenset()), event.plan, why)
    # Who is in the order was on the screen: who was born since joins by the hand's rule alone.
    there = {family.id for family in event.plan.families}
    return _ordered(replace(state, picked=state.picked & there), event.host_s)


def _shown(state: State, plan: Plan, why: str) -> Step:
    shown = replace(state, phase=P.PLANNED, plan=plan, endings=plan.endings)
    return shown, (ev.ShowPlan(plan=plan, why=why),)


def _confirmed(state: State, event: ev.Confirmed) -> Step:
    plan = state.plan
    if plan is None or event.digest != plan.digest:
        return state, () if plan is None else (ev.ShowPlan(plan=plan, why="The plan changed."),)
    picked = chosen(plan, event.given)
    agreed = replace(state, given=event.given, picked=picked, phase=P.CONFIRMED)
    if not picked:
        return _nobody(agreed)
    if event.at_s - plan.created_s <= FRESH_S:
        return _ordered(agreed, event.host_s)
    return agreed, (ev.Scan(),)


def _nobody(state: State) -> Step:
    """There is nobody to end: what reads zero is proven all the same."""
    is_clear = state.endings and not any(one.outcome.exit_code for one in state.endings)
    if state.plan is None or not is_clear:
        return _finished(state)
    hold_s, why = hold_of(state.plan, state.picked, (), state.wished_hold_s)
    return replace(state, phase=P.HOLDING), (ev.StartProof(hold_s=hold_s, why=why),)


def _ordered(state: State, host_s: float) -> Step:
    if state.plan is None or not state.picked:
        return _finished(state)
    order = order_of(
        state.plan,
        state.picked,
        run=state.run,
        host_now_s=host_s,
        gpu_names=dict(state.gpu_names),
        is_forced=state.is_forced,
    )
    made = replace(
        state,
        phase=P.CONFIRMED,
        order=order,
        orders=state.orders + 1,
        targets=targets_of(order),
    )
    return made, (ev.Record(order=order, serial=made.orders),)


def _recorded(state: State, event: ev.Recorded) -> Step:
    is_newest = event.serial == state.orders and event.serial > state.sent
    if state.order is None or not is_newest or not state.is_linked or state.is_aborted:
        return state, ()
    return replace(state, sent=event.serial), (ev.SendOrder(order=state.order),)


def _declined(state: State, event: ev.Declined) -> Step:
    if event.run != state.run or state.phase is not P.CONFIRMED or not state.is_sent:
        # A force that came too late: the first order goes on.
        return state, ()
    return _finished(replace(state, declined=event.reason))


def _cancelled(state: State) -> Step:
    """End it; what was sent is asked to stop, and its reports are still waited for."""
    if state.phase is P.CONFIRMED and state.is_sent:
        return replace(state, is_aborted=True), (ev.SendAbort(run=state.run),)
    return _finished(state)


# -- while it runs -----------------------------------------------------------------------------


def _reported(state: State, report: Report) -> Step:
    if not state.is_sent or report.run != state.run or report.number < state.reports:
        return state, ()
    if report.number > state.reports:
        return state, (ev.FetchReports(run=state.run, first=state.reports),)
    targets = after(state.targets, report.told)
    state = replace(state, reports=state.reports + 1, targets=targets)
    phase = P.BOUND if state.phase is P.CONFIRMED else state.phase
    match report.told:
        case _ if phase is P.DRAINING:
            return state, ()
        case Sent(signal="KILL"):
            phase = P.KILLING
        case Sent(signal="TERM") if phase is P.BOUND:
            phase = P.TERMINATING
        case Waiting():
            state = _watched(state, report.told, report.host_s)
        case Done():
            dropped = ev.DropReports(run=state.run)
            return replace(state, phase=P.DRAINING, ended_s=report.host_s), (dropped,)
    return replace(state, phase=phase), ()


def _watched(state: State, waiting: Waiting, host_s: float) -> State:
    stillness = still(state.stillness, waiting, at_s=host_s, memory_moved_s=state.memory_moved_s)
    marked = mark_stuck(state.targets, stuck_pids(stillness, host_s))
    return replace(state, stillness=stillness, targets=marked)


def _forced(state: State, event: ev.Forced) -> Step:
    if state.order is None or state.is_forced:
        return state, ()
    order = forced(state.order, host_now_s=event.host_s)
    new = replace(state, order=order, is_forced=True, orders=state.orders + 1)
    return new, (ev.Record(order=order, serial=new.orders),)


def _linked(state: State) -> Step:
    back = replace(state, is_linked=True)
    if state.is_sent and state.phase in (P.CONFIRMED, *ORDERED):
        # A force that never left is no wish of now any more.
        back = replace(back, is_forced=back.is_forced and state.sent == state.orders)
        return back, (ev.FetchReports(run=state.run, first=state.reports),)
    if state.phase is P.CONFIRMED:
        # Never sent: the same choice is compared with what is there now.
        back = replace(back, order=None, targets=())
    if state.phase in (P.SCANNING, P.CONFIRMED, P.RESCANNING):
        return back, (ev.Scan(),)
    return back, ()


def _forgotten(state: State, run: str) -> Step:
    """The host can't tell: it was started anew, or the hand was killed with its session."""
    if run != state.run or not state.is_sent:
        return state, ()
    return replace(state, phase=P.RESCANNING, targets=lost(state.targets)), (ev.Scan(),)


# -- afterwards --------------------------------------------------------------------------------


def _sampled(state: State, event: ev.Sampled) -> Step:
    before = dict(state.used)
    has_moved = any(used is not None and (before.get(key) or 0) > used for key, used in event.used)
    state = replace(
        state,
        used=event.used,
        memory_moved_s=event.host_s if has_moved else state.memory_moved_s,
    )
    if state.phase is not P.DRAINING or state.plan is None or state.ended_s is None:
        return state, ()
    deadline_s = state.ended_s + drain_deadline_s(state.plan, state.picked)
    is_over = state.is_aborted or is_drained(
        state.plan, state.picked, state.targets, dict(event.used)
    )
    if is_over or event.host_s >= deadline_s:
        return replace(state, phase=P.RESCANNING), (ev.Scan(),)
    return state, ()


def _rescanned(state: State, now: Plan) -> Step:
    if state.plan is None:
        return state, ()
    endings = final_endings(state.plan, now, state.picked, state.targets)
    judged = replace(state, endings=endings, newest=now)
    if any(ending.outcome.exit_code for ending in endings):
        return _finished(judged)
    hold_s, why = hold_of(state.plan, state.picked, state.targets, state.wished_hold_s)
    if state.is_broken and hold_s < LONG_HOLD_S:
        hold_s, why = LONG_HOLD_S, "an earlier proof did not hold"
    return replace(judged, phase=P.HOLDING), (ev.StartProof(hold_s=hold_s, why=why),)


def _finished(state: State) -> Step:
    return replace(state, phase=P.DONE), (ev.Finish(endings=state.endings),)
