"""Who shares a segment is known by device and inode, and whose it is by when it was made."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpudash.probe import leavings, sharing
from gpudash.probe.leavings import Born, files, tables
from gpudash.probe.line import now
from gpudash.probe.sharing import Users

TICKS = os.sysconf("SC_CLK_TCK")
HOLDS = "import sys\nkept=open(sys.argv[1])\nprint('up',flush=True)\nsys.stdin.read()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let another folder be /dev/shm: its path says nothing of shared memory."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    for module in (sharing, leavings):
        monkeypatch.setattr(module, "FOLDER", str(place))
    return place


def users(*pids: int) -> Users:
    return Users({}, list(pids))


def test_who_has_it_open_by_any_path_has_it_open(folder: Path) -> None:
    """Its path need not say shm: a container mounts it where it likes."""
    file = folder / "psm_one"
    file.write_bytes(b"x")
    link = folder.parent / "another"
    os.link(file, link)
    with subprocess.Popen(
        [sys.executable, "-ISc", HOLDS, str(link)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert users(process.pid).of == {file.stat().st_ino: [process.pid]}
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize(
    ("link", "told", "is_user", "unread"),
    [
        ("/elsewhere/psm_one", {"mnt_id": 7, "ino": 3}, True, 0),
        ("/elsewhere/psm_one", {"mnt_id": 8, "ino": 3}, False, 0),
        ("/elsewhere/psm_one", {"mnt_id": 7, "ino": 4}, False, 0),
        # A mount that nobody sees any more: its inode alone forbids it.
        ("/elsewhere/psm_one", {"mnt_id": 9, "ino": 3}, True, 0),
        ("/elsewhere/psm_one", {"mnt_id": 9}, False, 1),
        ("/dev/null", {"mnt_id": 9, "ino": 3}, False, 0),
        ("/dev/shm/psm_one", {"mnt_id": 9, "ino": 3}, True, 0),
        ("/memfd:psm_one (deleted)", {"mnt_id": 9, "ino": 3}, False, 0),
        ("socket:[3]", {"mnt_id": 9, "ino": 3}, False, 0),
    ],
)
def test_a_descriptor_is_judged_by_mount_and_inode(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    link: str,
    told: dict[str, int],
    is_user: bool,
    unread: int,
) -> None:
    found = users()
    found._device, found._mounts, found._inodes = 70, {7: 70, 8: 80}, {3}
    before = found.unread
    text = "".join(f"{name}:\t{value}\n" for name, value in told.items())
    monkeypatch.setattr(os, "readlink", lambda _path: link)
    monkeypatch.setattr(sharing, "_whole", lambda _path, _most: text.encode())
    found._descriptor(4711, "/proc/4711", "5")
    assert found.of == ({3: [4711]} if is_user else {})
    assert found.unread - before == unread


def born(pid: int, ago_s: float) -> Born:
    return Born([pid], [int((now() - ago_s) * TICKS)])


@pytest.mark.parametrize(("ago_s", "is_theirs"), [(60.0, True), (0.0, False)])
def test_a_name_is_of_a_process_only_if_it_is_not_older(
    folder: Path, ago_s: float, is_theirs: bool
) -> None:
    """A pid was another's before: what that one left is none of this one's."""
    (folder / "sgl_shm_4711_x").write_bytes(b"x")
    at = time.time() - 30.0
    while_made = Born([4711], [int((now() - ago_s) * TICKS)])
    changed = (folder / "sgl_shm_4711_x").stat().st_ctime
    while_made._booted += (changed - at) if not is_theirs else 0.0
    rows = files(users(), {4711}, set(), while_made, False)
    assert [row["name"] for row in rows] == (["sgl_shm_4711_x"] if is_theirs else [])


def test_a_name_without_a_birth_is_nobodys(folder: Path) -> None:
    (folder / "sgl_shm_4711_x").write_bytes(b"x")
    assert files(users(), {4711}, set(), Born([4711], []), False) == []
    assert files(users(), {4711}, set(), born(4712, 60.0), False) == []


def test_what_is_mapped_is_theirs_only_while_they_live(folder: Path) -> None:
    """Afterwards a pid may be another's."""
    file = folder / "psm_one"
    file.write_bytes(b"x")
    found = users()
    found.of = {file.stat().st_ino: [4711]}
    assert [row["name"] for row in files(found, {4711}, set(), born(4711, 9.0), True)]
    assert files(found, {4711}, set(), born(4711, 9.0), False) == []
    known = {file.stat().st_ino}
    (row,) = files(found, {4711}, known, born(4711, 9.0), False)
    assert row["users"] == [4711]


@pytest.mark.parametrize(("ago_s", "count"), [(30.0, 1), (10.0, 0)])
def test_a_maker_is_of_the_same_pid_and_not_before_it(
    monkeypatch: pytest.MonkeyPatch, ago_s: float, count: int
) -> None:
    made = int(time.time() - 20.0)
    table = f"head\n 1 5 1600 4096 4711 4711 0 0 0 0 0 0 0 {made} 0 0\n"
    monkeypatch.setattr(leavings, "read_file", lambda _path, _most: table.encode())
    assert len(tables(born(4711, ago_s))) == count
    assert len(tables(None, {5})) == 1


def test_a_file_with_another_name_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / "psm_one"
    file.write_bytes(b"x")
    row: dict[str, Any] = {
        "kind": "file",
        "name": file.name,
        "id": file.stat().st_ino,
        "uid": os.getuid(),
    }

    class Nobody:
        unread = 0

        def __init__(self, _options: object) -> None:
            self.of: dict[int, list[int]] = {}

    monkeypatch.setattr(leavings, "Users", Nobody)
    os.link(file, folder.parent / "another")
    assert leavings.remove(row, {}, {os.getuid()}, Born([], [])) == "it has another name"
    assert file.exists()
    (folder.parent / "another").unlink()
    assert leavings.remove(row, {}, {os.getuid()}, Born([], [])) == ""
    assert not file.exists()
