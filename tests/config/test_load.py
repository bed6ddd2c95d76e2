"""Who speaks over whom, and that nothing loosens the site's rules."""

from __future__ import annotations

import tomllib
from pathlib import Path

import platformdirs
import pytest

from gpudash.config.defaults import defaults_text
from gpudash.config.document import parse_document
from gpudash.config.folders import config_folder, user_file
from gpudash.config.hosts import (
    HostSettings,
    host_settings,
    known_names,
    named_hosts,
    section_warnings,
    settings_as,
)
from gpudash.config.layers import Origin
from gpudash.config.load import Config
from gpudash.config.schema import HOST_KEYS, KEYS, TOP_KEYS, in_toml
from gpudash.core.errors import ConfigError
from gpudash.core.hostnames import parse_host
from tests.config.making import configuration


def settings(config: Config, word: str, *aliases: str) -> HostSettings:
    return host_settings(config, parse_host(word), aliases)


def test_nothing_said(tmp_path: Path) -> None:
    config = configuration(tmp_path)
    assert {name: config.top(name).value for name in TOP_KEYS} == {
        "interval": "1s",
        "theme": "gpudash-dark",
        "density": "auto",
        "keymap": "default",
        "readonly": False,
        "baselines": True,
    }
    found = settings(config, "gpu-a")
    assert (found.transport, found.command, found.user, found.port) == ("auto", None, None, None)
    assert (found.sudo, found.readonly, found.python, found.nvidia_smi) == (
        "never",
        False,
        "python3",
        True,
    )
    assert set(found.origins.values()) == {"default"}


def test_later_layers_speak_over_earlier_ones(tmp_path: Path) -> None:
    site = 'interval = "2s"\ntheme = "a"\ndensity = "card"'
    user = 'theme = "b"\ndensity = "line"'
    config = configuration(tmp_path, site, user, GPUDASH_DENSITY="cell", GPUDASH_INTERVAL="")
    assert [(config.top(name).value, config.top(name).where) for name in TOP_KEYS] == [
        ("2s", f"{tmp_path}/site.toml:1"),
        ("b", f"{tmp_path}/user.toml:1"),
        ("cell", "GPUDASH_DENSITY"),
        ("default", "default"),
        (False, "default"),
        (True, "default"),
    ]


@pytest.mark.parametrize(
    ("site", "user", "variable", "counts", "warns"),
    [
        (None, None, "1", True, False),
        (None, True, "0", False, False),
        (None, True, None, True, False),
        (False, True, None, True, False),
        (False, None, "1", True, False),
        (True, None, None, True, False),
        (True, True, None, True, False),
        (True, False, None, True, True),
        (True, None, "0", True, True),
        (True, True, "off", True, True),
    ],
)
def test_readonly_is_only_tightened(
    tmp_path: Path,
    site: bool | None,
    user: bool | None,
    variable: str | None,
    counts: bool,
    warns: bool,
) -> None:
    texts = ["" if said is None else f"readonly = {in_toml(said)}" for said in (site, user)]
    config = configuration(tmp_path, *texts, GPUDASH_READONLY=variable or "")
    assert config.top("readonly").value is counts
    assert settings(config, "gpu-a").readonly is counts
    assert bool(config.warnings) is warns
    if warns:
        assert f"{tmp_path}/site.toml:1 says true, which can only be" in config.warnings[0]


LEVELS = ("clean", "see", "never")


@pytest.mark.parametrize("user", [None, *LEVELS])
@pytest.mark.parametrize("site", [None, *LEVELS])
def test_sudo_only_goes_towards_never(tmp_path: Path, site: str | None, user: str | None) -> None:
    texts = [
        f'[hosts."{pattern}"]\nsudo = "{said}"' if said else ""
        for pattern, said in (("gpu-*", site), ("gpu-a", user))
    ]
    found = settings(configuration(tmp_path, *texts), "root@gpu-a:22")
    is_loosened = bool(site and user and LEVELS.index(user) < LEVELS.index(site))
    assert found.sudo == (site if is_loosened else user or site or "never")
    assert found.warnings == (
        (
            f'{tmp_path}/user.toml:2: sudo = "{user}" is ignored: {tmp_path}/site.toml:2 says '
            f'"{site}", which can only be tightened',
        )
        if is_loosened
        else ()
    )


