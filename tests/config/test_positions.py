"""The line of a key, whatever stands around it."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.config.positions import key_lines, line_of

TEXT = '''\
# interval = 9
interval = "1s"  # theme = 1
"the me" = """
a = 1
[not.a.table]
"""

[groups]
lab = [
  "a", # b = 2
  "n[1-2]",
]
other = ["[x]"]
[hosts."node[01-32]"]
sudo = 'see = #'
a.b = { c = "=", d = [1] }
  [ hosts . "x = y" ]
  port=1
'''


def test_lines() -> None:
    tomllib.loads(TEXT)
    assert key_lines(TEXT) == {
        ("interval",): 2,
        ("the me",): 3,
        ("groups",): 8,
        ("groups", "lab"): 9,
        ("groups", "other"): 13,
        ("hosts", "node[01-32]"): 14,
        ("hosts", "node[01-32]", "sudo"): 15,
        ("hosts", "node[01-32]", "a", "b"): 16,
        ("hosts", "x = y"): 17,
        ("hosts", "x = y", "port"): 18,
    }
    assert key_lines(TEXT.replace("\n", "\r\n")) == key_lines(TEXT)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("hosts", "node[01-32]", "a", "b", "c"), 16),
        (("hosts", "node[01-32]", "nothing"), 14),
        (("hosts",), 14),
        (("nowhere",), 1),
    ],
)
def test_what_has_no_line_of_its_own(path: tuple[str, ...], line: int) -> None:
    assert line_of(key_lines(TEXT), path) == line


def test_the_last_line_may_be_a_header_without_an_end() -> None:
    assert key_lines("a = 1\n[b]") == {("a",): 1, ("b",): 2}


@given(st.text(alphabet="ab=[]{}\"'#.\n\\ 1,", max_size=40))
def test_whatever_tomllib_reads_has_lines(text: str) -> None:
    try:
        table = tomllib.loads(text)
    except ValueError:
        return
    lines = key_lines(text)
    for name in table:
        assert any(path[:1] == (name,) for path in lines)
