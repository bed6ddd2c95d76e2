"""Everything a key can do: one table feeds bindings, footer, palette, help and the README.

An action has the same id in each of them. What it does is a method of the same name in the UI.
"""

from __future__ import annotations

from gpudash.core.action import DASHBOARD as DASHBOARD
from gpudash.core.action import DETAILS as DETAILS
from gpudash.core.action import ERRORS, LOG, PAGE, PLAN, STARTUPS
from gpudash.core.action import Action as Action
from gpudash.core.action import Situation as Situation
from gpudash.core.detailkeys import DETAIL_ACTIONS
from gpudash.core.eventkeys import EVENT_ACTIONS
from gpudash.core.startup.keys import STARTUP_ACTIONS

_MOVES = (DASHBOARD, PAGE, DETAILS, STARTUPS, LOG, ERRORS)
_MAIN = (DASHBOARD, DETAILS, STARTUPS)

ACTIONS = (
    Action("cursor.up", "up,k", "up", "Move to the GPU above.", "cursor_move(-1)", screens=_MOVES),
    Action(
        "cursor.down",
        "down,j",
        "down",
        "Move to the GPU below.",
        "cursor_move(1)",
        screens=_MOVES,
    ),
    Action(
        "cursor.page_up",
        "pageup",
        "page up",
        "Move up by eight rows.",
        "cursor_move(-8)",
        screens=_MOVES,
    ),
    Action(
        "cursor.page_down",
        "pagedown",
        "page down",
        "Move down by eight rows.",
        "cursor_move(8)",
        screens=_MOVES,
    ),
    Action(
        "cursor.first",
        "home,g",
        "first",
        "Move to the first GPU.",
        "cursor_move(-9999)",
        screens=_MOVES,
    ),
    Action(
        "cursor.last",
        "end,G",
        "last",
        "Move to the last GPU.",
        "cursor_move(9999)",
        screens=_MOVES,
    ),
    Action(
        "host.next",
        "tab,right,l",
        "next host",
        "Move to the next host.",
        "host_move(1)",
        screens=(DASHBOARD, DETAILS),
    ),
    Action(
        "host.previous",
        "shift+tab,left,h",
        "previous host",
        "Move to the host before.",
        "host_move(-1)",
        screens=(DASHBOARD, DETAILS),
    ),
    Action(
        "problem.next",
        "n",
        "next problem",
        "Move to the next GPU that is lost, unknown, unexplained or held by a leftover.",
        "next_problem",
        needs="has_hosts",
    ),
    Action(
        "mark.toggle",
        "space",
        "mark",
        "Mark the GPU under the cursor; actions are about what is marked.",
        "mark",
        True,
    ),
    Action(
        "mark.all",
        "a",
        "mark all",
        "Mark every GPU that is shown, or take their marks away.",
        "mark_all",
    ),
    Action(
        "cleanup.start",
        "c",
        "clean",
        "Plan what would be stopped on what is marked, or on this host; y in the plan does it. "
        "Leftovers alone, on a host cleaned before, end at once.",
        "clean",
        True,
        needs="can_act",
        screens=_MAIN,
    ),
    Action(
        "cleanup.all",
        "C",
        "clean all",
        "Plan the same for all hosts with a mark, always shown before anything is done.",
        "clean_all",
        needs="can_act",
    ),
    Action(
        "cleanup.force",
        "exclamation_mark",
        "force",
        "While a cleanup runs: end at once whoever was asked and is still there.",
        "force",
        needs="is_cleaning",
    ),
    Action(
        "plan.confirm",
        "y",
        "confirm",
        "In a plan: do it. No other key does, and no configuration gives it another.",
        "confirm",
        screens=(PLAN,),
        is_fixed=True,
    ),
    Action(
        "proof.start",
        "v",
        "verify",
        "Prove from now on that what is marked, or everything, reads zero.",
        "verify",
        True,
    ),
    Action(
        "proof.stop",
        "escape",
        "stop",
        "Show all hosts again; else stop proving: v begins anew.",
        "stop_proof",
        is_fixed=True,
    ),
    Action(
        "filter.open",
        "slash",
        "filter",
        "Show only what matches: mem>50% user=me host=node* state=held, or a word; esc shows all.",
        "filter",
        True,
        needs="has_hosts",
    ),
    Action(
        "sort.next",
        "o",
        "sort",
        "Sort hosts as given, by trouble, name, memory, utilisation; nothing moves by itself.",
        "sort",
        True,
        needs="has_several",
    ),
    *DETAIL_ACTIONS,
    Action(
        "view.density",
        "d",
        "density",
        "Cards, lines or one row a host, then again what fits by itself.",
        "density",
        True,
    ),
    *STARTUP_ACTIONS,
    Action(
        "view.theme",
        "t",
        "theme",
        "The next theme.",
        "next_theme",
        True,
        screens=(*_MAIN, LOG, ERRORS),
    ),
    Action(
        "host.pause",
        "p",
        "pause",
        "Let this host's values stand still; after 10 s the driver is released. Again: go on.",
        "pause",
        True,
        needs="has_hosts",
        screens=(DASHBOARD, DETAILS),
    ),
    Action(
        "host.reconnect",
        "r",
        "reconnect",
        "Try this host again now; one that needs a password, a code or a decision asks.",
        "reconnect",
        True,
        screens=(DASHBOARD, DETAILS),
    ),
    Action(
        "errors.open",
        "e",
        "errors",
        "The event log: what is wrong, which alerts are raised, all that happened.",
        "errors",
        True,
        screens=(*_MAIN, ERRORS),
    ),
    *EVENT_ACTIONS,
    Action(
        "text.copy",
        "y",
        "copy",
        "Copy the GPU under the cursor as a line, what is marked as a table; elsewhere the text.",
        "copy",
        screens=(DASHBOARD, ERRORS, DETAILS, STARTUPS, LOG),
    ),
    Action(
        "export.picture",
        "x",
        "picture",
        "Save a picture of the screen (SVG) to a new file.",
        "export_picture",
    ),
    Action(
        "export.data",
        "X",
        "data",
        "Save what is shown, with verdicts and holders, to a new file (JSON).",
        "export_data",
    ),
    Action(
        "app.palette",
        "colon,ctrl+p",
        "commands",
        "Search all actions, themes and filters by their names.",
        "palette",
    ),
    Action("app.help", "question_mark", "help", "This page.", "help", True, screens=_MAIN),
    Action(
        "app.quit",
        "q",
        "quit",
        "Leave gpudash; ctrl+c does so from anywhere.",
        "quit",
        True,
        screens=(*_MAIN, LOG, ERRORS),
    ),
)
BY_ID = {one.id: one for one in ACTIONS}
FIXED_KEYS = frozenset({"ctrl+c"})
"""Leave gpudash from everywhere, whatever else is configured."""
