"""[keys] of the configuration: read, weighed, and what is wrong named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudash.config.load import survey
from gpudash.core.errors import ConfigError
from tests.config.making import configuration


def problems(tmp_path: Path, text: str) -> list[tuple[int, str, str]]:
    path = tmp_path / "user.toml"
    path.write_text(text)
    env = {"GPUDASH_CONFIG": str(path)}
    _, found = survey(env, site_file=str(tmp_path / "none.toml"))
    assert all(one.path == str(path) for one in found)
    return [(one.line, one.message, one.hint) for one in found]


def test_ids_may_stand_in_quotes_or_not(tmp_path: Path) -> None:
    config = configuration(tmp_path, user='[keys]\n"view.theme" = "T"\nview.density = "z,f2"\n')
    assert {id_: value.value for id_, value in config.keys.items()} == {
        "view.theme": "T",
        "view.density": "z,f2",
    }
    assert config.keys["view.density"].where.endswith("user.toml:3")


def test_the_users_keys_replace_the_sites(tmp_path: Path) -> None:
    config = configuration(
        tmp_path,
        site='[keys]\n"view.theme" = "T"\n"view.density" = "z"\n',
        user='[keys]\n"view.theme" = "f3"\n',
    )
    assert [(id_, value.value) for id_, value in config.keys.items()] == [
        ("view.theme", "f3"),
        ("view.density", "z"),
    ]


def test_everything_wrong_has_its_line(tmp_path: Path) -> None:
    text = """\
keymap = "vim"
[keys]
"view.themes" = "T"
"plan.confirm" = "enter"
"host.pause" = 7
"view.theme" = "z"
"""
    assert problems(tmp_path, text) == [
        (5, 'keys."host.pause" must be keys, like "c,f5", not a number: 7', ""),
        (3, "keys.view.themes: there is no such action", "Did you mean view.theme?"),
        (4, "keys.plan.confirm: keeps its key y", "No configuration changes it."),
        (
            6,
            "keys.view.theme: z is the key of view.density too",
            "Give view.density another one, or take another.",
        ),
    ]


def test_a_clash_over_two_files_is_the_users(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"user\.toml:2: keys\.view\.theme: z is the key"):
        configuration(
            tmp_path,
            site='[keys]\n"view.density" = "z"\n',
            user='[keys]\n"view.theme" = "z"\n',
        )


def test_an_unknown_set_is_named(tmp_path: Path) -> None:
    assert problems(tmp_path, 'keymap = "emacs"\n') == [
        (1, 'keymap must be "default" or "vim", not a text: "emacs"', "")
    ]
