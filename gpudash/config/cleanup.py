"""The [cleanup] of a configuration file: how much is asked, and who is protected besides.

Entries of the site's file and of the user's both count: an entry adds protection and takes none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudash.config.schema import CLEANUP_KEYS, Key, Setting
from gpudash.core.cleanup.protection import BUILT_IN, Rule

PATTERNS = ("process", "exe", "cgroup", "unit", "user")
"""Keys of an entry that are globs."""
KNOWN = ("name", "why", *PATTERNS, "command")

Wrong = tuple[str, str]
"""Key within the table, or an empty text for all of it; and what is wrong."""


def read_values(table: dict[str, object]) -> tuple[dict[str, Setting], list[Wrong]]:
    """Return the valid settings of [cleanup] but for its entries, and what is wrong."""
    found: dict[str, Setting] = {}
    wrong: list[Wrong] = []
    for name, value in table.items():
        key: Key | None = CLEANUP_KEYS.get(name)
        if key is None:
            wrong.append(
                (name, f"unknown key; known here: {', '.join((*CLEANUP_KEYS, 'protect'))}")
            )
            continue
        try:
            found[name] = key.check(value)
        except ValueError:
            wrong.append((name, f"must be {key.expects}"))
    return found, wrong


def read_rule(entry: object) -> tuple[Rule | None, list[Wrong]]:
    """Return the rule of one [[cleanup.protect]], or what is wrong with it."""
    if not isinstance(entry, dict):
        return None, [("", "must be a table, [[cleanup.protect]]")]
    wrong = list(_problems(entry))
    if wrong:
        return None, wrong
    name = str(entry["name"])
    globs = {key: _texts(entry[key]) for key in PATTERNS if key in entry}
    return (
        Rule(
            name=name,
            why=str(entry.get("why", "protected by the configuration")),
            command=str(entry.get("command", "")),
            is_users_own=True,
            comms=globs.get("process", ()),
            exes=globs.get("exe", ()),
            cgroups=globs.get("cgroup", ()),
            units=globs.get("unit", ()),
            users=globs.get("user", ()),
        ),
        [],
    )


def _problems(entry: dict[str, object]) -> Iterator[Wrong]:
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        yield "name", 'must be a text that a run can name, like "lab-server"'
    elif name in {rule.name for rule in BUILT_IN}:
        yield "name", f"{name} is a built-in entry: choose another name"
    for key, value in entry.items():
        if key not in KNOWN:
            yield key, f"unknown key; known here: {', '.join(KNOWN)}"
        elif key in PATTERNS and not _texts(value):
            yield key, 'must be a glob or a list of globs, like "/lab.slice/*"'
        elif key == "why" and not isinstance(value, str):
            yield key, "must be a sentence"
        elif key == "command" and not _is_expression(value):
            yield key, "must be a regular expression"
    if not any(key in entry for key in (*PATTERNS, "command")):
        yield "", f"protects nobody: it needs one of {', '.join((*PATTERNS, 'command'))}"


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) and item and item.isprintable() for item in items):
        return ()
    return tuple(items)


def _is_expression(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(value) and bool(re.compile(value))
    except re.error:
        return False
