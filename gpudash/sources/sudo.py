"""Reading by sudo: how the sampler starts, and what is said where sudo refuses.

It never asks for a password, and it holds no hand but for a cleanup that asked for one: a
configuration that allows to see allows no more. A refusal is logged there and may lock an account,
so it is not tried again by itself.
"""

from __future__ import annotations

import re

from gpudash.core.model import Problem

WORDS = ("sudo", "-n")
_REFUSAL = re.compile(
    r"(?m)^\s*(sudo: (?!.*command not found)|Sorry, user |.* is not in the sudoers file)"
)
"""In the C locale, sudo 1.8 to 1.9."""

NO_HAND = Problem(
    title="no process details",
    sentence="Reading goes by sudo on this host; nothing else is started there.",
    advice="The configuration lets sudo read there; gpudash clean --sudo looks by it as well.",
)
NOT_THERE = Problem(
    title="no sudo",
    sentence="There is no sudo on this host, and the configuration wants to read by it.",
    advice='Set sudo = "never" for it, or install sudo there.',
    needs_person=True,
)


def refusal(errors: str) -> Problem | None:
    """Return the problem where last words are those of a sudo that refuses; else None."""
    if not _REFUSAL.search(errors):
        return None
    return Problem(
        title="sudo refused",
        sentence="sudo does not let this user start the probe without a password.",
        advice='In sudoers there: NOPASSWD for python3. Or set sudo = "never" for this host.',
        detail=errors[-2000:],
        needs_person=True,
    )
