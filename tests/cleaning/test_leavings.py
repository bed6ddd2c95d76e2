"""What is left behind: shared memory and ports, reported, and removed only where nobody has it."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from pathlib import Path

from tests.cleaning.scenes import Scene, clean
from tests.isolation.room import in_a_room
from tests.isolation.stage import OTHER_UID, Stage

_MAPS = """
import mmap, os, sys
for path in sys.argv[1:]:
    handle = os.open(path, os.O_RDWR)
    keep = globals().setdefault("maps", [])
    keep.append(mmap.mmap(handle, 4096))
    os.close(handle)
print(flush=True)
sys.stdin.read()
"""


def segment(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(b"x" * 4096)
    return path


def with_segments(scene: Scene, *paths: Path) -> int:
    """Start a holder on GPU 0 that has these mapped and not open."""
    return scene.holder(0, maps=tuple(map(str, paths)))


@in_a_room
def test_segments_are_reported_and_left(stage: Stage) -> None:
    scene = Scene(stage)
    shm = stage.mount_shm()
    mine, other = segment(shm, "psm_one"), segment(shm, "psm_other")
    with_segments(scene, mine)
    done = clean(stage, "--yes", "--hold", "500ms")
    assert done.code == 0, done.text
    (left,) = done.host["leftovers"]["segments"]
    assert (left["name"], left["removed"], left["users"]) == ("psm_one", False, [])
    assert mine.exists()
    assert other.exists()


@in_a_room
def test_shm_removes_only_what_nobody_has(stage: Stage) -> None:
    scene = Scene(stage)
    shm = stage.mount_shm()
    lone, shared, opened, stranger = (
        segment(shm, name) for name in ("psm_lone", "psm_shared", "psm_opened", "psm_stranger")
    )
    with_segments(scene, lone, shared, opened)
    keeper, _ = stage.start([sys.executable, "-c", _MAPS, str(shared)])
    with opened.open("rb"):
        done = clean(stage, "--yes", "--hold", "500ms", "--shm")
    assert done.code == 0, done.text
    rows = {row["name"]: row for row in done.host["leftovers"]["segments"]}
    assert {name: row["removed"] for name, row in rows.items()} == {
        "psm_lone": True,
        "psm_shared": False,
        "psm_opened": False,
    }
    assert rows["psm_shared"]["users"] == [keeper]
    assert not lone.exists()
    assert all(path.exists() for path in (shared, opened, stranger))


@in_a_room
def test_nothing_is_removed_where_somebody_can_not_be_looked_into(stage: Stage) -> None:
    scene = Scene(stage)
    shm = stage.mount_shm()
    shm.chmod(0o1777)
    lone = segment(shm, "psm_lone")
    os.chown(lone, OTHER_UID, OTHER_UID)
    scene.holder_of(OTHER_UID, 0, maps=(str(lone),))
    scene.bystander()
    done = clean(stage, "--yes", "--hold", "500ms", "--shm", uid=OTHER_UID)
    assert done.code == 0, done.text
    left = done.host["leftovers"]
    assert left["unread"] > 0
    assert [(row["name"], row["removed"]) for row in left["segments"]] == [("psm_lone", False)]
    assert "looked into" in left["segments"][0]["why_kept"]
    assert lone.exists()


@in_a_room
def test_system_v_segments_go_by_who_made_them(stage: Stage) -> None:
    scene = Scene(stage)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.shmget(0x77, 4096, 0o1600) >= 0
    holder, line = stage.start([*scene.holder_argv(0, sysv=0x99)])
    assert line.split()[1] == str(holder)
    done = clean(stage, "--yes", "--hold", "500ms", "--shm")
    assert done.code == 0, done.text
    (row,) = done.host["leftovers"]["segments"]
    assert (row["kind"], row["removed"]) == ("sysv", True)
    assert libc.shmget(0x99, 0, 0) == -1
    assert libc.shmget(0x77, 0, 0) >= 0


@in_a_room
def test_a_port_that_somebody_else_has_is_named(stage: Stage) -> None:
    scene = Scene(stage)
    listens = socket.create_server(("127.0.0.1", 0))
    port = listens.getsockname()[1]
    argv = scene.holder_argv(0)
    stage.start(argv, pass_fds=(listens.fileno(),))
    done = clean(stage, "--yes", "--hold", "500ms")
    assert done.code == 0, done.text
    assert done.host["leftovers"]["ports"] == [{"port": port, "listening": 1, "ended": 0}]
