"""What is wrong with [keys]: actions that there are not, keys that are none or mean two things.

Looked at when all files are read: a key of one may clash with that of another.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.config.document import Problem
from gpudash.config.layers import Value
from gpudash.core.hostspec import shown
from gpudash.core.keymap import keymap_faults


def key_problems(entries: Mapping[str, Value], preset: str) -> tuple[Problem, ...]:
    """Return everything that is wrong with these entries over a shipped set of keys."""
    own = {id_: str(value.value) for id_, value in entries.items()}
    problems = []
    for fault in keymap_faults(own, preset):
        path, _, line = entries[fault.id].where.rpartition(":")
        message = f"keys.{shown(fault.id)}: {fault.message}"
        problems.append(Problem(path=path, line=int(line), message=message, hint=fault.hint))
    return tuple(problems)
