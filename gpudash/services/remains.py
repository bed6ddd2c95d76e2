"""What families that a cleanup ended leave behind on its host: noted before, looked for after."""

from __future__ import annotations

import logging

from gpudash.core.cleanup.leavings import Leavings, leavings_document, leavings_words
from gpudash.core.cleanup.plan import FamilyPlan
from gpudash.core.cleanup.state import State
from gpudash.core.record import Line
from gpudash.services.ground import Ground
from gpudash.sources.base import SourceError

log = logging.getLogger(__name__)


class Remains:
    """The remains of one cleanup."""

    def __init__(self, name: str, ground: Ground) -> None:
        """Know of nothing yet."""
        self._name = name
        self._ground = ground
        self._known: set[int] = set()
        self.found: Leavings | None = None
        """After the cleanup; None where nobody looked."""

    async def note(self, state: State) -> None:
        """Note which segments the families have mapped while they live: nobody can tell later."""
        pids = [pid for family in _picked(state) for pid in family.pids]
        try:
            leavings = await self._ground.monitor.looking(self._name).leavings(
                {"pids": pids, "only": True}
            )
        except SourceError as error:
            log.warning("[%s] shared memory was not looked at: %s", self._name, error)
            return
        self._known = {
            one.id for one in leavings.segments if one.kind == "file" and set(one.users) & set(pids)
        }

    async def look(self, state: State, *, remove: bool) -> None:
        """Look for what is left, and remove segments that nobody maps where that is asked for."""
        families = _picked(state)
        born = {one.pid: one.identity.start_ticks for family in families for one in family.members}
        born |= {one.identity.pid: one.identity.start_ticks for one in state.targets}
        arguments: dict[str, object] = {
            "pids": sorted(born),
            "starts": [born[pid] for pid in sorted(born)],
            "known": sorted(self._known),
            "ports": sorted({port for family in families for port in family.ports}),
            "uids": sorted({family.uid for family in families}),
            "remove": remove,
        }
        try:
            self.found = await self._ground.monitor.looking(self._name).leavings(arguments)
        except SourceError as error:
            log.warning("[%s] what is left was not looked at: %s", self._name, error)
            return
        words = leavings_words(self.found, was_asked=remove)
        self._ground.run.write(
            Line(
                kind="leftovers",
                says="; ".join(words) or "nothing is left behind",
                host=self._name,
                details=leavings_document(self.found),
            )
        )


def _picked(state: State) -> tuple[FamilyPlan, ...]:
    return tuple(state.plan.family(one) for one in sorted(state.picked)) if state.plan else ()
