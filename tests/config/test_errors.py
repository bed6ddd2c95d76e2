"""What is wrong with a file: file, line, key, what was expected, the nearest valid key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudash.config.document import parse_document
from gpudash.config.layers import Origin
from gpudash.config.load import load, survey
from gpudash.core.errors import ConfigError, ExitCode
from tests.config.making import configuration


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ('\nintreval = "1s"', 2, "unknown key intreval", "Did you mean interval?"),
        ("[host.gpu-a]", 1, "unknown key host", "Did you mean hosts?"),
        ("sudo = 'see'", 1, "unknown key sudo", 'sudo stands in a [hosts."NAME"].'),
        (
            '[hosts.gpu-a]\nuser = "ana"\ntransprot = "auto"',
            3,
            "unknown key hosts.gpu-a.transprot",
            "Did you mean transport?",
        ),
        (
            '[hosts."gpu-*"]\ninterval = "1s"',
            2,
            'unknown key hosts."gpu-*".interval',
            "interval stands at the top.",
        ),
        (
            "zzzzzz = 1",
            1,
            "unknown key zzzzzz",
            "Known here: interval, theme, density, keymap, readonly, baselines, groups, hosts, "
            "cleanup, alerts, keys, preflight",
        ),
        (
            "theme = 'x'\ninterval = 2",
            2,
            'interval must be a duration from "100ms" to "1h", like "500ms", "1s" or "5m", '
            "not a number: 2",
            "",
        ),
        (
            'interval = "10ms"',
            1,
            'interval must be a duration from "100ms" to "1h", like "500ms", "1s" or "5m", '
            'not a text: "10ms"',
            "",
        ),
        ("readonly = 1", 1, "readonly must be true or false, not a number: 1", ""),
        (
            '[hosts.a]\nport = "22"',
            2,
            'hosts.a.port must be a number from 1 to 65535, not a text: "22"',
            "",
        ),
        (
            "[hosts.a]\nport = true",
            2,
            "hosts.a.port must be a number from 1 to 65535, not a truth value: true",
            "",
        ),
        (
            '[hosts.a]\nsudo = "always"',
            2,
            'hosts.a.sudo must be "never", "see" or "clean", not a text: "always"',
            "",
        ),
        (
            '[hosts.a]\ncommand = "kubectl exec"',
            2,
            'hosts.a.command must be a list of words, like ["kubectl", "exec", "-i", "vllm-0", '
            '"--", "sh"], not a text: "kubectl exec"',
            "",
        ),
        (
            '[hosts.a]\nuser = "-x"',
            2,
            'hosts.a.user must be a user name, like "root", not a text: "-x"',
            "",
        ),
        ("hosts = 1", 1, "hosts must be a table, [hosts], not a number: 1", ""),
        ("[hosts]\na = 1.5", 2, "hosts.a must be a table, [hosts.a], not a number: 1.5", ""),
        ("[[hosts]]", 1, "hosts must be a table, [hosts], not a list", ""),
        (
            '[groups]\nlab = "gpu-a"',
            2,
            'groups.lab must be a list of hosts, like ["gpu-a", "node[01-32]"], '
            'not a text: "gpu-a"',
            "",
        ),
        (
            "[groups]\n\nlab = [\n 1 ]",
            3,
            'groups.lab must be a list of hosts, like ["gpu-a", "node[01-32]"], not a list',
            "",
        ),
        (
            '[groups]\n"@lab" = []',
            2,
            'groups."@lab": a group\'s name has letters, digits and ._-',
            "",
        ),
        (
            '[hosts."@lab"]',
            1,
            'hosts."@lab": @lab is no host name, range or glob',
            'Examples: [hosts.gpu-a], [hosts."node[01-32]"], [hosts."gpu-*"]',
        ),
        (
            '[hosts."n[3-1]"]',
            1,
            'hosts."n[3-1]": host n[3-1]: the range 3-1 runs backwards',
            "1-3",
        ),
        (
            "a = 1\nb = x",
            2,
            "not TOML: Invalid value",
            'Texts stand in quotes: theme = "gpudash-dark"',
        ),
        (
            "a = 1\n[b",
            2,
            "not TOML: Expected ']' at the end of a table declaration",
            'Texts stand in quotes: theme = "gpudash-dark"',
        ),
        ("when = 2026-01-01", 1, "unknown key when", None),
        (
            "theme = 2026-01-01",
            1,
            'theme must be the name of a theme, like "gpudash-dark", not a date',
            "",
        ),
        ('theme = "a\\u001b[31m"', 1, None, ""),
    ],
)
def test_one_wrong_thing(text: str, line: int, message: str | None, hint: str | None) -> None:
    _, problems = parse_document(text, "config.toml", Origin.USER)
    (problem,) = problems
    assert problem.line == line
    assert problem.sentence.isprintable()
    if message is not None:
        assert problem.sentence == f"config.toml:{line}: {message}"
    if hint is not None:
        assert problem.hint == hint


def test_what_is_right_is_kept_beside_what_is_wrong() -> None:
    text = 'interval = 2\ntheme = "x"\n[groups]\na = 1\nb = ["h"]\n[hosts.h]\nsudo = 1\nport = 9'
    layer, problems = parse_document(text, "config.toml", Origin.USER)
    assert [problem.line for problem in problems] == [1, 4, 7]
    assert list(layer.top) == ["theme"]
    assert list(layer.groups) == ["b"]
    assert list(layer.sections[0].values) == ["port"]


def test_loading_names_the_first_and_counts_the_rest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(tmp_path, user='intreval = "1s"\nreadonly = 1\nport = 2\n')
    assert caught.value.message == f"{tmp_path}/user.toml:1: unknown key intreval"
    assert caught.value.hint == "Did you mean interval? And 2 more: gpudash config validate"
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"GPUDASH_INTERVAL": "2"}, 'GPUDASH_INTERVAL=2: must be a duration from "100ms" to "1h"'),
        ({"GPUDASH_READONLY": "maybe"}, "GPUDASH_READONLY=maybe: must be true or false"),
        ({"GPUDASH_DENSITY": "big"}, 'GPUDASH_DENSITY=big: must be "auto", "card"'),
        ({"GPUDASH_THEME": "a\x1b"}, "GPUDASH_THEME=a: must be the name of a theme"),
        ({"GPUDASH_CONFIG": "/nowhere/x.toml"}, "GPUDASH_CONFIG=/nowhere/x.toml: no such file"),
    ],
)
def test_wrong_variables(tmp_path: Path, variables: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(tmp_path, **variables)
    assert caught.value.message.startswith(message)


def test_a_variable_with_a_typing_error_is_named(tmp_path: Path) -> None:
    config = configuration(tmp_path, GPUDASH_READNOLY="1", GPUDASH_SOMETHING_ELSE="1")
    assert config.warnings == (
        "the variable GPUDASH_READNOLY does nothing; did you mean GPUDASH_READONLY?",
    )


def user_file(path: Path) -> str:
    config, problems = survey({"GPUDASH_CONFIG": str(path)}, site_file=os.devnull)
    assert not problems
    return str(config.top("theme").value)


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('theme = "x"')
    path.chmod(0o664)
    assert user_file(path) == "x"
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="can be changed by everybody"):
        user_file(path)
    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        user_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="is no file"):
        user_file(tmp_path / "pipe")
    path.chmod(0o600)
    path.write_bytes(b'theme = "x"\n# \xff')
    with pytest.raises(ConfigError, match=r"config.toml:2: not UTF-8"):
        user_file(path)
    path.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        user_file(path)
    assert user_file(Path(os.devnull)) == "gpudash-dark"


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_site_file_that_others_can_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "site.toml"
    path.write_text("readonly = true")
    path.chmod(mode)
    with pytest.raises(ConfigError, match="can be changed by others than root"):
        load({}, site_file=str(path), site_owner=os.geteuid())
    path.chmod(0o644)
    assert load({}, site_file=str(path), site_owner=os.geteuid()).top("readonly").value is True
    with pytest.raises(ConfigError, match="can be changed by others than root"):
        load({}, site_file=str(path), site_owner=os.geteuid() + 1)


def test_a_site_file_that_is_there_and_cannot_be_read_stops_everything(tmp_path: Path) -> None:
    loop = tmp_path / "site.toml"
    loop.symlink_to(loop)
    with pytest.raises(ConfigError, match="can't be read"):
        load({}, site_file=str(loop))
