"""The actions of the details: what opens them, and what can be done in them."""

from __future__ import annotations

from gpudash.core.action import DETAILS, Action

DETAIL_ACTIONS = (
    Action(
        "details.open",
        "enter",
        "details",
        "Charts, facts and processes of the GPU under the cursor, or of its host.",
        "details",
        True,
        needs="has_hosts",
    ),
    Action(
        "details.page",
        "f",
        "facts",
        "In details: charts, facts or processes alone.",
        "page",
        screens=(DETAILS,),
    ),
    Action(
        "details.window",
        "w",
        "window",
        "In details: look 1 m, 10 m or 1 h back.",
        "window",
        screens=(DETAILS,),
    ),
    Action(
        "details.environment",
        "i",
        "environment",
        "In details: the environment of the process under the cursor, its secrets masked.",
        "environment",
        screens=(DETAILS,),
    ),
)
