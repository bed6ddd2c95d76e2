"""[cleanup] of a configuration: entries add protection, mistakes are named with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudash.config.document import parse_document
from gpudash.config.layers import Origin
from gpudash.config.load import load
from gpudash.core.cleanup.protection import protecting_rule
from tests.core.cleanup.making import Box

GOOD = """
[cleanup]
confirm = "always"

[[cleanup.protect]]
name = "lab-server"
process = "lab*"
user = ["svc-*", "4711"]
why = "the lab depends on it"

[[cleanup.protect]]
name = "by-hand"
exe = "/opt/lab/*/bin/serve"
cgroup = "/lab.slice/*"
unit = "lab@*.service"
command = "--keep\\\\b"
"""


def test_entries_are_rules() -> None:
    layer, problems = parse_document(GOOD, "config.toml", Origin.USER)
    assert problems == ()
    assert layer.cleanup["confirm"].value == "always"
    first, second = layer.protect
    assert (first.name, first.comms, first.users) == ("lab-server", ("lab*",), ("svc-*", "4711"))
    assert first.why == "the lab depends on it"
    assert (second.exes, second.cgroups, second.units) == (
        ("/opt/lab/*/bin/serve",),
        ("/lab.slice/*",),
        ("lab@*.service",),
    )
    assert first.is_users_own
    assert second.command == r"--keep\b"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[cleanup]\nconfirm = "never"', 2, 'must be "alive" or "always"'),
        ("[cleanup]\nprotects = 1", 2, "unknown key"),
        ("cleanup = 3", 1, "must be a table"),
        ("[cleanup]\nprotect = 3", 2, "must be tables"),
        ('[[cleanup.protect]]\nprocess = "a"', 1, "must be a text that a run can name"),
        ('[[cleanup.protect]]\nname = "a"', 1, "protects nobody"),
        ('[[cleanup.protect]]\nname = "a"\nprocess = 3', 3, "must be a glob"),
        ('[[cleanup.protect]]\nname = "a"\ncommand = "("', 3, "must be a regular expression"),
        ('[[cleanup.protect]]\nname = "a"\nproces = "x"', 3, "unknown key"),
        ('[[cleanup.protect]]\nname = "system"\nuser = "x"', 2, "built-in"),
    ],
)
def test_a_mistake_is_named(text: str, line: int, words: str) -> None:
    layer, problems = parse_document(text, "config.toml", Origin.USER)
    assert any(words in problem.message for problem in problems), problems
    assert line in {problem.line for problem in problems}
    assert layer.protect == ()


def test_both_files_protect_and_the_site_bounds_how_much_is_asked(tmp_path: Path) -> None:
    site, user = tmp_path / "site.toml", tmp_path / "user.toml"
    site.write_text(
        '[cleanup]\nconfirm = "always"\n[[cleanup.protect]]\nname = "a"\nprocess = "a"\n'
    )
    user.write_text(
        '[cleanup]\nconfirm = "alive"\n[[cleanup.protect]]\nname = "b"\nprocess = "b"\n'
    )
    env = {"GPUDASH_CONFIG": str(user)}
    config = load(env, site_file=str(site), site_owner=site.stat().st_uid)
    assert [rule.name for rule in config.protect] == ["a", "b"]
    assert config.cleanup("confirm").value == "always"


@pytest.mark.parametrize(
    ("entry", "is_kept"),
    [
        ('process = "train*"', True),
        ('process = "rain*"', False),
        ('user = "ana"', True),
        ('user = "1000"', True),
        ('user = "100"', False),
        ('command = "--keep"', True),
        ('exe = "*/python*"', True),
        ('cgroup = "/nowhere/*"', False),
    ],
)
def test_whom_an_entry_recognises(entry: str, is_kept: bool) -> None:
    text = f'[[cleanup.protect]]\nname = "mine"\n{entry}\n'
    layer, problems = parse_document(text, "config.toml", Origin.USER)
    assert problems == ()
    box = Box()
    box.add(300, "train.py", "--keep", user="ana", exe_path="/usr/bin/python3.11")
    rule = protecting_rule(box.processes[300], layer.protect, frozenset())
    assert (rule is not None and rule.name == "mine") is is_kept
    assert protecting_rule(box.processes[300], layer.protect, frozenset({"mine"})) is None
