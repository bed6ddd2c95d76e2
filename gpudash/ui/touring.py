"""Shows the demo's tour over whatever screen is on top."""

from __future__ import annotations

from textual.app import App

from gpudash.core.tour import STEPS, Signs, Tour
from gpudash.ui.actions import Actions

SHOWN_S = 3600.0
"""A step stays until it is done."""
_SCREENS = {
    "DashboardScreen": "dashboard",
    "PlanScreen": "plan",
    "StartupsScreen": "startups",
    "LogScreen": "log",
    "DetailsScreen": "details",
}


class Guide:
    """Keeps the step that is shown."""

    def __init__(self, app: App[None]) -> None:
        """Show nothing yet."""
        self._app = app
        self._tour: Tour | None = None

    def look(self, word: str, place: tuple[str, int], actions: Actions) -> None:
        """Go on where what was asked for has been done."""
        kind = type(self._app.screen).__name__
        signs = Signs(_SCREENS.get(kind, kind), word, place)
        before = self._tour
        self._tour = Tour(0, signs) if before is None else before.after(signs)
        if self._tour is not before:
            self._tell(self._tour, actions)

    def _tell(self, tour: Tour, actions: Actions) -> None:
        keys = {one.id: one.key for one in actions.entries}
        self._app.clear_notifications()
        title = f"tour {tour.at + 1} of {len(STEPS)}"
        words = tour.words(keys.__getitem__)
        self._app.notify(words, title=title, timeout=SHOWN_S, markup=False)
