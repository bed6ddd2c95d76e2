"""Which families on a host are start-ups of one's own that began just now.

A family is told by its root and its root's start; what ran long before we came is no start-up,
and a notebook never is one.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.families import Key, holders
from gpudash.core.model import Host, Link, Owner

YOUNG_S = 120.0
"""A family that holds memory and is older when it is first seen is no start-up to follow."""
_NEVER = frozenset({"notebook"})


class Begun(NamedTuple):
    """One start-up that nobody follows yet."""

    key: Key
    pid: int
    """Of its root."""
    name: str


def newly_begun(host: Host, now_s: float, known: frozenset[Key]) -> tuple[Begun, ...]:
    """Return what began on a host and is not known yet."""
    if host.link is not Link.LIVE:
        return ()
    found = []
    for one in holders(host, ()):
        age_s = one.age(now_s)
        if one.key in known or one.owner is not Owner.MINE or one.is_dead or one.is_hidden:
            continue
        # A start that is not known is no identity: pids come again.
        if age_s is None or age_s > YOUNG_S or one.key[2] == 0 or one.label.name in _NEVER:
            continue
        name = f"{one.label.name} {one.label.detail}".strip()
        found.append(Begun(one.key, one.key[1], name))
    return tuple(found)
