"""A cleanup in its record: the plan, each order before it leaves, and all that the hand reported.

Names of processes come from outside and are cleaned; command lines and environments are not in it.
"""

from __future__ import annotations

from gpudash.core.cleanup.documents import plan_document
from gpudash.core.cleanup.familyresults import FamilyResult
from gpudash.core.cleanup.orderrows import order_document
from gpudash.core.cleanup.orders import Order
from gpudash.core.cleanup.outcomes import Ending
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.progress import Target
from gpudash.core.cleanup.reports import (
    Began,
    Done,
    Exited,
    Joined,
    Ran,
    Refused,
    Report,
    Sent,
    StepEnded,
    Told,
    Waiting,
)
from gpudash.core.cleanup.results import HostResult
from gpudash.core.names import clean_text
from gpudash.core.record import Line
from gpudash.core.units import format_duration, plural

_SIGNALS = {"TERM": "asked to end", "KILL": "forced", "CONT": "woken up"}
_KINDS: dict[type[Told], str] = {
    Began: "begun",
    Refused: "untouched",
    Sent: "signal",
    Joined: "joined",
    Exited: "exit",
    StepEnded: "step",
    Waiting: "waiting",
    Ran: "command",
    Done: "done",
}
_REFUSALS = {
    "gone": "had ended by itself",
    "changed": "is another process or program now: not signalled",
    "forbidden": "is never signalled",
    "denied": "may not be signalled by this user",
}
_PHASES = {
    Phase.SCANNING: "looking who is there",
    Phase.PLANNED: "a plan is shown; nobody agreed to it yet",
    Phase.CONFIRMED: "the plan is agreed to",
    Phase.BOUND: "the host has the order",
    Phase.TERMINATING: "they are asked to end",
    Phase.KILLING: "who is left is forced",
    Phase.DRAINING: "the order is over; memory comes back",
    Phase.RESCANNING: "looking who is there now",
    Phase.HOLDING: "zero is watched until it is proven",
    Phase.DONE: "it is over on this host",
}
_CLOSES = {
    "finished": "the order is carried out",
    "deadline": "the order's time is over",
    "aborted": "the order was stopped: no further step",
    "failed": "the hand broke: no further step",
}


def plan_line(plan: Plan, why: str) -> Line:
    """Return the line of a plan that is shown."""
    says = f"{plural(len(plan.families), 'family', 'families')} in the plan"
    return Line(
        kind="plan",
        says=f"{says}; shown again: {why}" if why else says,
        host=plan.host,
        host_monotonic_s=plan.host_monotonic_s,
        boot_id=plan.boot_id,
        details=plan_document(plan),
    )


def phase_line(phase: Phase, host: str) -> Line:
    """Return the line of a phase that begins: what a killed run got to."""
    return Line(kind="phase", says=_PHASES[phase], host=host, details={"phase": phase.value})


def order_line(order: Order, host: str, serial: int) -> Line:
    """Return the line of an order before it is sent."""
    members = sum(len(family.members) for family in order.families)
    told = [plural(members, "process", "processes")] if members else []
    commands = sum(len(family.commands) for family in order.families)
    told += [plural(commands, "command")] if commands else []
    return Line(
        kind="order",
        says=f"order {serial}: {plural(len(order.families), 'family', 'families')}, "
        f"{' and '.join(told)}",
        host=host,
        host_monotonic_s=order.since_s,
        boot_id=order.boot_id,
        details={"serial": serial, **order_document(order)},
    )


def report_line(report: Report, host: str, boot_id: str | None) -> Line:
    """Return the line of a report."""
    details: dict[str, object] = {"report": report.number}
    pid = getattr(report.told, "pid", None)
    if pid is not None:
        details["pid"] = pid
    match report.told:
        case Sent(signal=signal, is_by_pid=is_by_pid):
            details["signal"] = signal
            if is_by_pid:
                details["sent_by"] = "pid"
        case Waiting(survivors=survivors) if survivors:
            details["survivors"] = [
                {
                    "pid": one.pid,
                    "state": one.state,
                    "where": clean_text(one.where),
                    "cpu_ticks": one.cpu_ticks,
                    "rss_bytes": one.rss_bytes,
                    "kill_pending": one.is_kill_pending,
                    "blocked_threads": one.blocked,
                }
                for one in survivors
            ]
    return Line(
        kind=_KINDS[type(report.told)],
        says=report_words(report.told),
        host=host,
        host_monotonic_s=report.host_s,
        boot_id=boot_id,
        details=details,
    )


