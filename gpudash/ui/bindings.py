"""The table of actions as Textual bindings; a keymap finds them by their ids."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from gpudash.core.actions import ACTIONS, BY_ID, DASHBOARD


def dashboard_bindings() -> list[BindingType]:
    """Return the bindings of the dashboard: each calls a method of the app."""
    return [bound(one.id, f"app.{one.action}") for one in ACTIONS if DASHBOARD in one.screens]


def bound(id_: str, action: str) -> Binding:
    """Return a binding with the keys of an action, for a screen where they do this."""
    one = BY_ID[id_]
    return Binding(one.keys, action, one.label, id=one.id, tooltip=one.tooltip)
