"""Rooms keep their promises: alone inside, nothing left outside, and no silent skip."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.isolation import room
from tests.isolation.room import in_a_room, play
from tests.isolation.stage import Stage


@in_a_room
def test_a_scene_sees_itself_alone(stage: Stage) -> None:
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    assert pids == [1, os.getpid()]
    assert os.stat("/proc/self/ns/pid").st_ino != 4026531836
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


@in_a_room
def test_loopback_is_up(stage: Stage) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        pass


@in_a_room
def scene_that_fails(stage: Stage) -> None:
    raise AssertionError("as it should")


@in_a_room
def scene_that_leaves_a_process(stage: Stage) -> None:
    lock = os.open(stage.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    waits = "import sys; sys.stdin.read()"
    read, write = os.pipe()
    subprocess.Popen([sys.executable, "-c", waits], stdin=read, pass_fds=(lock, write))


def test_a_scene_that_fails_fails_its_test(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="as it should"):
        play(__name__, "scene_that_fails", tmp_path)


def test_nothing_is_left_of_a_room(tmp_path: Path) -> None:
    play(__name__, "scene_that_leaves_a_process", tmp_path)
    with open(tmp_path / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_no_room_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room.shutil, "which", lambda name: None)
    with pytest.raises(AssertionError, match="unshare"):
        play(__name__, "scene_that_fails", tmp_path)
