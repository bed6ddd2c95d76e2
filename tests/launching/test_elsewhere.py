"""Commands that return while what they started goes on: their log is named beside them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from tests.cli.running import is_running, wait_for
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage
from tests.launching.playing import SERVER, Ran, Show, end_server

DOCKER = SERVER.with_name("docker.py")


def with_docker(stage: Stage, show: Show, **play: object) -> Path:
    """Put a docker into PATH that starts our server; return the container's log."""
    tools = stage.folder / "tools"
    tools.mkdir()
    docker = tools / "docker"
    docker.write_text(f'#!/bin/sh\nexec {sys.executable} -ISB {DOCKER} "$@"\n')
    docker.chmod(0o755)
    log = stage.folder / "container.log"
    stage.variables |= {
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
        "DOCKER_LOG": str(log),
        "DOCKER_RUNS": json.dumps([sys.executable, str(SERVER)]),
        "PLAY": show.play(**play),
    }
    stage.at_end(lambda: end_container(log))
    return log


def end_container(log: Path) -> None:
    pid = int(Path(f"{log}.pid").read_text() if Path(f"{log}.pid").exists() else 0)
    if pid and is_running(pid):
        os.kill(pid, signal.SIGKILL)


def compose(show: Show, *flags: str) -> Ran:
    words = ["run", "--format", "json", *flags, "--", "docker", "compose", "up", "-d"]
    return show.ran(show.stage.gpudash(*words))


@in_a_room
def test_a_container_is_followed_to_ready(stage: Stage) -> None:
    show = Show(stage)
    log = with_docker(stage, show)
    done = compose(show, "--container", "server")
    assert done.code == 0, done.err
    assert done.document["ready"]
    assert done.document["command_code"] == 0
    assert done.err.splitlines()[-1] == "gpudash: CMD exited 0"
    assert Path(done.document["log"]).read_text() == "Container server  Started\n"
    end_server(int(Path(f"{log}.pid").read_text()))


@in_a_room
def test_a_container_that_fails_is_a_failure_though_its_starter_returned_0(stage: Stage) -> None:
    show = Show(stage)
    name = "sglang_0.5.9_tp8_oom_load_weights"
    with_docker(stage, show, log=name, end="hang")
    done = compose(show, "--container", "server")
    assert done.code == 7, done.err
    assert done.failure["message"] == show.expected(name)["failure"]["message"]


@in_a_room
def test_without_its_source_it_says_which(stage: Stage) -> None:
    show = Show(stage)
    with_docker(stage, show, until=3)
    done = compose(show)
    assert done.code == 2
    assert "name its log with --container NAME" in done.document["outcome"]


@in_a_room
def test_a_starter_that_fails_is_a_failure(stage: Stage) -> None:
    show = Show(stage)
    with_docker(stage, show)
    words = ["run", "--format", "json", "--container", "server", "--", "docker", "run", "x"]
    done = show.ran(stage.gpudash(*words))
    assert done.code == 7, done.err
    assert done.document["outcome"] == "the command ended with 1"


@in_a_room
def test_a_log_named_beside_it_is_followed_on(stage: Stage) -> None:
    """As `sbatch -o FILE` or a program in tmux writes it."""
    show = Show(stage)
    log = stage.folder / "job.log"
    pid_file = stage.folder / "pid"
    script = f'"$0" "$1" >> {log} 2>&1 & echo $! > {pid_file}'
    command = ["sh", "-c", script, sys.executable, str(SERVER)]
    flags = ["--format", "json", "--log", str(log), "--env", f"PLAY={show.play()}"]
    done = show.ran(stage.gpudash("run", *flags, "--", *command))
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == "gpudash: CMD exited 0"
    pid = int(pid_file.read_text())
    assert is_running(pid)
    end_server(pid)


@in_a_room
def test_what_an_earlier_run_left_in_the_log_does_not_count(stage: Stage) -> None:
    show = Show(stage)
    log = stage.folder / "server.log"
    name = "sglang_0.5.9_tp8_oom_load_weights"
    failed = show.run(show.play(name), "--log", str(log))
    assert failed.code == 7, failed.err
    before = log.read_bytes()
    done = show.run(show.play(), "--log", str(log))
    assert done.code == 0, done.err
    assert log.read_bytes().startswith(before)
    end_server(done.document["pid"])


@in_a_room
def test_in_the_foreground_its_output_is_ours(stage: Stage) -> None:
    show = Show(stage)
    script = "import os, sys; print('hi', os.isatty(1), flush=True); sys.exit(5)"
    done = stage.gpudash("run", "--foreground", "--", sys.executable, "-c", script)
    assert done.returncode == 7, done.stderr.decode()
    assert done.stdout == b"hi True\r\n"
    assert done.stderr.decode().splitlines()[-1] == "gpudash: CMD exited 5"
    process = stage.begin_gpudash(*show.words(show.play(), "--foreground"))
    wait_for(lambda: "ready" in show.kinds())
    pid = next(line["pid"] for line in show.records()[-1] if line["kind"] == "launched")
    end_server(pid)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert out.replace(b"\r\n", b"\n") == Path(json.loads(show.play())["log"]).read_bytes()
