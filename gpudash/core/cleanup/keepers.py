"""Who keeps a whole family running: the strictest of what its roots are told to be run by.

A family may have several roots, and one that is forgotten by its manager says nothing of another.
"""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.cleanup.families import Family
from gpudash.core.cleanup.managing import Manager, manager_of
from gpudash.core.cleanup.table import Table
from gpudash.core.holding import ManagerFacts


def keeper_of(family: Family, table: Table, answers: tuple[ManagerFacts, ...]) -> Manager | None:
    """Return who runs a family; gone only where that is so of every root, run by us only then."""
    found = [manager_of(root, table, answers) for root in family.roots]
    told = [one for one in found if one is not None]
    living = [one for one in told if not one.is_gone]
    if not living:
        return told[0] if len(told) == len(found) else None
    first = min(living, key=lambda one: one.is_run)
    if len({(one.kind, one.id) for one in living}) == 1:
        return first
    # One command would stop a part of it: all of them are printed.
    commands = dict.fromkeys(command for one in living for command in one.commands)
    return replace(first, commands=tuple(commands), is_run=False)
