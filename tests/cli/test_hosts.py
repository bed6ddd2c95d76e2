"""`gpudash hosts` and `gpudash config`, and what the first word is."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

from gpudash.cli.main import COMMANDS, USAGE
from tests.cli.running import Done, Runner
from tests.cli.test_check import check_golden

CONFIG = """\
interval = "2s"

[groups]
lab = ["gpu-a", "node[01-03]", "!node03"]
all = ["@lab", "root@192.0.2.7:2222"]

[hosts."node[01-02]"]
sudo = "see"

[hosts.gpu-a]
user = "ana"
readonly = true

[hosts."pod-*"]
command = ["kubectl", "exec", "-i", "vllm-0", "--", "sh"]
"""
SSH_CONFIG = "Host stream1 chek\n  HostName 192.0.2.9\n"


@pytest.fixture
def run(gpudash_command: Runner, tmp_path: Path) -> object:
    """Run a command with the configuration above; its folder reads FOLDER in what it prints."""
    (tmp_path / "config.toml").write_text(CONFIG)
    (gpudash_command.folder / ".ssh").mkdir(exist_ok=True)
    (gpudash_command.folder / ".ssh" / "config").write_text(SSH_CONFIG)

    def command(*words: str, **variables: str) -> Done:
        variables = {"GPUDASH_CONFIG": str(tmp_path / "config.toml")} | variables
        done = gpudash_command(None, *words, **variables)
        texts = (text.replace(str(tmp_path), "FOLDER") for text in (done.out, done.err))
        return Done(done.code, *texts)

    return command


ENDINGS = {"table": "txt", "csv": "csv", "json": "json", "jsonl": "jsonl"}
COMMAND_LINES = {
    "hosts-named": ("hosts", "@all", "pod-1", "local", "ssh -Np 2222 -i k root@gpu-b"),
    "hosts-known": ("hosts",),
    "config": ("config",),
}


@pytest.mark.parametrize("wanted", ENDINGS)
@pytest.mark.parametrize("name", COMMAND_LINES)
def test_golden(run: object, name: str, wanted: str) -> None:
    done = run(*COMMAND_LINES[name], "--format", wanted)  # type: ignore[operator]
    assert done.code == 0
    check_golden(f"{name}.{ENDINGS[wanted]}", done.out)
    check_golden(f"{name}.err", done.err)
    if wanted == "json":
        assert json.loads(done.out)["schema"].startswith("gpudash.")
    if wanted == "csv":
        rows = list(csv.reader(io.StringIO(done.out)))
        assert {len(row) for row in rows} == {len(rows[0])}


def test_defaults(run: object) -> None:
    done = run("config", "--defaults")  # type: ignore[operator]
    assert (done.code, done.err) == (0, "")
    check_golden("config-defaults.toml", done.out)


def test_config_path_and_validate(run: object, tmp_path: Path) -> None:
    assert run("config", "path").out == "FOLDER/config.toml\n"  # type: ignore[operator]
    done = run("config", "validate")  # type: ignore[operator]
    assert (done.code, done.out.splitlines()[1]) == (0, "FOLDER/config.toml: fine")
    (tmp_path / "config.toml").write_text('intreval = "1s"\n[hosts.a]\nsudo = 1\n')
    done = run("config", "validate")  # type: ignore[operator]
    assert (done.code, done.err) == (2, "")
    assert done.out == (
        "FOLDER/config.toml:1: unknown key intreval\n"
        "    Did you mean interval?\n"
        'FOLDER/config.toml:2: hosts.a.sudo must be "never", "see" or "clean", '
        "not a number: 1\n"
    ).replace("toml:2", "toml:3")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("hosts", "@lba"), "unknown group @lba", "Did you mean @lab?"),
        (("hosts", "a b"), "host a b: a name can't contain a blank", None),
        (("hosts", "--fromat", "csv"), "unknown flag --fromat", "Did you mean --format?"),
        (("hosts", "--format", "cvs"), "unknown format cvs", "Did you mean csv?"),
        (("config", "valdate"), "unknown action valdate", "Did you mean validate?"),
        (
            ("cheek",),
            "unknown command cheek",
            "Did you mean: gpudash check? A host of that name: gpudash -- cheek",
        ),
        (("confg", "--defaults"), "unknown command confg", None),
        (
            ("ssh", "root@gpu-a"),
            "a pasted ssh line is one word",
            "Quote it: gpudash 'ssh root@gpu-a'",
        ),
    ],
)
def test_one_sentence_and_two(
    run: object, words: tuple[str, ...], message: str, hint: str | None
) -> None:
    done = run(*words)  # type: ignore[operator]
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines[0] == f"gpudash: {message}"
    if hint is not None:
        assert lines[1].strip() == hint


@pytest.mark.parametrize(
    "words",
    [("chek",), ("stream1",), ("--", "cheek"), ("doctor@x",), ("gpu-a",), ("demo:22",), ("dem.o",)],
)
def test_what_is_a_host_is_no_typing_error(run: object, words: tuple[str, ...]) -> None:
    done = run(*words)  # type: ignore[operator]
    assert "unknown command" not in done.err


@pytest.mark.parametrize(("word", "is_plain"), [("frobnicate", True), ("ana@x", False)])
def test_a_word_that_could_be_a_command_is_answered_with_commands(
    run: object, word: str, is_plain: bool
) -> None:
    done = run(word)  # type: ignore[operator]
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gpudash: the dashboard needs a terminal\n")
    said = "frobnicate is taken for a host. Commands: baseline, check, clean" in done.err
    assert said is is_plain


def test_a_wrong_configuration_hides_no_typing_error(run: object, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("nonsense")
    assert "unknown command cheek" in run("cheek").err  # type: ignore[operator]
    done = run("stream", "--count", "1")  # type: ignore[operator]
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gpudash: FOLDER/config.toml:1: not TOML")


def test_check_needs_no_configuration(run: object, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("nonsense")
    done = run("check")  # type: ignore[operator]
    assert done.code == 4
    assert done.err.startswith("gpudash: FOLDER/config.toml:1: not TOML")


def test_sudo_here_is_asked_for_by_a_section(run: object, tmp_path: Path) -> None:
    """There is none in this PATH: the sampler that would need none is not taken instead."""
    (tmp_path / "config.toml").write_text('[hosts.local]\nsudo = "see"\n')
    done = run("check")  # type: ignore[operator]
    assert done.code == 4
    assert "There is no sudo on this host" in done.err
    assert "sudo" in run("doctor").out  # type: ignore[operator]


def test_a_setting_speaks_where_no_flag_does(run: object) -> None:
    done = run("stream", "--count", "1", GPUDASH_INTERVAL="2")  # type: ignore[operator]
    assert done.code == 2
    assert done.err.startswith("gpudash: GPUDASH_INTERVAL=2: must be a duration")


def test_every_command_is_in_the_usage() -> None:
    for name in COMMANDS:
        assert f"gpudash {name}" in USAGE


def test_no_configuration_at_all(gpudash_command: Runner, tmp_path: Path) -> None:
    nowhere = {"XDG_CONFIG_HOME": str(tmp_path / "none")}
    done = gpudash_command(None, "hosts", **nowhere)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"No groups and no host sections in {tmp_path}/none/gpudash/config.toml\n"
    assert gpudash_command(None, "config", "--format", "csv", **nowhere).out == (
        "key,value,from\n"
        'interval,"""1s""",default\n'
        'theme,"""gpudash-dark""",default\n'
        'density,"""auto""",default\n'
        'keymap,"""default""",default\n'
        "readonly,false,default\n"
        "baselines,true,default\n"
        'cleanup.confirm,"""alive""",default\n'
        "alerts.memory,false,default\nalerts.temperature,90,default\n"
        "alerts.throttle,true,default\nalerts.ecc,true,default\nalerts.lost,true,default\n"
        "alerts.bell,true,default\nalerts.osc9,false,default\n"
    )
    assert os.listdir(tmp_path) == []
