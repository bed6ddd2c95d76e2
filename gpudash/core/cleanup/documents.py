"""A plan as JSON. Keys are a contract: they are only ever added."""

from __future__ import annotations

from gpudash.core.cleanup.managing import Manager
from gpudash.core.cleanup.plan import FamilyPlan, Kept, Member, Plan, Share, Unseen
from gpudash.core.names import clean_text

_LONG = 300


def plan_document(plan: Plan) -> dict[str, object]:
    """Return what would be done on one host."""
    return {
        "digest": plan.digest,
        "scope": [{"index": index, "uuid": key} for key, index in plan.scope],
        "families": [family_document(family) for family in plan.families],
        "kept": [_kept(one) for one in plan.kept],
        "unseen": [_unseen(one) for one in plan.unseen],
        "unreadable": plan.unreadable,
        "shows_first": plan.shows_first or None,
        "notes": [clean_text(note, _LONG) for note in plan.notes],
        "simulated": plan.is_simulated,
    }


def family_document(family: FamilyPlan) -> dict[str, object]:
    """Return what would be done to one family, and why."""
    used, is_complete = family.used_bytes
    return {
        "action": family.action.value,
        "letter": family.letter,
        "name": clean_text(family.label),
        "user": clean_text(family.user),
        "uid": family.uid,
        "root_pid": family.id[0],
        "pids": list(family.pids),
        "age_s": round(family.age_s, 1),
        "state": family.condition.value,
        "life": family.life.value,
        "belongs": family.belongs.value,
        "used_bytes": used if is_complete else None,
        "gpus": [_share(share) for share in family.shares],
        "members": [_member(member) for member in family.members],
        "needs": [need.value for need in family.needs],
        "why": [clean_text(sentence, _LONG) for sentence in family.why],
        "grace_s": family.grace_s,
        "ports": list(family.ports),
        "clients": family.clients,
        "saving": family.is_saving,
        "origin": clean_text(family.origin.words, _LONG),
        "manager": _manager(family.manager),
        "host_bytes": family.host_bytes,
        "dead_pids": list(family.dead),
    }


def _share(share: Share) -> dict[str, object]:
    return {
        "index": share.index,
        "uuid": share.gpu,
        "used_bytes": share.used_bytes,
        "in_scope": share.is_in_scope,
    }


def _member(member: Member) -> dict[str, object]:
    return {
        "pid": member.pid,
        "start_ticks": member.identity.start_ticks,
        "uid": member.identity.uid,
        "name": clean_text(member.label),
        "state": member.state,
        "root": member.is_root,
        "gpu_count": len(member.gpus),
    }


def _manager(manager: Manager | None) -> dict[str, object] | None:
    if manager is None:
        return None
    return {
        "kind": manager.kind.value,
        "id": clean_text(manager.id),
        "name": clean_text(manager.name) or None,
        "commands": [list(words) for words in manager.commands],
        "is_run": manager.is_run,
        "restarts": manager.restarts,
        "is_gone": manager.is_gone,
        "timeout_s": manager.timeout_s,
    }


def _kept(kept: Kept) -> dict[str, object]:
    return {
        "name": clean_text(kept.name),
        "action": kept.action.value,
        "why": clean_text(kept.why, _LONG),
        "pids": list(kept.pids),
        "used_bytes": kept.used_bytes,
    }


def _unseen(unseen: Unseen) -> dict[str, object]:
    return {
        "index": unseen.index,
        "uuid": unseen.gpu,
        "used_bytes": unseen.used_bytes,
        "words": clean_text(unseen.words, _LONG),
        "foreign": unseen.is_foreign,
    }
