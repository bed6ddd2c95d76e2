"""What stands before a launch: in one order, and nothing is touched where the first one fails."""

from __future__ import annotations

import socket

from tests.cleaning.scenes import Scene
from tests.cli.running import is_running
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage
from tests.launching.playing import PORT, Show, end_server

FAST = ("--hold", "250ms", "--wait", "60s")


@in_a_room
def test_clean_then_zero_then_ready(stage: Stage) -> None:
    show, scene = Show(stage), Scene(stage)
    holder, bystander = scene.holder(0), scene.bystander()
    done = show.run(show.play(), "--clean", "--yes", "--zero", *FAST)
    assert done.code == 0, done.err
    assert not is_running(holder)
    assert is_running(bystander)
    assert "2 GPUs at 0 MiB" in done.document["cleaned"]
    kinds = show.kinds()
    gates = [kind for kind in kinds if kind in ("preflight", "order", "proof", "launch", "ready")]
    assert gates == ["preflight", "order", "proof", "preflight", "launch", "ready"]
    end_server(done.document["pid"])


@in_a_room
def test_zero_is_waited_for_and_proven(stage: Stage) -> None:
    show = Show(stage)
    done = show.run(show.play(), "--zero", *FAST)
    assert done.code == 0, done.err
    gates = [kind for kind in show.kinds() if kind in ("preflight", "proof", "launch")]
    assert gates == ["preflight", "proof", "preflight", "launch"]
    end_server(done.document["pid"])


@in_a_room
def test_n_gpus_are_claimed_and_shown_to_the_command(stage: Stage) -> None:
    show = Show(stage)
    stage.holder(0)
    words = ["run", "--format", "json", "--gpus", "1", *FAST, "--", "sh", "-c"]
    script = 'echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES"; exit 3'
    done = show.ran(stage.gpudash(*words, script))
    assert done.code == 7, done.err
    with open(done.document["log"]) as log:
        assert log.read() == "PCI_BUS_ID 1\n"
    assert done.err.splitlines()[-1] == "gpudash: CMD exited 3"


@in_a_room
def test_a_taken_port_touches_nothing(stage: Stage) -> None:
    show, scene = Show(stage), Scene(stage)
    holder = scene.holder(0)
    with socket.create_server(("127.0.0.1", PORT)):
        done = show.run(show.play(), "--zero", *FAST)
        assert done.code == 2
        assert f"port {PORT} is taken by pid " in done.document["outcome"]
        model = ("--model-path", "/no/such/model")
        done = show.run(show.play(), "--clean", "--yes", "--zero", *FAST, args=model)
    assert done.code == 2
    assert "/no/such/model is not there" in done.document["outcome"]
    assert is_running(holder)
    assert scene.signals() == []
    assert "launch" not in show.kinds()
    assert done.document["pid"] is None


@in_a_room
def test_a_port_that_is_taken_after_cleaning_says_what_was_cleaned(stage: Stage) -> None:
    show, scene = Show(stage), Scene(stage)
    holder = scene.holder(0)
    with socket.create_server(("127.0.0.1", PORT)):
        done = show.run(show.play(), "--clean", "--yes", *FAST)
    assert done.code == 2
    assert not is_running(holder)
    assert f"port {PORT} is taken by pid " in done.document["outcome"]
    assert "before: 2 GPUs at 0 MiB" in done.document["outcome"]
    assert show.kinds()[-1] == "end"
    assert show.records()[-1][-1]["cleaned"]


@in_a_room
def test_a_plan_that_nobody_agrees_to_touches_nothing(stage: Stage) -> None:
    show, scene = Show(stage), Scene(stage)
    holder = scene.holder(0)
    done = show.run(show.play(), "--clean", *FAST)
    assert done.code == 2
    assert is_running(holder)
    assert scene.signals() == []
    assert "launch" not in show.kinds()


@in_a_room
def test_more_gpus_than_there_are(stage: Stage) -> None:
    show = Show(stage)
    done = show.run(show.play(), args=("--tp", "4"))
    assert done.code == 2
    assert "4 GPUs are wanted and 2 are there (sglang: --tp)" in done.document["outcome"]
    stage.holder(0)
    done = show.run(show.play())
    assert done.code == 2
    assert "2 GPUs are wanted and 1 is at zero of 2" in done.document["outcome"]


@in_a_room
def test_the_scope_is_what_the_environment_leaves(stage: Stage) -> None:
    show = Show(stage)
    stage.holder(0)
    stage.variables["CUDA_VISIBLE_DEVICES"] = "1"
    words = ["run", "--format", "json", "--zero", *FAST, "--", "sh", "-c"]
    done = show.ran(stage.gpudash(*words, 'echo "$CUDA_VISIBLE_DEVICES"; exit 1'))
    assert "scope: GPU 1, by CUDA_VISIBLE_DEVICES in the environment" in done.err
    assert done.code == 7
    with open(done.document["log"]) as log:
        assert log.read() == "1\n"


CONFIG = """
[preflight.weights]
path = "draft"

[preflight.link]
command = ["sh", "-c", "echo no link; exit 3"]
"""


@in_a_room
def test_checks_of_the_configuration_by_name(stage: Stage) -> None:
    show = Show(stage)
    config = stage.folder / "config.toml"
    config.write_text(CONFIG)
    stage.variables["GPUDASH_CONFIG"] = str(config)
    words = ["run", "--format", "json", "--cwd", str(stage.folder), "--preflight", "weights"]
    command = ["--", "sh", "-c", "exit 3"]
    done = show.ran(stage.gpudash(*words, "--preflight", "link", *command))
    assert done.code == 2
    assert f"{stage.folder / 'draft'} is not there ({config}:2)" in done.document["outcome"]
    assert f"sh ended with 3: no link ({config}:5)" in done.document["outcome"]
    (stage.folder / "draft").mkdir()
    done = show.ran(stage.gpudash(*words, *command))
    assert done.code == 7
    wrong = stage.gpudash(*words, "--preflight", "links", *command)
    assert wrong.returncode == 2
    assert b"Did you mean link?" in wrong.stderr
