"""What an action is: one thing that a key can do, on which screens."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.keynames import shown_key

DASHBOARD, PAGE, ERRORS, PLAN = "dashboard", "page", "errors", "plan"
DETAILS, STARTUPS, LOG = "details", "startups", "log"
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
