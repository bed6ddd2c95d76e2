"""What differs between two configurations, and what of it counts at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudash.config.changes import changes
from tests.config.making import configuration

USER = """\
theme = "gpudash-light"
interval = "2s"
keymap = "vim"
[keys]
"view.theme" = "T"
[groups]
lab = ["gpu-a"]
[hosts."gpu-*"]
user = "root"
[cleanup]
confirm = "always"
[alerts]
memory = 95
bell = false
[[cleanup.protect]]
name = "lab-server"
process = "labd"
"""


def test_every_key_that_changed_is_told(tmp_path: Path) -> None:
    before = configuration(tmp_path)
    after = configuration(tmp_path, user=USER)
    assert [(one.words, one.is_live) for one in changes(before, after)] == [
        ('interval = "2s"', False),
        ('theme = "gpudash-light"', True),
        ('keymap = "vim"', True),
        ('cleanup.confirm = "always"', True),
        ("alerts.memory = 95", True),
        ("alerts.bell = false", True),
        ('keys.view.theme = "T"', True),
        (
            'cleanup.protect.lab-server = "labd: protected by the configuration"',
            False,
        ),
        ('groups.lab = ["gpu-a"]', False),
        ('hosts.gpu-*.user = "root"', False),
    ]
    back = [one.words for one in changes(after, before)]
    assert back[0] == 'interval = "1s"'
    assert back[-1] == "hosts.gpu-*.user is unset"
    assert changes(after, after) == ()


@pytest.mark.parametrize(("text", "is_live"), [("readonly = true", True)])
def test_forbidding_counts_at_once_and_allowing_does_not(
    tmp_path: Path, text: str, is_live: bool
) -> None:
    free = configuration(tmp_path)
    locked = configuration(tmp_path, user=text)
    assert [one.is_live for one in changes(free, locked)] == [True]
    assert [one.is_live for one in changes(locked, free)] == [False]


def test_what_the_environment_speaks_over_does_not_change(tmp_path: Path) -> None:
    before = configuration(tmp_path, GPUDASH_THEME="mine")
    after = configuration(tmp_path, user='theme = "gpudash-light"', GPUDASH_THEME="mine")
    assert changes(before, after) == ()
