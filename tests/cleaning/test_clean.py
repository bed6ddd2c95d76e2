"""`gpudash clean` in rooms: every scene has bystanders, and looks who lives and who died."""

from __future__ import annotations

import json

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


HOST_KEYS = {
    *("host", "exit_code", "outcome", "says", "simulated", "refused", "ordered", "plan", "chosen"),
    *("gpus", "families", "targets", "confirmed_at", "times", "picked_up", "leftovers", "hold"),
    "proof",
}


@in_a_room
def test_the_record_tells_all_of_it(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0, ignore_term=True)
    done = clean(stage, "--yes", "--grace", "300ms", "--hold", "500ms")
    assert done.code == 0, done.text
    assert set(done.host) == HOST_KEYS
    assert done.document["schema"] == "gpudash.clean/1"
    assert set(done.document) == {
        *("schema", "simulated", "dry_run", "exit_code", "record", "hosts"),
    }
    times = done.host["times"]
    assert times["first_signal_s"] <= times["first_zero_s"] <= times["proven_s"]
    kinds = [line["kind"] for line in scene.lines()]
    wanted = [
        *("begin", "plan", "order", "begun", "signal", "signal", "exit", "done", "fetched"),
        *("rescan", "prove", "hold", "proof", "leftovers", "outcome", "end"),
    ]
    assert [kind for kind in kinds if kind in wanted] == wanted
    (order,) = scene.lines("order")
    assert [target["pid"] for target in order["targets"]] == [holder]
    for wanted_format in ("text", "markdown"):
        told = stage.gpudash("explain", "--format", wanted_format).stdout.decode()
        for words in (f"pid {holder} asked to end", f"pid {holder} forced", "zero must hold"):
            assert words in told
        assert done.document["record"] in told


@in_a_room
def test_every_format_says_the_same(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    told = {
        wanted: stage.gpudash("clean", "--dry-run", "--format", wanted).stdout.decode()
        for wanted in ("table", "csv", "jsonl", "sh")
    }
    assert f"pid {holder}" in told["table"]
    assert "there is no undo" in told["table"]
    assert told["csv"].splitlines()[0] == "host,index,uuid,outcome,reason,exit_code"
    assert "HELD" in told["csv"].splitlines()[1]
    assert '"outcome":"HELD"' in told["jsonl"]
    assert f"tell TERM {holder} " in told["sh"]
    assert stage.gpudash("clean", "--format", "sh").returncode == 2
    assert stage.gpudash("clean", "--dry-run", "--yes").returncode == 2
    assert stage.gpudash("clean", "--yes", "--gpu", "7").returncode == 2
    assert scene.is_alive(holder)


@in_a_room
def test_who_breaks_the_hold_is_named(stage: Stage) -> None:
    """The driver lists a pid some time after its memory: its name is waited for, as by a wait."""
    scene = Scene(stage)
    scene.holder(0)
    process = scene.begin("--yes", "--hold", "30s", "--timeout", "90s")
    scene.wait_for_line("hold", '"readings"')
    new = scene.holder(1)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 1, err.decode()
    kinds = [line["kind"] for line in scene.lines()]
    assert kinds.index("break") < kinds.index("named")
    (named,) = scene.lines("named")
    assert f"pid {new}" in named["says"]
    host = json.loads(out)["hosts"][0]
    assert host["proof"]["state"] == "BROKEN"
    assert f"pid {new}" in host["says"]
