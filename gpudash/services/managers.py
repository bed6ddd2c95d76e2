"""Asks a host's managers about what they run, before a plan is made.

Who can't be asked has said nothing, and counts as alive: no failure here stops a plan.
"""

from __future__ import annotations

import logging

from gpudash.core.cleanup.asking import facts_of, words_for
from gpudash.core.cleanup.planner import manager_questions
from gpudash.core.holding import ManagerFacts, Scan
from gpudash.core.model import Host
from gpudash.services.looking import Looking
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)


async def ask_managers(looking: Looking, host: Host, scan: Scan) -> tuple[ManagerFacts, ...]:
    """Return what the managers of a scan's families say of them."""
    asked = [(one, words) for one in manager_questions(host, scan) if (words := words_for(one))]
    if not asked:
        return ()
    try:
        answers = await looking.managers([list(words) for _, words in asked])
    except SourceError as error:
        log.warning("[%s] managers: %s", host.name, error)
        return ()
    told = (
        facts_of(asked[place][0], code, text)
        for place, code, text in answers
        if 0 <= place < len(asked)
    )
    return tuple(facts for facts in told if facts is not None)
