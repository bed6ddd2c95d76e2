"""Orders as JSON: what goes to the hand, as `orders` specifies it."""

from __future__ import annotations

from gpudash.core.cleanup.orders import FamilyOrder, Order, Step, Targets
from gpudash.core.cleanup.plan import identity_row
from gpudash.core.holding import Identity

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


def order_document(order: Order) -> dict[str, object]:
    """Return an order as its record has it: all of it, in tables that a person can read."""
    return {
        "uid": order.uid,
        "pid_namespace": order.pid_namespace,
        "deadline_host_s": round(order.deadline_s, 3),
        "since_host_s": round(order.since_s, 3),
        "targets": [
            _target_document(family, place, identity)
            for family in order.families
            for place, identity in enumerate(family.members)
        ],
        "steps": [
            _step_document(family, number, step)
            for family in order.families
            for number, step in enumerate(family.steps)
        ],
        "commands": [
            {"family": family.number, "command": list(words), "within_s": family.commands_s}
            for family in order.families
            for words in family.commands
        ],
    }


def _target_document(family: FamilyOrder, place: int, identity: Identity) -> dict[str, object]:
    return {
        "family": family.number,
        "pid": identity.pid,
        "start_ticks": identity.start_ticks,
        "uid": identity.uid,
        "root": place < family.roots,
        "gpus": list(family.gpus),
        "exe_device": identity.exe[0] if identity.exe else None,
        "exe_inode": identity.exe[1] if identity.exe else None,
    }


def _step_document(family: FamilyOrder, number: int, step: Step) -> dict[str, object]:
    row = _step_row(step, family.roots)
    return {
        "family": family.number,
        "step": number + 1,
        "send": row["send"],
        "to": row["to"],
        "wait_s": step.wait_s,
        "settle_s": step.settle_s,
        "after": row["after"],
        "rounds": step.rounds,
        "save_s": family.save_s,
    }
