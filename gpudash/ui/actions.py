"""The actions of this run, with the user's keys: what footer, palette and help are made from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpudash.core.actions import ACTIONS, BY_ID, DASHBOARD, Action, Situation


class Actions(NamedTuple):
    """All actions, with the keys that count."""

    entries: tuple[Action, ...] = ACTIONS

    def offered(self, *, is_readonly: bool) -> tuple[Action, ...]:
        """Return the actions that there are; read-only none that does something to a host."""
        if is_readonly:
            return tuple(one for one in self.entries if not one.acts and one.id != "plan.confirm")
        more = " While a cleanup runs: end nobody more."
        return tuple(
            one._replace(help=one.help + more) if one.id == "proof.stop" else one
            for one in self.entries
        )

    def available(self, situation: Situation) -> tuple[Action, ...]:
        """Return what can be done on the dashboard now."""
        return tuple(
            one for one in self.entries if DASHBOARD in one.screens and one.is_available(situation)
        )

    def footer_keys(self, situation: Situation) -> tuple[tuple[str, str], ...]:
        """Return (key, label) of the dashboard's footer, ordered by use."""
        labels = {"cleanup.start": f"clean {situation.target}" if situation.target else "clean"}
        if situation.is_paused:
            labels["host.pause"] = "go on"
        shown = [one for one in self.available(situation) if one.is_in_footer]
        ordered = sorted(shown, key=lambda one: one.id != "cleanup.start")
        keys = tuple((one.key, labels.get(one.id, one.label)) for one in ordered)
        return (("esc", "show all"), *keys) if situation.is_filtered else keys

    def action_of(self, key: str, *, is_readonly: bool = False) -> str | None:
        """Return the dashboard's action of a key as it is written on the screen."""
        known = [one for one in self.offered(is_readonly=is_readonly) if DASHBOARD in one.screens]
        return next((one.action for one in known if key in one.shown.split()), None)

    def named(self, ids: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return (key, label) for ids with labels; what is no id is a key itself."""
        keys = {one.id: one.key for one in self.entries}
        return tuple((keys.get(id_, id_), label) for id_, label in ids)

    def id_of(self, key: str, screen: str) -> str:
        """Return what a key as it is written does on a screen; the key itself where nothing."""
        known = (one.id for one in self.entries if screen in one.screens and key == one.key)
        return next(known, key)

    def key_of(self, key: str) -> str:
        """Return what stands on the screen for a key of the default set."""
        return self.renamed.get(key, key)

    @property
    def renamed(self) -> dict[str, str]:
        """Return keys of the default set that are others now, as both are written."""
        return {
            old.key: one.key
            for one in self.entries
            if DASHBOARD in one.screens and (old := BY_ID[one.id]).key != one.key
        }


DEFAULT_ACTIONS = Actions()
