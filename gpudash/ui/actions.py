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
    """The keys as written on the screen; the footer shows the first."""
    label: str
    """One or two words for the footer."""
    help: str
    """One sentence."""
    action: str
    """Name of the app's action method."""
    is_in_footer: bool = False
    acts: bool = False
    """It does something to a host: not offered read-only."""

    @property
    def key(self) -> str:
        """Return the first key as written on the screen."""
        return self.shown.split()[0]


ACTIONS = (
    Action("cursor.up", "up,k", "↑ k", "up", "Move to the GPU above.", "cursor_move(-1)"),
    Action("cursor.down", "down,j", "↓ j", "down", "Move to the GPU below.", "cursor_move(1)"),
    Action(
        "cursor.page_up", "pageup", "pgup", "page up", "Move up by eight rows.", "cursor_move(-8)"
    ),
    Action(
        "cursor.page_down",
        "pagedown",
        "pgdn",
        "page down",
        "Move down by eight rows.",
        "cursor_move(8)",
    ),
    Action(
        "cursor.first", "home,g", "home g", "first", "Move to the first GPU.", "cursor_move(-9999)"
    ),
    Action("cursor.last", "end,G", "end G", "last", "Move to the last GPU.", "cursor_move(9999)"),
    Action("host.next", "tab", "tab", "next host", "Move to the next host.", "host_move(1)"),
    Action(
        "host.previous",
        "shift+tab",
        "shift+tab",
        "previous host",
        "Move to the host before.",
        "host_move(-1)",
    ),
    Action(
        "mark.toggle",
        "space",
        "space",
        "mark",
        "Mark the GPU under the cursor; actions are about what is marked.",
        "mark",
        True,
    ),
    Action("mark.all", "a", "a", "mark all", "Mark every GPU, or take all marks away.", "mark_all"),
    Action(
        "cleanup.start",
        "c",
        "c",
        "clean",
        "Plan what would be stopped on what is marked, or on this host; y in the plan does it.",
        "clean",
        True,
        True,
    ),
    Action(
        "cleanup.all",
        "C",
        "C",
        "clean all",
        "Plan the same for all hosts with a mark, always shown before anything is done.",
        "clean_all",
        acts=True,
    ),
    Action(
        "cleanup.force",
        "exclamation_mark",
        "!",
        "force",
        "While a cleanup runs: end at once whoever was asked and is still there.",
        "force",
        acts=True,
    ),
    Action(
        "proof.start",
        "v",
        "v",
        "verify",
        "Prove from now on that what is marked, or everything, reads zero.",
        "verify",
        True,
    ),
    Action(
        "proof.stop",
        "escape",
        "esc",
        "stop",
        "Stop proving; v begins anew.",
        "stop_proof",
    ),
    Action(
        "startups.open", "s", "s", "start-ups", "What starts, and what started.", "startups", True
    ),
    Action("log.open", "L", "L", "log", "The whole log of the newest start-up.", "log"),
    Action(
        "view.density",
        "d",
        "d",
        "density",
        "Cards, lines or one row a host, then again what fits by itself.",
        "density",
        True,
    ),
    Action("view.theme", "t", "t", "theme", "The next theme.", "next_theme", True),
    Action(
        "host.pause",
        "p",
        "p",
        "pause",
        "Let this host's values stand still; after 10 s the driver is released. Again: go on.",
        "pause",
        True,
    ),
    Action("host.reconnect", "r", "r", "reconnect", "Try this host again now.", "reconnect", True),
    Action("errors.open", "e", "e", "errors", "All that went wrong, in full.", "errors", True),
    Action("app.help", "question_mark", "?", "help", "This page.", "help", True),
    Action("app.quit", "q", "q ctrl+c", "quit", "Leave gpudash.", "quit", True),
)


def offered(*, is_readonly: bool) -> tuple[Action, ...]:
    """Return the actions that there are; read-only none that does something to a host."""
    if is_readonly:
        return tuple(one for one in ACTIONS if not one.acts)
    more = " While a cleanup runs: end nobody more."
    return tuple(
        one._replace(help=one.help + more) if one.id == "proof.stop" else one for one in ACTIONS
    )


def footer_keys(
    *, is_paused: bool = False, is_readonly: bool = False, target: str = ""
) -> tuple[tuple[str, str], ...]:
    """Return (key, label) of the dashboard's footer, ordered by use.

    `is_paused`: the host under the cursor is, and its key lets it go on. `target`: what `c` is
    about.
    """
    labels = {"cleanup.start": f"clean {target}" if target else "clean"}
    if is_paused:
        labels["host.pause"] = "go on"
    keys = [
        (entry.key, labels.get(entry.id, entry.label))
        for entry in offered(is_readonly=is_readonly)
        if entry.is_in_footer
    ]
    return tuple(sorted(keys, key=lambda one: one[0] != "c"))


def action_of(key: str, *, is_readonly: bool = False) -> str | None:
    """Return the action of a key as it is written on the screen."""
    known = offered(is_readonly=is_readonly)
    return next((entry.action for entry in known if key in entry.shown.split()), None)