def report_words(told: Told) -> str:
    """Return what a report says, as one sentence."""
    match told:
        case Began(polled=polled):
            return "the order is taken" + (
                f"; {plural(polled, 'process', 'processes')} looked at every 20 ms"
                if polled
                else ""
            )
        case Refused(pid=pid, why=why):
            return f"pid {pid} {_REFUSALS[why.value]}"
        case Sent(pid=pid, signal=signal, is_by_pid=is_by_pid):
            by = ", by its pid: no pidfd here, looked at right before" if is_by_pid else ""
            return f"pid {pid} {_SIGNALS.get(signal, signal)} (SIG{signal}{by})"
        case Joined(identity=identity, parent=parent, comm=comm):
            return f"pid {identity.pid} ({clean_text(comm, 15)}), a child of {parent}, joined"
        case Exited(pid=pid):
            return f"pid {pid} has ended"
        case StepEnded(step=number, left=left):
            return f"step {number + 1} is over, {left} left"
        case Waiting(left=left):
            return f"waiting for {plural(sum(count for _, count in left), 'process', 'processes')}"
        case Ran(command=number, code=code, words=words):
            ended = "did not end in time, or is not there" if code is None else f"ended with {code}"
            said = f": {clean_text(words, 200)}" if words else ""
            return f"command {number + 1} {ended}{said}"
        case Done(why=why):
            return _CLOSES[why.value]


def rescan_line(plan: Plan) -> Line:
    """Return the line of the scan after an order."""
    left = plural(len(plan.families), "family", "families")
    return Line(
        kind="rescan",
        says=f"{left} with a GPU open" if plan.families else "nobody holds a GPU any more",
        host=plan.host,
        host_monotonic_s=plan.host_monotonic_s,
        boot_id=plan.boot_id,
        details={"endings": [ending_row(ending) for ending in plan.endings]},
    )


def hold_line(host: str, hold_s: float, why: str) -> Line:
    """Return the line that says how long zero must hold, and why so long."""
    return Line(
        kind="prove",
        says=f"zero must hold {format_duration(hold_s, tenths=True)}: {why}",
        host=host,
        details={"hold_s": hold_s},
    )


def outcome_line(result: HostResult) -> Line:
    """Return the line of how a host ended."""
    return Line(
        kind="outcome",
        says=f"{result.outcome.value}: {result.says}",
        host=result.host,
        details={
            "outcome": result.outcome.value,
            "code": int(result.exit_code),
            "gpus": [ending_row(ending) for ending in result.endings],
            "families": [family_row(one) for one in result.families],
            "targets": [target_row(one) for one in result.targets],
            **{f"after_{name}": at_s for name, at_s in result.times.since_confirmed().items()},
        },
    )


def family_row(one: FamilyResult) -> dict[str, object]:
    """Return what became of one family."""
    return {
        "name": clean_text(one.family.label),
        "root_pid": one.family.id[0],
        "user": clean_text(one.family.user),
        "was_chosen": one.was_picked,
        "outcome": one.outcome.value,
        "reason": clean_text(one.reason, 300) or None,
    }


def target_row(one: Target) -> dict[str, object]:
    """Return what became of one process of an order."""
    return {
        "pid": one.identity.pid,
        "start_ticks": one.identity.start_ticks,
        "fate": one.fate.value,
        "refusal": one.refusal.value if one.refusal else None,
        "joined": one.is_heir,
    }


def ending_row(ending: Ending) -> dict[str, object]:
    """Return how one GPU ended."""
    return {
        "index": ending.index,
        "uuid": ending.gpu,
        "outcome": ending.outcome.value,
        "reason": clean_text(ending.reason, 300) or None,
    }
