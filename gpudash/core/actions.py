"""Everything a key can do: one table feeds bindings, footer, palette, help and the README.

An action has the same id in each of them. What it does is a method of the same name in the UI.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.keynames import shown_key

DASHBOARD, PAGE, ERRORS, PLAN = "dashboard", "page", "errors", "plan"
"""Screens: keys must differ within each. A page is a dialog that scrolls."""


class Situation(NamedTuple):
    """What the screen is about now: which actions there are follows from it."""

    can_act: bool = False
    """Something may be done to hosts from here."""
    is_cleaning: bool = False
    is_paused: bool = False
    """The host under the cursor is."""
    is_filtered: bool = False
    has_hosts: bool = True
    has_several: bool = False
    """Hosts."""
    target: str = ""
    """What `cleanup.start` is about."""


class Action(NamedTuple):
    """One thing that the user can do."""

    id: str
    """Stable: what a keymap names."""
    keys: str
    """Textual's names, separated by commas; the first one is shown."""
    label: str
    """One or two words for the footer."""
    help: str
    """One sentence or two."""
    action: str
    """Name of the app's action method, of the screen's where it is not on the dashboard."""
    is_in_footer: bool = False
    needs: str = ""
    """The member of Situation that must be true; empty: it is always there."""
    screens: tuple[str, ...] = (DASHBOARD,)
    is_fixed: bool = False
    """No configuration gives it other keys."""

    @property
    def acts(self) -> bool:
        """Tell whether it does something to a host: not offered read-only."""
        return self.needs in ("can_act", "is_cleaning")

    @property
    def shown(self) -> str:
        """Return the keys as written on the screen."""
        return " ".join(shown_key(key) for key in self.keys.split(",") if key)

    @property
    def key(self) -> str:
        """Return the first key as written on the screen."""
        return self.shown.split()[0]

    @property
    def tooltip(self) -> str:
        """Return the first sentence."""
        return self.help.split(". ")[0].rstrip(".") + "."

    def is_available(self, situation: Situation) -> bool:
        """Tell whether it does anything now."""
        return not self.needs or bool(getattr(situation, self.needs))


_MOVES = (DASHBOARD, PAGE)

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
    Action("host.next", "tab,right,l", "next host", "Move to the next host.", "host_move(1)"),
    Action(
        "host.previous",
        "shift+tab,left,h",
        "previous host",
        "Move to the host before.",
        "host_move(-1)",
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
        "Plan what would be stopped on what is marked, or on this host; y in the plan does it.",
        "clean",
        True,
        needs="can_act",
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
    Action("startups.open", "s", "start-ups", "What starts, and what started.", "startups", True),
    Action("log.open", "L", "log", "The whole log of the newest start-up.", "log"),
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
        "view.density",
        "d",
        "density",
        "Cards, lines or one row a host, then again what fits by itself.",
        "density",
        True,
    ),
    Action("view.theme", "t", "theme", "The next theme.", "next_theme", True),
    Action(
        "host.pause",
        "p",
        "pause",
        "Let this host's values stand still; after 10 s the driver is released. Again: go on.",
        "pause",
        True,
        needs="has_hosts",
    ),
    Action(
        "host.reconnect",
        "r",
        "reconnect",
        "Try this host again now; one that needs a password, a code or a decision asks.",
        "reconnect",
        True,
    ),
    Action("errors.open", "e", "errors", "All that went wrong, in full.", "errors", True),
    Action(
        "text.copy",
        "y",
        "copy",
        "In errors: copy what is selected, or all.",
        "copy",
        screens=(ERRORS,),
    ),
    Action(
        "app.palette",
        "colon,ctrl+p",
        "commands",
        "Search all actions, themes and filters by their names.",
        "palette",
    ),
    Action("app.help", "question_mark", "help", "This page.", "help", True),
    Action("app.quit", "q", "quit", "Leave gpudash; ctrl+c does so from anywhere.", "quit", True),
)
BY_ID = {one.id: one for one in ACTIONS}
FIXED_KEYS = frozenset({"ctrl+c"})
"""Leave gpudash from everywhere, whatever else is configured."""