def test_what_a_user_would_loosen_is_seen_without_naming_hosts(tmp_path: Path) -> None:
    site = '[hosts."gpu-*"]\nreadonly = true'
    user = '[hosts."gpu-b*"]\nreadonly = false\n[hosts."cpu"]\nreadonly = false'
    warnings = section_warnings(configuration(tmp_path, site, user))
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{tmp_path}/user.toml:2: readonly = false is ignored")


def test_readonly_at_the_top_is_for_every_host(tmp_path: Path) -> None:
    user = "readonly = true\n[hosts.gpu-a]\nreadonly = false"
    found = settings(configuration(tmp_path, user=user), "gpu-a")
    assert (found.readonly, found.origins["readonly"]) == (True, f"{tmp_path}/user.toml:1")


SECTIONS = """
[hosts.gpu-a]
port = 1
[hosts."gpu-*"]
port = 2
user = "glob"
[hosts."*"]
port = 3
user = "all"
python = "python3.12"
[hosts."gpu-?"]
port = 4
[hosts."node[01-03]"]
port = 5
[hosts."root@gpu-b"]
port = 6
[hosts."2001:db8::7"]
port = 7
"""


@pytest.mark.parametrize(
    ("word", "port", "user", "python"),
    [
        ("gpu-a", 1, "glob", "python3.12"),
        ("GPU-A", 1, "glob", "python3.12"),
        ("gpu-b", 4, "glob", "python3.12"),
        ("root@gpu-b", 6, "root", "python3.12"),
        ("gpu-b:2222", 2222, "glob", "python3.12"),
        ("gpu-long", 2, "glob", "python3.12"),
        ("node02", 5, "all", "python3.12"),
        ("node04", 3, "all", "python3.12"),
        ("[2001:db8::7]", 7, "all", "python3.12"),
        ("ssh -l ana gpu-a", 1, "ana", "python3.12"),
        ("local", None, None, "python3.12"),
    ],
)
def test_the_closest_section_counts(
    tmp_path: Path, word: str, port: int | None, user: str | None, python: str
) -> None:
    found = settings(configuration(tmp_path, user=SECTIONS), word)
    assert (found.port, found.user, found.python) == (port, user, python)


def test_of_equal_sections_the_later_counts(tmp_path: Path) -> None:
    text = '[hosts."gpu-?"]\nport = 1\n[hosts."?pu-a"]\nport = 2'
    assert settings(configuration(tmp_path, user=text), "gpu-a").port == 2


def test_a_rule_follows_the_host_to_its_other_names(tmp_path: Path) -> None:
    config = configuration(tmp_path, site='[hosts."gpu-a*"]\nreadonly = true')
    assert not settings(config, "nickname").readonly
    assert settings(config, "nickname", "gpu-a.example.com").readonly


def test_a_command_is_never_for_this_machine(tmp_path: Path) -> None:
    config = configuration(tmp_path, user='[hosts."*"]\ncommand = ["sh"]')
    assert settings(config, "pod").reached_by == "command"
    assert settings(config, "local").reached_by == "local"


def test_groups_of_both_files(tmp_path: Path) -> None:
    config = configuration(
        tmp_path,
        '[groups]\nlab = ["a"]\nall = ["@lab", "n[1-2]"]\n[hosts."x[1-2]*"]\n[hosts."y[1-2]"]',
        '[groups]\nlab = ["b", "root@c:22"]',
    )
    assert config.groups == {"lab": ("b", "root@c:22"), "all": ("@lab", "n[1-2]")}
    assert known_names(config) == {"b", "root@c:22", "c", "n1", "n2", "y1", "y2"}


def test_a_wrong_group_names_its_line(tmp_path: Path) -> None:
    config = configuration(tmp_path, user='[groups]\nok = ["a"]\nlab = ["@nobody"]')
    with pytest.raises(ConfigError) as caught:
        known_names(config)
    assert caught.value.message == f"{tmp_path}/user.toml:3: group @lab: unknown group @nobody"


