"""What keys do with start-ups and their logs: part of the table of actions."""

from __future__ import annotations

from gpudash.core.action import DASHBOARD, LOG, STARTUPS, Action

STARTUP_ACTIONS = (
    Action(
        "startups.open",
        "s",
        "start-ups",
        "What starts, and what started: phases, memory, ranks, and why one failed.",
        "startups",
        True,
        screens=(DASHBOARD, STARTUPS),
    ),
    Action(
        "log.open",
        "L",
        "log",
        "The whole log of the start-up that is shown, else of the newest.",
        "log",
        screens=(DASHBOARD, STARTUPS, LOG),
    ),
    Action(
        "startup.open",
        "enter",
        "open",
        "In start-ups: open the one under the cursor.",
        "startup_open",
        screens=(STARTUPS,),
    ),
    Action(
        "startup.next",
        "tab",
        "next one",
        "In start-ups: show the next one.",
        "startup_next(1)",
        screens=(STARTUPS,),
    ),
    Action(
        "startup.previous",
        "shift+tab",
        "one before",
        "In start-ups: show the one before.",
        "startup_next(-1)",
        screens=(STARTUPS,),
    ),
    Action(
        "log.search",
        "slash",
        "search",
        "In a log: search words; capitals count where there are some.",
        "search",
        screens=(LOG,),
    ),
    Action("log.next", "n", "next", "In a log: the next place.", "find(1)", screens=(LOG,)),
    Action(
        "log.previous", "N", "before", "In a log: the place before.", "find(-1)", screens=(LOG,)
    ),
    Action(
        "log.rank", "r", "rank", "In a log: the next rank's lines alone.", "rank(1)", screens=(LOG,)
    ),
    Action(
        "log.rank_previous",
        "R",
        "rank before",
        "In a log: the lines of the rank before.",
        "rank(-1)",
        screens=(LOG,),
    ),
    Action("log.follow", "f", "follow", "In a log: stay at its end.", "follow", screens=(LOG,)),
    Action(
        "log.cause",
        "w",
        "why it failed",
        "In a log: the line that says why it failed.",
        "cause",
        screens=(LOG,),
    ),
)
