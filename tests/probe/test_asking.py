"""The hand asks managers (stand-ins on PATH): side by side, bounded, and only questions."""

from __future__ import annotations

import os
from pathlib import Path

from gpudash.core.events import Ack
from gpudash.sources import shipping
from tests.probe.running import Program


def manager(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def answers(folder: Path, *asked: list[str]) -> Ack:
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    with Program(shipping.hand_payload(), env) as program:
        program.send(1, "managers", ask=list(asked))
        program.of("ack", id=1)
        (ack,) = [event for event in program.events if isinstance(event, Ack)]
        return ack


def test_each_gets_its_own_answer(tmp_path: Path) -> None:
    manager(tmp_path, "systemctl", 'echo "$1 $2"; echo LoadState=loaded')
    manager(tmp_path, "docker", "echo '[]'; echo noise >&2; exit 1")
    ack = answers(
        tmp_path,
        ["docker", "inspect", "x"],
        ["systemctl", "show", "a.service"],
        ["squeue", "-h", "-j", "1"],
    )
    assert ack.answers[0] == (0, 1, "[]\nnoise")
    assert ack.answers[1] == (1, 0, "show a.service\nLoadState=loaded")
    assert ack.answers[2][0] == 2


def test_one_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    manager(tmp_path, "docker", "exec sleep 60")
    manager(tmp_path, "systemctl", "echo LoadState=loaded")
    ack = answers(tmp_path, ["docker", "inspect", "x"], ["systemctl", "show", "a"])
    assert ack.answers == ((0, None, ""), (1, 0, "LoadState=loaded"))


def test_one_that_talks_without_end_is_cut(tmp_path: Path) -> None:
    manager(tmp_path, "docker", "yes 0123456789 | head -c 1000000")
    ack = answers(tmp_path, ["docker", "inspect", "x"])
    assert len(ack.answers[0][2]) < 4096


def test_an_order_is_no_question(tmp_path: Path) -> None:
    manager(tmp_path, "systemctl", f"touch {tmp_path}/done")
    ack = answers(tmp_path, ["systemctl", "stop", "a.service"])
    assert ack.error == "one of these is no question to a manager"
    assert not (tmp_path / "done").exists()
