"""Alerts: a bound that a GPU or a host went over, told once and taken back once.

A value that swings about its bound would ring all day, so each alert has two bounds and two waits:
it is raised when the value stood over the upper one for a while, and taken back when it stood under
the lower one for a while. What can't be read changes nothing: unknown is not well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from gpudash.core.alert_levels import WELL, Bounds, Kind, Level, Place, levels, said, subject
from gpudash.core.model import Happening, Host
from gpudash.core.units import format_duration

RAISE_S: Mapping[Kind, float] = {
    Kind.MEMORY: 5.0,
    Kind.TEMPERATURE: 5.0,
    Kind.THROTTLE: 5.0,
    Kind.ECC: 0.0,
    Kind.LOST: 5.0,
}
"""Seconds that a value stands over its bound before it is told."""
CLEAR_S: Mapping[Kind, float] = {
    Kind.MEMORY: 10.0,
    Kind.TEMPERATURE: 30.0,
    Kind.THROTTLE: 30.0,
    Kind.ECC: 0.0,
    Kind.LOST: 5.0,
}
"""Seconds that it stands under the lower bound before that is told."""


class Standing(Enum):
    """How one alert stands."""

    RISING = "rising"
    RAISED = "raised"
    EASING = "easing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert that is not at rest."""

    standing: Standing
    since_s: float
    """Viewer's clock: when it came to stand so."""
    raised_s: float = 0.0
    """When it was raised; means nothing while it is rising."""
    words: str = ""
    """What was said when it was raised."""


Raised = tuple[tuple[str, Place, Alert], ...]
"""Host, place and alert of all that are raised, the oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is to be told of an alert."""

    kind: Kind
    is_raised: bool
    """False: taken back."""
    happening: Happening

    @property
    def is_news(self) -> bool:
        """Tell whether `what happened` lacks it: a lost host or GPU has its line at once."""
        return self.kind is not Kind.LOST


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """All alerts of one host."""

    standing: Mapping[Place, Alert] = field(default_factory=dict)

    @property
    def raised(self) -> tuple[tuple[Place, Alert], ...]:
        """Return those that were told and not taken back, the oldest first."""
        told = [
            (place, alert)
            for place, alert in self.standing.items()
            if alert.standing is not Standing.RISING
        ]
        return tuple(sorted(told, key=lambda one: one[1].raised_s))


def look(
    alerts: Alerts, host: Host, bounds: Bounds, at_s: float
) -> tuple[Alerts, tuple[Told, ...]]:
    """Return how the alerts of a host stand after one more look, and what is to be told."""
    standing: dict[Place, Alert] = {}
    news: list[Told] = []
    for place, gpu, level in levels(host, bounds):
        before = alerts.standing.get(place)
        if before is None and level is not Level.OVER:
            continue
        after, told = _stepped(before, level, place[1], at_s)
        if told == "raised" and after is not None:
            after = replace(after, words=subject(gpu) + said(place[1], host, gpu, bounds))
            tone = "bad" if place[1] in (Kind.ECC, Kind.LOST) else "warn"
            said_now = Happening(at_s=at_s, host=host.name, words=after.words, tone=tone)
            news.append(Told(kind=place[1], is_raised=True, happening=said_now))
        elif told == "taken back" and before is not None:
            lasted = format_duration(at_s - before.raised_s)
            words = f"{subject(gpu)}{WELL[place[1]]}, after {lasted}"
            said_now = Happening(at_s=at_s, host=host.name, words=words, tone="good")
            news.append(Told(kind=place[1], is_raised=False, happening=said_now))
        if after is not None:
            standing[place] = after
    # What stood and was not looked at has left the roster, or nobody wants to know any more.
    return (alerts, ()) if standing == alerts.standing else (Alerts(standing=standing), tuple(news))


def _stepped(
    before: Alert | None, level: Level, kind: Kind, at_s: float
) -> tuple[Alert | None, str]:
    """Return what an alert becomes, None for at rest, and what is to be told of it."""
    before = before or Alert(standing=Standing.RISING, since_s=at_s)
    stood_s = at_s - before.since_s
    match before.standing, level:
        case _, Level.UNKNOWN:
            return before, ""
        case Standing.RISING, Level.OVER:
            if stood_s < RAISE_S[kind]:
                return before, ""
            return Alert(standing=Standing.RAISED, since_s=at_s, raised_s=at_s), "raised"
        case Standing.RISING, _:
            return None, ""
        case Standing.RAISED, Level.UNDER if CLEAR_S[kind] > 0.0:
            return replace(before, standing=Standing.EASING, since_s=at_s), ""
        case Standing.RAISED, Level.UNDER:
            return None, "taken back"
        case Standing.EASING, Level.UNDER:
            return (None, "taken back") if stood_s >= CLEAR_S[kind] else (before, "")
        case Standing.EASING, _:
            return replace(before, standing=Standing.RAISED, since_s=at_s), ""
        case _:
            return before, ""
