"""Keys by id: names, shipped sets, what is wrong with somebody's own, and laws over all of it."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.actions import ACTIONS, BY_ID, FIXED_KEYS
from gpudash.core.keymap import KEYMAPS, actions_with, changed_keys, keymap_faults
from gpudash.core.keynames import CHARACTERS, NAMED, key_named, shown_key, split_keys

ANY_KEY = st.sampled_from(
    [*NAMED, *CHARACTERS, *"abcxyzABC019", "ctrl+k", "alt+f3", "nonsense", "", "ctrl+", "shift+a"]
)
OWN = st.dictionaries(
    st.sampled_from([*BY_ID, "no.such", "view.theem"]),
    st.lists(ANY_KEY, min_size=1, max_size=3).map(",".join),
    max_size=5,
)


def clashes(actions: tuple) -> list[tuple[str, str]]:
    return [
        (one.id, other.id)
        for one, other in combinations(actions, 2)
        if set(one.screens) & set(other.screens)
        and set(one.keys.split(",")) & set(other.keys.split(","))
    ]


def test_the_table_is_whole() -> None:
    assert len(BY_ID) == len(ACTIONS)
    for one in ACTIONS:
        area, _, verb = one.id.partition(".")
        assert area.isalpha()
        assert verb.replace("_", "").isalpha()
        assert one.help.endswith(".")
        assert one.tooltip in one.help
        assert one.screens


@pytest.mark.parametrize("preset", KEYMAPS)
def test_shipped_sets_have_no_clash_and_only_known_ids(preset: str) -> None:
    assert set(KEYMAPS[preset]) <= set(BY_ID)
    assert clashes(actions_with({}, preset)) == []
    assert not keymap_faults({}, preset)
    assert keymap_faults(dict(KEYMAPS[preset])) == ()


@pytest.mark.parametrize(
    ("written", "named", "shown"),
    [
        ("c", "c", "c"),
        ("C", "C", "C"),
        ("shift+c", "C", "C"),
        ("!", "exclamation_mark", "!"),
        (" ", "space", "space"),
        (",", "comma", ","),
        ("esc", "escape", "esc"),
        ("PageUp", "pageup", "pgup"),
        ("F5", "f5", "f5"),
        ("Shift+Ctrl+k", "ctrl+shift+k", "ctrl+shift+k"),
        ("alt+?", "alt+question_mark", "alt+?"),
        ("+", "plus", "+"),
    ],
)
def test_keys_have_names(written: str, named: str, shown: str) -> None:
    assert key_named(written) == named
    assert shown_key(named) == shown


@pytest.mark.parametrize("text", ["", "ctrl+", "hyper+c", "cc", "é", "f13", "\x1b", "ctrl++"])
def test_what_is_no_key_has_none(text: str) -> None:
    assert key_named(text) is None


def test_a_comma_is_a_key_too() -> None:
    assert split_keys(",") == ("comma",)
    assert split_keys("a, b") == ("a", "b")


@pytest.mark.parametrize(
    ("id_", "keys", "words"),
    [
        ("view.theem", "T", "there is no such action"),
        ("view.theme", "T,cc", '"cc" is no key'),
        ("view.theme", "", "has no key"),
        ("view.theme", "d", "d is the key of view.density too"),
        ("app.quit", "ctrl+c", "ctrl+c always leaves gpudash"),
        ("plan.confirm", "enter", "keeps its key y"),
        ("plan.confirm", "c", "keeps its key y"),
        ("plan.confirm", "space", "keeps its key y"),
        ("proof.stop", "x", "keeps its key esc"),
        ("cleanup.start", "y", "y confirms a plan and opens none"),
        ("cleanup.all", "C,y", "y confirms a plan and opens none"),
        ("mark.all", "escape", "esc is the key of proof.stop too"),
    ],
)
def test_what_is_wrong_is_named(id_: str, keys: str, words: str) -> None:
    (fault,) = keymap_faults({id_: keys})
    assert (fault.id, fault.message) == (id_, words)


def test_the_nearest_id_is_named() -> None:
    assert keymap_faults({"view.theem": "T"})[0].hint == "Did you mean view.theme?"


def test_two_may_swap() -> None:
    own = {"view.theme": "d", "view.density": "t"}
    assert keymap_faults(own) == ()
    assert changed_keys(actions_with(own)) == own


@given(own=OWN, preset=st.sampled_from([*KEYMAPS]))
def test_whatever_is_written_nothing_else_confirms(own: dict[str, str], preset: str) -> None:
    actions = {one.id: one for one in actions_with(own, preset)}
    assert actions["plan.confirm"].keys == "y"
    assert "y" not in actions["cleanup.start"].keys.split(",")
    assert "y" not in actions["cleanup.all"].keys.split(",")
    assert all(one.keys for one in actions.values())
    assert not any(FIXED_KEYS & set(one.keys.split(",")) for one in actions.values())


@given(own=OWN, preset=st.sampled_from([*KEYMAPS]))
def test_without_a_fault_every_key_means_one_thing(own: dict[str, str], preset: str) -> None:
    faults = keymap_faults(own, preset)
    assert {fault.id for fault in faults} <= set(own)
    if not faults:
        assert clashes(actions_with(own, preset)) == []
