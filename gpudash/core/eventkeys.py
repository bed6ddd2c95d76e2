"""What keys do in the event log: part of the table of actions."""

from __future__ import annotations

from gpudash.core.action import ERRORS, Action

EVENT_ACTIONS = (
    Action(
        "events.search",
        "slash",
        "search",
        "In events: search words; capitals count where there are some.",
        "search",
        screens=(ERRORS,),
    ),
    Action("events.next", "n", "next", "In events: the next place.", "find(1)", screens=(ERRORS,)),
    Action(
        "events.previous",
        "N",
        "before",
        "In events: the place before.",
        "find(-1)",
        screens=(ERRORS,),
    ),
    Action(
        "events.bad",
        "b",
        "bad only",
        "In events: only what went wrong, then everything again.",
        "bad",
        screens=(ERRORS,),
    ),
    Action(
        "events.save",
        "x",
        "save",
        "In events: save what is listed to a new file.",
        "save",
        screens=(ERRORS,),
    ),
)
