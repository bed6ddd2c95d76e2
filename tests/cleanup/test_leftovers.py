"""What ended families leave behind, and who of them has no GPU at all (F…)."""

from __future__ import annotations

import mmap
import os
import socket
from pathlib import Path

from tests.cleanup.acting import Actor
from tests.cleanup.scene import Scene
from tests.isolation.room import in_a_room
from tests.isolation.stage import OTHER_UID, Stage

_kept: list[mmap.mmap] = []


def map_file(path: Path) -> None:
    """Map a file of shared memory and close it."""
    handle = os.open(path, os.O_RDWR)
    _kept.append(mmap.mmap(handle, 4096))
    os.close(handle)


@in_a_room
def test_f01_shared_memory_of_the_dead(stage: Stage) -> None:
    """Reported; removed on request and only where nobody maps it, nobody else's, none by name."""
    scene = Scene(stage)
    shm = stage.mount_shm()
    names = ("psm_mine", "psm_shared", "psm_strangers", "nccl-abcdef")
    mine, shared, strangers, unrelated = files = [shm / name for name in names]
    for file in files:
        file.write_bytes(b"x" * 4096)
    os.chown(strangers, OTHER_UID, OTHER_UID)

    def holds(actor: Actor) -> None:
        map_file(mine)
        map_file(shared)
        (shm / f"sgl_shm_pool_{actor.pid}_ab12").write_bytes(b"x" * 4096)
        actor.hold(0)
        actor.rest()

    def keeps(actor: Actor) -> None:
        map_file(shared)
        actor.rest()

    holder, keeper = scene.actor(holds, group=True), scene.actor(keeps, group=True)
    stamped = shm / f"sgl_shm_pool_{holder}_ab12"
    reused = shm / f"sgl_shm_pool_{keeper}_cd34"
    reused.write_bytes(b"x" * 4096)
    done = scene.clean("--shm")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    rows = {row["name"]: row for row in done.host["leftovers"]["segments"]}
    assert {name: row["removed"] for name, row in rows.items()} == {
        mine.name: True,
        shared.name: False,
        stamped.name: True,
    }
    assert rows[shared.name]["users"] == [keeper]
    assert not mine.exists()
    assert not stamped.exists()
    assert all(file.exists() for file in (shared, strangers, unrelated, reused))
    assert scene.lives(keeper)


@in_a_room
def test_f01_without_a_word_nothing_is_removed(stage: Stage) -> None:
    scene = Scene(stage)
    file = stage.mount_shm() / "psm_mine"
    file.write_bytes(b"x" * 4096)

    def holds(actor: Actor) -> None:
        map_file(file)
        actor.hold(0)
        actor.rest()

    scene.actor(holds, group=True)
    done = scene.clean()
    (row,) = done.host["leftovers"]["segments"]
    assert (done.code, row["name"], row["removed"]) == (0, "psm_mine", False), done.text
    assert file.exists()


@in_a_room
def test_f02_a_port_that_a_child_inherited(stage: Stage) -> None:
    """Who has no GPU and is out of the family keeps the port: named, and not ended."""
    scene = Scene(stage)

    def child(actor: Actor) -> None:
        actor.title("python", "-c", "from helper import main")
        actor.rest()

    def between(actor: Actor) -> None:
        actor.fork(child, "child", session=True)

    def server(actor: Actor) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        (actor.folder / "port").write_text(str(listener.getsockname()[1]))
        actor.fork(between)
        actor.wait()
        actor.hold(0)
        actor.rest()

    root = scene.actor(server, group=True)
    port = int((stage.folder / "port").read_text())
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.planned[root]["ports"] == [port]
    assert done.host["leftovers"]["ports"] == [{"port": port, "listening": 1, "ended": 0}]
    assert scene.of(root) == ["TERM", "exit -15"]
    assert scene.lives(scene.pid("child"))


@in_a_room
def test_f02_a_port_of_a_member_is_free_with_the_family(stage: Stage) -> None:
    scene = Scene(stage)

    def child(actor: Actor) -> None:
        actor.rest()

    def server(actor: Actor) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        (actor.folder / "port").write_text(str(listener.getsockname()[1]))
        actor.fork(child, "child")
        actor.hold(0)
        actor.rest()

    scene.actor(server, group=True)
    port = int((stage.folder / "port").read_text())
    done = scene.clean()
    assert done.code == 0, done.text
    assert scene.died(scene.pid("child"))
    with socket.create_server(("127.0.0.1", port)):
        pass


@in_a_room
def test_f03_a_port_that_waits(stage: Stage) -> None:
    """The server closed first: the kernel keeps the connection for a minute, which is told."""
    scene = Scene(stage)

    def server(actor: Actor) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        (actor.folder / "port").write_text(str(listener.getsockname()[1]))
        actor.hold(0)
        actor.up()
        connection, _ = listener.accept()
        connection.close()
        actor.log("closed")
        actor.rest()

    root = scene.actor(server, group=True)
    port = int((stage.folder / "port").read_text())
    with socket.create_connection(("127.0.0.1", port)) as client:
        scene.until(lambda: scene.heard(root, "closed"))
        assert client.recv(1) == b""
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    (row,) = done.host["leftovers"]["ports"]
    assert (row["port"], row["listening"]) == (port, 0)
    assert row["ended"] >= 1


@in_a_room
def test_f04_members_without_a_gpu(stage: Stage) -> None:
    """Who belongs to the family ends with it, shown with no GPU; who does not, stays."""
    scene = Scene(stage)
    titles = (
        ("sglang::detokenizer",),
        ("sglang::tokenizer_worker:7",),
        ("python", "-c", "from multiprocessing.resource_tracker import main;main(5)"),
    )

    def helper(actor: Actor, *words: str) -> None:
        actor.title(*words)
        actor.rest()

    def scheduler(actor: Actor) -> None:
        actor.title("sglang::scheduler_TP0")
        actor.hold(0)
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("python", "-m", "sglang.launch_server")
        for words in titles:
            actor.fork(lambda actor, words=words: helper(actor, *words), "helper")
        actor.fork(scheduler, "scheduler")
        actor.rest()

    root = scene.actor(server, group=True)
    other = scene.actor(lambda actor: helper(actor, *titles[2]), group=True)
    done = scene.clean("--grace", "5s")
    helpers = scene.pids("helper")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    members = {one["pid"]: one["gpu_count"] for one in done.planned[root]["members"]}
    assert members == {root: 0, scene.pid("scheduler"): 1, **dict.fromkeys(helpers, 0)}
    assert scene.died(root, *helpers)
    assert all(scene.of(pid) == ["TERM", "exit -15"] for pid in helpers)
    assert scene.lives(other)
