"""A start-up on another host: its log over SSH, through cuts, from far behind, once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.running import Done, Runner
from tests.cli.test_follow_live import Running, add
from tests.ssh.sshd import Home, Sshd

Command = Callable[..., Done]
FOLDER = Path(__file__).parents[1] / "data" / "startup-logs"
READY = (FOLDER / "sglang_0.5.8_kimi_k2_tp8_eagle3_ok.log").read_bytes()
NAME = "sglang_0.5.9_graph_capture_oom"


@pytest.fixture
def follow(ssh_runner: Runner, home: Home) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def start(*words: str) -> Running:
        path = f"{home.bin}:/usr/bin:/bin"
        running.append(Running(ssh_runner, "--host", "gpu-a", *words, PATH=path))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def test_a_cut_link_goes_on_with_the_next_byte(
    follow: Callable[..., Running], gpu_a: Sshd, tmp_path: Path
) -> None:
    path = tmp_path / "srv.log"
    third = len(READY) // 3
    path.write_bytes(READY[:third])
    running = follow("--log", str(path), "--format", "json")
    running.says("process group done")
    assert gpu_a.cut() > 0
    running.says("connection")
    add(path, READY[third : 2 * third])
    running.says("heard again")
    gpu_a.cut()
    add(path, READY[2 * third :])
    done = running.done()
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert (told["ready_line"], told["lines"]) == (147, READY.count(b"\n"))


@pytest.mark.parametrize("wanted", ["json", "table"])
def test_once(gpudash: Command, gpu_a: Sshd, wanted: str) -> None:
    assert gpu_a.port
    words = ("--log", str(FOLDER / f"{NAME}.log"), "--once", "--format", wanted)
    here, there = gpudash("follow", *words), gpudash("follow", "--host", "gpu-a", *words)
    assert (there.code, here.code) == (7, 7)
    assert there.out == here.out


def test_no_such_host(gpudash: Command, gpu_a: Sshd) -> None:
    gpu_a.stop()
    done = gpudash("follow", "--host", "gpu-a", "--log", "/var/log/x")
    assert done.code == 3


def test_what_is_no_log_there(gpudash: Command, gpu_a: Sshd) -> None:
    assert gpu_a.port
    done = gpudash("follow", "--host", "gpu-a", "--log", "/")
    assert done.code == 2
    assert "/ is a folder" in done.err
