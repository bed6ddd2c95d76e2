"""Everything a key can do: one registry feeds bindings, footer, palette and help."""

from __future__ import annotations

from typing import NamedTuple


class Action(NamedTuple):
    """One thing that the user can do."""

    id: str
    """Stable: what a keymap names."""
    keys: str
    """Textual's names, the first one is shown."""
    shown: str
    """The key as written on the screen."""
    label: str
    """One or two words for the footer."""
    help: str
    """One sentence."""
    action: str
    """Name of the action method."""
    is_in_footer: bool = True


ACTIONS = (
    Action(
        "cursor.up",
        "up,k",
        "↑",
        "up",
        "Move to the GPU above.",
        "cursor_move(-1)",
        is_in_footer=False,
    ),
    Action(
        "cursor.down",
        "down,j",
        "↓",
        "down",
        "Move to the GPU below.",
        "cursor_move(1)",
        is_in_footer=False,
    ),
    Action(
        "cursor.first",
        "home,g",
        "home",
        "first",
        "Move to the first GPU.",
        "cursor_move(-9999)",
        is_in_footer=False,
    ),
    Action(
        "cursor.last",
        "end,G",
        "end",
        "last",
        "Move to the last GPU.",
        "cursor_move(9999)",
        is_in_footer=False,
    ),
    Action(
        "host.next",
        "tab",
        "tab",
        "next host",
        "Move to the next host.",
        "host_move(1)",
        is_in_footer=False,
    ),
    Action(
        "host.previous",
        "shift+tab",
        "shift+tab",
        "previous host",
        "Move to the host before.",
        "host_move(-1)",
        is_in_footer=False,
    ),
    Action(
        "view.density",
        "d",
        "d",
        "density",
        "Cards, lines, or whatever fits.",
        "density",
    ),
    Action("view.theme", "t", "t", "theme", "The next theme.", "next_theme"),
    Action(
        "host.pause",
        "p",
        "p",
        "pause",
        "Let this host's values stand still; after 10 s the driver is released. Again: go on.",
        "pause",
    ),
    Action("host.reconnect", "r", "r", "reconnect", "Try this host again now.", "reconnect"),
    Action("errors.open", "e", "e", "errors", "All that went wrong, in full.", "errors"),
    Action("app.help", "question_mark", "?", "help", "This page.", "help"),
    Action("app.quit", "q,ctrl+c", "q", "quit", "Leave gpudash.", "quit"),
)


def action(action_id: str) -> Action:
    """Return an action by its id. Raises KeyError."""
    for entry in ACTIONS:
        if entry.id == action_id:
            return entry
    raise KeyError(action_id)


def footer_keys() -> tuple[tuple[str, str], ...]:
    """Return (key, label) of the dashboard's footer, ordered by use."""
    return tuple((entry.shown, entry.label) for entry in ACTIONS if entry.is_in_footer)
