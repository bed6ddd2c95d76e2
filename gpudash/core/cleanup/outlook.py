"""What a plan says of the families on a host, for the screen: who belongs together, what `c` would.

Only a look: nobody is ended by it, and who is cleaned is planned anew.
"""

from __future__ import annotations

from gpudash.core.cleanup.belonging import Belongs
from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.plan import Action, Consent, FamilyPlan, Plan
from gpudash.core.model import Kin
from gpudash.core.units import plural


def kin_of(plan: Plan) -> tuple[Kin, ...]:
    """Return one entry for each family of a plan."""
    return tuple(
        Kin(
            root_pid=family.id[0],
            root_start_ticks=family.id[1],
            members=frozenset(
                (member.identity.pid, member.identity.start_ticks) for member in family.members
            ),
            dead=frozenset(family.dead),
            is_leftover=family.life is Life.LEFTOVER and family.belongs is not Belongs.OTHER_USER,
            verb=family.action.value,
            words=_words(family),
            evidence=family.why[0] if family.life is Life.LEFTOVER and family.why else "",
        )
        for family in plan.families
    )


def _words(family: FamilyPlan) -> str:
    """Say in two or three words why `c` would do so."""
    if family.action is Action.LEAVE:
        if Consent.PRINTED in family.needs and family.manager is not None:
            return family.manager.kind.value
        return f"{family.user}'s"
    if family.action is Action.STOP:
        return plural(len(family.members), "leftover")
    if Consent.MANAGED in family.needs and family.manager is not None:
        return family.manager.kind.value
    if Consent.SESSION in family.needs:
        return "another login's"
    if family.clients:
        return plural(family.clients, "client")
    return f"serves {family.ports[0]}" if family.ports else family.condition.value
