"""A configuration file in which every key stands, commented out, at its default."""

from __future__ import annotations

from gpudash.config.preflight import PREFLIGHT_KEYS
from gpudash.config.schema import ALERT_KEYS, CLEANUP_KEYS, HOST_KEYS, TOP_KEYS, Key, in_toml
from gpudash.core.actions import ACTIONS, Action
from gpudash.core.keynames import CHARACTERS


def defaults_text() -> str:
    """Return a configuration file in which every key stands, commented out, at its default."""
    lines = [
        "# gpudash's configuration: every key at its default. A line that begins with # changes",
        "# nothing. What the site's file says about readonly, baselines and sudo can only be",
        "# tightened.",
    ]
    for key in TOP_KEYS.values():
        lines += ["", f"# {key.doc} {key.variable} overrides it.", _commented(key)]
    lines += [
        "",
        "# Hosts by group, named as @lab: names, ranges, other groups; !name leaves one out.",
        "#[groups]",
        '#lab = ["gpu-a", "node[01-32]", "!node07"]',
        "",
        "# Settings of hosts by name, range or glob (* and ?). Where several fit, the one with the",
        "# most literal characters counts, a name without * and ? before any glob.",
        '#[hosts."gpu-*"]',
    ]
    for key in HOST_KEYS.values():
        lines += [f"# {key.doc}", _commented(key)]
    lines += ["", "#[cleanup]"]
    for key in CLEANUP_KEYS.values():
        lines += [f"# {key.doc}", _commented(key)]
    lines += [
        "",
        "# Who is never ended, besides those that gpudash knows: by globs over process, exe,",
        "# cgroup, unit or user, or a regular expression over the command line. The site's entries",
        "# and the user's both count.",
        "#[[cleanup.protect]]",
        '#name = "lab-server"',
        '#cgroup = "/lab.slice/*"',
        '#why = "the lab depends on it"',
    ]
    lines += ["", "#[alerts]"]
    for key in ALERT_KEYS.values():
        lines += [f"# {key.doc}", _commented(key)]
    lines += [
        "",
        "# Other keys, by the id of an action: characters and names like escape, f5, pageup, with",
        "# ctrl+, alt+ or shift+ before them. y alone confirms a plan, esc cancels, ctrl+c leaves.",
        "#[keys]",
        *(f'#"{one.id}" = {in_toml(_keys_of(one))}' for one in ACTIONS if not one.is_fixed),
        "",
        "# Checks before a launch, by name: gpudash run --preflight my-path -- CMD. Each looks at",
        "# one thing.",
    ]
    for key in PREFLIGHT_KEYS.values():
        # A timeout stands with its command.
        section = [] if key.name == "timeout" else [f"#[preflight.my-{key.name}]"]
        lines += [*section, f"# {key.doc}", _commented(key)]
    return "\n".join(lines) + "\n"


def _keys_of(action: Action) -> str:
    """Write the keys as somebody would: characters as such, but for the comma."""
    written = {name: char for char, name in CHARACTERS.items() if char not in " ,"}
    return ",".join(written.get(key, key) for key in action.keys.split(","))


def _commented(key: Key) -> str:
    if key.default is None:
        return f"#{key.name} = {in_toml(key.example)}    # an example; unset by default"
    return f"#{key.name} = {in_toml(key.default)}"
