"""`gpudash clean` in rooms: every scene has bystanders, and looks who lives and who died."""

from __future__ import annotations

from tests.cleaning.scenes import Scene, clean
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage


@in_a_room
def test_a_cooperative_holder_goes_and_zero_is_proven(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0), scene.bystander()
    done = clean(stage, "--yes")
    assert done.code == 0, done.text
    assert done.gpu_outcomes == ["CLEANED", "CLEANED"]
    assert not scene.is_alive(holder)
    assert scene.is_alive(bystander)
    assert done.fates == {holder: "ended"}
    assert done.host["hold"]["why"]
    assert done.host["proof"]["state"] == "PROVEN"


@in_a_room
def test_one_that_ignores_sigterm_is_forced(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0, ignore_term=True), scene.bystander()
    done = clean(stage, "--yes", "--grace", "300ms")
    assert done.code == 0, done.text
    assert not scene.is_alive(holder)
    assert scene.is_alive(bystander)
    assert scene.signals() == [(holder, "TERM"), (holder, "KILL")]


@in_a_room
def test_force_asks_nobody(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    done = clean(stage, "--yes", "--force")
    assert done.code == 0, done.text
    assert scene.signals() == [(holder, "KILL")]


@in_a_room
def test_a_dry_run_signals_nobody_and_says_how_it_is(stage: Stage) -> None:
    scene = Scene(stage)
    assert clean(stage, "--dry-run").code == 0
    holder = scene.holder(0)
    done = clean(stage, "--dry-run")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"])
    assert done.host["chosen"] == [holder]
    assert done.host["ordered"] is False
    assert clean(stage, "--dry-run", "--gpu", "1").code == 0
    assert scene.is_alive(holder)
    assert scene.signals() == []


@in_a_room
def test_without_a_terminal_yes_is_needed(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    done = stage.gpudash("clean")
    assert done.returncode == 2
    assert f"pid {holder}".encode() in done.stderr
    assert b"--yes" in done.stderr
    assert scene.is_alive(holder)
    assert scene.signals() == []


@in_a_room
def test_a_host_that_reads_zero_is_proven_without_a_word(stage: Stage) -> None:
    done = clean(stage, "--hold", "500ms")
    assert done.code == 0, done.text
    assert done.host["proof"]["state"] == "PROVEN"
    assert done.host["ordered"] is False
