"""Aliases of ~/.ssh/config: names only, through Include, within limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.config.ssh_aliases import _split, ssh_aliases


@pytest.fixture
def ssh_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".ssh"
    folder.mkdir()
    return folder


def test_aliases(ssh_folder: Path) -> None:
    (ssh_folder / "config").write_text(
        "# Host commented\n"
        'Host gpu-a "gpu b" gpu-c # gpu-d\n'
        "  HostName 192.0.2.7\n"
        "  User root\n"
        "host=equals\n"
        "HOST\ttabs gpu-a\n"
        "Host *.example.com !never n? *\n"
        "Host 'unclosed\n"
        "Host evil;rm $(x) root@at a:22\n"
        "Host\n"
        "Match host other\n"
        "Include more/*.conf ~/elsewhere missing\n"
        "Host last\n"
    )
    (ssh_folder / "more").mkdir()
    (ssh_folder / "more" / "b.conf").write_text("Host b\n")
    (ssh_folder / "more" / "a.conf").write_text("Host a\nInclude nothing*\n")
    (ssh_folder.parent / "elsewhere").write_text("Host else\n")
    assert ssh_aliases() == ("gpu-a", "gpu-c", "equals", "tabs", "a", "b", "else", "last")


def test_no_file_and_no_text(ssh_folder: Path) -> None:
    assert ssh_aliases() == ()
    (ssh_folder / "config").mkdir()
    assert ssh_aliases() == ()
    assert ssh_aliases("\0") == ()


def test_includes_end(ssh_folder: Path) -> None:
    (ssh_folder / "config").write_text("Host one\nInclude config config config\n")
    assert ssh_aliases() == ("one",)


def test_bytes_that_are_no_text(ssh_folder: Path) -> None:
    (ssh_folder / "config").write_bytes(b"\xff\xfe Host a\nHost b\xff c\n")
    assert ssh_aliases() == ("c",)


@given(st.text(max_size=60))
def test_no_line_crashes(line: str) -> None:
    keyword, words = _split(line)
    assert keyword == keyword.lower()
    assert all(isinstance(word, str) for word in words)
