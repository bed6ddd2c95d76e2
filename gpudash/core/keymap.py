"""Which keys the actions have: by default, by a shipped set, and by the user's own words.

What is wrong with somebody's words is returned, one fault for each, and never raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpudash.core.actions import ACTIONS, BY_ID, FIXED_KEYS, Action
from gpudash.core.keynames import key_named, shown_key, split_keys
from gpudash.core.nearest import nearest

DEFAULT = "default"
KEYMAPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        DEFAULT: MappingProxyType({}),
        "vim": MappingProxyType(
            {
                "cursor.page_up": "ctrl+u,ctrl+b,pageup",
                "cursor.page_down": "ctrl+d,ctrl+f,pagedown",
                "cursor.first": "g,home",
                "cursor.last": "G,end",
                "cursor.up": "k,up",
                "cursor.down": "j,down",
                "host.next": "l,right,tab,J",
                "host.previous": "h,left,shift+tab,K",
                "mark.all": "V,a",
                "mark.toggle": "space,m",
                "view.density": "z,d",
            }
        ),
    }
)
"""Sets that are shipped: what they change."""


class Fault(NamedTuple):
    """One thing that is wrong with a user's keys."""

    id: str
    """The entry that it is about."""
    message: str
    hint: str = ""


def keymap_faults(own: Mapping[str, str], preset: str = DEFAULT) -> tuple[Fault, ...]:
    """Return everything that is wrong with a user's entries over a shipped set."""
    faults = [fault for id_, keys in own.items() for fault in _entry_faults(id_, keys)]
    wrong = {fault.id for fault in faults}
    sound = {id_: keys for id_, keys in own.items() if id_ not in wrong}
    return (*faults, *_clashes(actions_with(sound, preset), sound))


def actions_with(own: Mapping[str, str], preset: str = DEFAULT) -> tuple[Action, ...]:
    """Return all actions with the keys that count; what is wrong in `own` counts for nothing."""
    chosen = dict(KEYMAPS.get(preset, {}))
    for id_, keys in own.items():
        if not _entry_faults(id_, keys):
            chosen[id_] = ",".join(filter(None, map(key_named, split_keys(keys))))
    return tuple(
        one._replace(keys=chosen[one.id]) if one.id in chosen and not one.is_fixed else one
        for one in ACTIONS
    )


def changed_keys(actions: tuple[Action, ...]) -> dict[str, str]:
    """Return the keys of those actions that have others than by default, by id."""
    return {one.id: one.keys for one in actions if one.keys != BY_ID[one.id].keys}


def _entry_faults(id_: str, keys: str) -> list[Fault]:
    action = BY_ID.get(id_)
    if action is None:
        near = nearest(id_, BY_ID, limit=4)
        hint = f"Did you mean {near}?" if near else "gpudash config --defaults lists them."
        return [Fault(id_, "there is no such action", hint)]
    if action.is_fixed:
        return [Fault(id_, f"keeps its key {action.shown}", "No configuration changes it.")]
    faults = []
    for key in split_keys(keys):
        named = key_named(key)
        if named is None:
            hint = 'Keys read like "c", "ctrl+k", "f5", "pageup"; several: "c,f5".'
            faults.append(Fault(id_, f'"{key}" is no key' if key else "has no key", hint))
        elif named in FIXED_KEYS:
            faults.append(Fault(id_, f"{shown_key(named)} always leaves gpudash"))
        elif named == "y" and action.acts:
            faults.append(Fault(id_, "y confirms a plan and opens none"))
    return faults


def _clashes(actions: tuple[Action, ...], own: Mapping[str, str]) -> list[Fault]:
    """Return each key that would mean two things on one screen, at the user's own entry."""
    taken: dict[tuple[str, str], Action] = {}
    faults: dict[tuple[str, str], Fault] = {}
    for action in actions:
        for screen in action.screens:
            for key in action.keys.split(","):
                other = taken.setdefault((screen, key), action)
                if other is action:
                    continue
                blamed, kept = (action, other) if action.id in own else (other, action)
                words = f"{shown_key(key)} is the key of {kept.id} too"
                fault = Fault(blamed.id, words, f"Give {kept.id} another one, or take another.")
                faults.setdefault((blamed.id, key), fault)
    return list(faults.values())
