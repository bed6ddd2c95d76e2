"""Whom `clean` ends and whom it leaves: leftovers, others, the protected, who comes back."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tests.cleaning.scenes import Scene, clean
from tests.cli.running import wait_for
from tests.isolation.room import in_a_room
from tests.isolation.stage import OTHER_UID, Stage


@in_a_room
def test_of_three_without_a_parent_only_the_leftover_goes(stage: Stage) -> None:
    scene = Scene(stage)
    nohup = scene.without_parent("nohup", 0)
    setsid = scene.without_parent("setsid", 0)
    orphan = scene.without_parent("orphan", 1, retitle="sglang::scheduler_TP1")
    bystander = scene.bystander()
    done = clean(stage, "--yes", "--leftovers")
    assert {pid: family["life"] for pid, family in done.planned.items()} == {
        nohup: "detached",
        setsid: "detached",
        orphan: "leftover",
    }
    assert done.code == 1, done.text
    assert done.gpu_outcomes == ["HELD", "CLEANED"]
    assert [scene.is_alive(pid) for pid in (nohup, setsid, orphan, bystander)] == [
        True,
        True,
        False,
        True,
    ]
    assert {pid for pid, _ in scene.signals()} == {orphan}


@in_a_room
def test_a_dead_pids_memory_comes_back_with_its_heir(stage: Stage) -> None:
    scene = Scene(stage)
    holder = stage.holder(0, inherit=True, new_session=True)
    bystander = scene.bystander()
    holder.kill()
    assert holder.child_pid is not None
    done = clean(stage, "--yes")
    assert done.code == 0, done.text
    assert done.fates == {holder.child_pid: "ended"}
    assert done.planned[holder.child_pid]["dead_pids"] == [holder.pid]
    assert scene.is_alive(bystander)


@in_a_room
def test_what_a_supervisor_starts_again_is_named_with_it(stage: Stage) -> None:
    scene = Scene(stage)
    argv = shlex.join(scene.holder_argv(0))
    loop, first = scene.shell(f"while :; do {argv}; done")
    done = clean(stage, "--yes", "--grace", "1s")
    assert done.code == 1, done.text
    assert done.gpu_outcomes == ["RESPAWNING", "CLEANED"], done.text
    assert f"pid {loop} (sh) starts it" in done.host["gpus"][0]["reason"]
    assert done.families[first]["outcome"] == "RESPAWNING"
    assert not scene.is_alive(first)
    assert scene.is_alive(loop), "who starts it is named, not chased"
    assert {pid for pid, _ in scene.signals()} == {first}


@in_a_room
def test_another_users_is_left_until_it_is_asked_for(stage: Stage) -> None:
    scene = Scene(stage)
    other = scene.holder_of(OTHER_UID, 0)
    done = clean(stage, "--yes")
    assert (done.code, done.gpu_outcomes) == (1, ["FOREIGN", "CLEANED"])
    assert scene.is_alive(other)
    assert clean(stage, "--yes", "--user", "nobody-of-that-name").code == 1
    assert scene.is_alive(other)
    named = clean(stage, "--yes", "--user", str(OTHER_UID))
    assert named.code == 0, named.text
    assert not scene.is_alive(other)


@in_a_room
def test_a_user_never_ends_anothers(stage: Stage) -> None:
    scene = Scene(stage)
    other, mine = scene.holder(0), scene.holder_of(OTHER_UID, 1)
    done = clean(stage, "--yes", "--all-users", "--grace", "300ms", uid=OTHER_UID)
    assert done.code == 1, done.text
    assert scene.is_alive(other)
    assert not scene.is_alive(mine)


@in_a_room
def test_the_protected_stay(stage: Stage) -> None:
    scene = Scene(stage)
    service = scene.holder(1, title="nv-hostengine")
    holder = scene.holder(0)
    done = clean(stage, "--yes")
    assert (done.code, done.gpu_outcomes) == (1, ["CLEANED", "PROTECTED"])
    assert scene.is_alive(service)
    assert not scene.is_alive(holder)
    assert stage.gpudash("clean", "--yes", "--pid", str(service)).returncode == 2
    assert scene.is_alive(service)


@in_a_room
def test_the_configuration_protects_more(stage: Stage) -> None:
    scene = Scene(stage)
    kept = scene.holder(0, title="labd")
    config = stage.folder / "config.toml"
    config.write_text('[[cleanup.protect]]\nname = "lab-server"\nprocess = "lab*"\n')
    stage.variables["GPUDASH_CONFIG"] = str(config)
    done = clean(stage, "--yes")
    assert (done.code, done.gpu_outcomes) == (1, ["PROTECTED", "CLEANED"])
    assert done.host["plan"]["kept"][0]["name"] == "lab-server"
    assert scene.is_alive(kept)
    allowed = clean(stage, "--yes", "--allow-protected", "lab-server")
    assert allowed.code == 0, allowed.text
    assert not scene.is_alive(kept)


@in_a_room
def test_a_read_only_host_is_looked_at_alone(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    stage.variables["GPUDASH_READONLY"] = "true"
    done = stage.gpudash("clean", "--yes")
    assert done.returncode == 2
    assert b"read-only" in done.stderr
    assert scene.is_alive(holder)
    assert clean(stage, "--dry-run").code == 1


@in_a_room
def test_a_pid_of_nobody_is_an_error(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0), scene.bystander()
    done = stage.gpudash("clean", "--yes", "--pid", str(bystander))
    assert done.returncode == 2
    assert f"--pid {bystander}".encode() in done.stderr
    assert scene.is_alive(holder)
    assert scene.is_alive(bystander)


@in_a_room
def test_pid_narrows(stage: Stage) -> None:
    scene = Scene(stage)
    one, other = scene.holder(0), scene.holder(1)
    done = clean(stage, "--yes", "--pid", str(one))
    assert (done.code, done.gpu_outcomes) == (1, ["CLEANED", "HELD"])
    assert (scene.is_alive(one), scene.is_alive(other)) == (False, True)


@in_a_room
def test_gpu_narrows_and_spares_who_works_elsewhere_too(stage: Stage) -> None:
    scene = Scene(stage)
    both, one = scene.holder(0, 1), scene.holder(1)
    done = clean(stage, "--yes", "--gpu", "1")
    assert done.code == 1, done.text
    assert [gpu["index"] for gpu in done.host["gpus"]] == [1]
    assert (scene.is_alive(both), scene.is_alive(one)) == (True, False)


@in_a_room
def test_the_script_does_by_hand_what_the_plan_says(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0, ignore_term=True), scene.bystander()
    done = stage.gpudash("clean", "--dry-run", "--format", "sh", "--grace", "1s")
    assert done.returncode == 1
    assert scene.is_alive(holder)
    script = Path(stage.folder / "plan.sh")
    script.write_bytes(done.stdout)
    subprocess.run(["/bin/sh", str(script)], check=False, timeout=60)
    wait_for(lambda: not scene.is_alive(holder))
    assert scene.is_alive(bystander)


@in_a_room
def test_a_server_goes_as_one_by_its_root(stage: Stage) -> None:
    """The root is asked and ends its workers: they get no signal of their own."""
    scene = Scene(stage)
    root, *workers = scene.server((0, "sglang::scheduler_TP0"), (1, "sglang::scheduler_TP1"))
    bystander = scene.bystander()
    done = clean(stage, "--yes")
    assert done.code == 0, done.text
    assert list(done.planned) == [root]
    assert set(done.planned[root]["pids"]) == {root, *workers}
    assert scene.signals() == [(root, "TERM")]
    assert not any(scene.is_alive(pid) for pid in (root, *workers))
    assert scene.is_alive(bystander)
