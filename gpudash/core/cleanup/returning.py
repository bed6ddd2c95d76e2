"""Whether what was ended came back, and who brings it back.

A family that returns under other pids is known by what it runs and where, together with its parent
or manager. It is named with whoever starts it; it is not chased.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from gpudash.core.cleanup.plan import FamilyId, FamilyPlan, Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """A family that is there again."""

    family: FamilyId
    """The new one."""
    gpus: tuple[str, ...]
    words: str
    """Who brings it back, and how to stop that, as a sentence."""


def returned(before: Plan, now: Plan, ended: frozenset[FamilyId]) -> tuple[Return, ...]:
    """Return the families of a fresh plan that are those of `ended` again."""
    gone = [before.family(family_id) for family_id in sorted(ended)]
    known = {family.id for family in before.families}
    return tuple(
        Return(
            family=family.id,
            gpus=tuple(share.gpu for share in family.shares),
            words=f"{family.label} came back as pid {family.id[0]}: {supervisor_words(family)}",
        )
        for family in now.families
        if family.id not in known and any(_is_again(family, one) for one in gone)
    )


def _is_again(now: FamilyPlan, before: FamilyPlan) -> bool:
    if before.manager and now.manager and before.manager.id == now.manager.id:
        return True
    new, old = now.signature, before.signature
    if (new.exe, new.cwd) != (old.exe, old.cwd):
        return False
    is_same_command = new.command == old.command
    is_same_parent = new.parent == old.parent
    if is_same_command and (is_same_parent or new.parent <= 1 or old.parent <= 1):
        return True
    # A script may give other arguments each time, and a timer starts another shell each time.
    are_below_scripts = new.is_below_script and old.is_below_script
    return are_below_scripts and (is_same_command or is_same_parent)


def supervisor_words(family: FamilyPlan) -> str:
    """Name whoever starts a family, and the command that would stop it where there is one."""
    manager = family.manager
    if manager is not None:
        commands = " && ".join(shlex.join(command) for command in manager.commands)
        return f"{manager.words} starts it" + (f"; stop it with: {commands}" if commands else "")
    above = family.signature
    if above.parent_name:
        return f"pid {above.parent} ({above.parent_name}) starts it"
    return "whoever starts it can't be seen"