def test_folders_are_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    for base in ("/somewhere", ""):
        monkeypatch.setenv("XDG_CONFIG_HOME", base)
        expected = platformdirs.user_config_dir("gpudash", appauthor=False)
        assert config_folder() == expected
        assert user_file({}) == f"{expected}/config.toml"
    assert user_file({"GPUDASH_CONFIG": "x.toml"}) == "x.toml"


def test_the_defaults_are_a_file_that_changes_nothing() -> None:
    text = defaults_text()
    assert tomllib.loads(text) == {}
    lines = [line.removeprefix("#") if line[:2] != "# " else "" for line in text.splitlines()]
    layer, problems = parse_document("\n".join(lines), "x", Origin.USER)
    assert problems == ()
    assert {name: value.value for name, value in layer.top.items()} == {
        name: key.default for name, key in TOP_KEYS.items()
    }
    assert {name: value.value for name, value in layer.sections[0].values.items()} == {
        name: key.example if key.default is None else key.default for name, key in HOST_KEYS.items()
    }


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.place.name}.{key.name}")
def test_every_key_accepts_its_default(key: object) -> None:
    from gpudash.config.schema import Key

    assert isinstance(key, Key)
    value = key.example if key.default is None else key.default
    given = list(value) if isinstance(value, tuple) else value
    assert key.check(given) == value
    assert key.doc.endswith(".")
    if key.loosest_first:
        assert key.default in key.loosest_first


def test_the_default_theme_is_the_screens() -> None:
    from gpudash.ui.theme import DEFAULT

    assert TOP_KEYS["theme"].default == DEFAULT


# -- the name that ssh resolves -------------------------------------------------------------------


def resolved(folder: Path, site: str, user: str, word: str = "box") -> HostSettings:
    config = configuration(folder, site, user)
    (spec,) = named_hosts([word], config)
    return settings_as(config, spec, "gpu-a.example.com")


def test_a_rule_of_the_site_holds_for_the_hostname_behind_an_alias(tmp_path: Path) -> None:
    site = '[hosts."*.example.com"]\nsudo = "never"\nreadonly = true'
    found = resolved(tmp_path, site, '[hosts.box]\nsudo = "see"')
    assert (found.sudo, found.readonly) == ("never", True)
    assert found.origins["readonly"] == f"{tmp_path}/site.toml:3"
    (warning,) = found.warnings
    assert warning.endswith(f'{tmp_path}/site.toml:2 says "never", which can only be tightened')


def test_of_two_rules_the_tighter_holds_whatever_is_closer(tmp_path: Path) -> None:
    site = '[hosts.box]\nsudo = "never"\n[hosts."gpu-a.example.com"]\nsudo = "see"'
    assert resolved(tmp_path, site, "").sudo == "never"
    site = '[hosts.box]\nreadonly = false\n[hosts."gpu-a*"]\nreadonly = true'
    assert resolved(tmp_path, site, "").readonly


def test_what_only_the_hostname_says_counts_and_the_way_there_stays(tmp_path: Path) -> None:
    user = '[hosts."gpu-a.*"]\nsudo = "see"\npython = "/opt/py"\nuser = "root"\nport = 23'
    found = resolved(tmp_path, "", user)
    assert (found.sudo, found.python) == ("see", "/opt/py")
    assert (found.user, found.port) == (None, None)
    mine = '[hosts.box]\npython = "/my/py"\n' + user
    assert resolved(tmp_path, "", mine).python == "/my/py"


def test_the_site_says_the_least_number_of_gpus(tmp_path: Path) -> None:
    site = '[hosts."gpu-*"]\ngpus = 8\n'
    for own, counts in ((4, 8), (8, 8), (16, 16)):
        config = configuration(tmp_path, site, f"[hosts.gpu-a]\ngpus = {own}\n")
        values, warnings = config.host_values(("gpu-a",))
        assert values["gpus"].value == counts
        assert bool(warnings) is (own < 8)
