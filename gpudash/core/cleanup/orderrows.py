"""Orders as JSON: what goes to the hand, as `orders` specifies it."""

from __future__ import annotations

from gpudash.core.cleanup.orders import FamilyOrder, Order, Step, Targets
from gpudash.core.cleanup.plan import identity_row

VERSION = 1


def order_row(order: Order) -> dict[str, object]:
    """Return an order as the wire has it."""
    return {
        "v": VERSION,
        "run": order.run,
        "boot": order.boot_id,
        "uid": order.uid,
        "pidns": order.pid_namespace,
        "by": round(order.deadline_s, 3),
        "since": round(order.since_s, 3),
        "simulated": order.is_simulated,
        "families": [_family_row(family) for family in order.families],
    }


def _family_row(family: FamilyOrder) -> dict[str, object]:
    if family.commands:
        commands = [list(command) for command in family.commands]
        return {"f": family.number, "run": commands, "for": family.commands_s}
    return {
        "f": family.number,
        "members": [identity_row(member) for member in family.members],
        "gpus": list(family.gpus),
        "steps": [_step_row(step, family.roots) for step in family.steps],
        "save_s": family.save_s,
    }


def _step_row(step: Step, roots: int) -> dict[str, object]:
    return {
        "send": step.signal,
        "to": step.to.value if isinstance(step.to, Targets) else list(step.to),
        "roots": roots,
        "wait": step.wait_s,
        "settle": step.settle_s,
        "after": "gone" if step.is_after_gone else "always",
        "rounds": step.rounds,
    }
