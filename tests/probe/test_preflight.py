"""Checks before a launch, as the hand answers them: whether each holds, and one clause."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudash.core.events import Preflighted
from gpudash.sources import shipping
from tests.probe.running import Program


@pytest.fixture
def hand() -> Iterator[Program]:
    with Program(shipping.hand_payload(), dict(os.environ)) as program:
        yield program


def results(hand: Program, *checks: dict[str, Any]) -> tuple[tuple[bool, str], ...]:
    hand.send(4, "preflight", checks=list(checks))
    assert hand.of("ack", id=4)["ok"]
    (event,) = (event for event in hand.events if isinstance(event, Preflighted))
    hand.events.clear()
    return event.results


def result(hand: Program, kind: str, **more: Any) -> tuple[bool, str]:
    (found,) = results(hand, {"kind": kind, **more})
    return found


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::1"])
@pytest.mark.parametrize("asked", ["", "127.0.0.1"])
def test_a_taken_port_names_its_owner(hand: Program, address: str, asked: str) -> None:
    kind = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(kind) as server:
        server.bind((address, 0))
        port = server.getsockname()[1]
        server.listen()
        is_ok, said = result(hand, "port_free", port=port, host=asked)
        assert not is_ok
        assert f"port {port} is taken by pid {os.getpid()} " in said
        assert "python" in said
    assert result(hand, "port_free", port=port, host=asked) == (True, f"port {port} is free")


def test_paths(hand: Program, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    is_ok, said = result(hand, "path_exists", path="model", cwd=str(tmp_path))
    assert (is_ok, said) == (True, f"{tmp_path / 'model'} is there")
    is_ok, said = result(hand, "path_exists", path=str(tmp_path / "draft"))
    assert (is_ok, said) == (False, f"{tmp_path / 'draft'} is not there")


def test_space(hand: Program, tmp_path: Path) -> None:
    there = str(tmp_path / "not" / "yet")
    assert result(hand, "free_disk", path=there, bytes=1)[0]
    is_ok, said = result(hand, "free_disk", path=there, bytes=1 << 60)
    assert not is_ok
    assert said.endswith("wanted are 1048576.0 TiB")
    assert result(hand, "shm", bytes=0)[0]
    assert not result(hand, "shm", bytes=1 << 60)[0]


@pytest.mark.parametrize(
    ("script", "is_ok", "words"),
    [
        ("print('fine')", True, "ended with 0: fine"),
        ("import sys; print('a'); sys.exit('no weights')", False, "ended with 1: no weights"),
        ("import os; os.close(1); os.close(2)", True, "ended with 0"),
        ("print('up', flush=True); input.__self__", True, "ended with 0: up"),
    ],
)
def test_commands(hand: Program, script: str, is_ok: bool, words: str) -> None:
    assert result(hand, "command", argv=[sys.executable, "-c", script]) == (
        is_ok,
        f"{sys.executable} {words}",
    )


def test_a_command_that_does_not_end_keeps_nobody_waiting(hand: Program, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = ["sh", "-c", f"echo waiting; cat {pipe}"]
    hand.send(5, "preflight", checks=[{"kind": "command", "argv": argv, "timeout_s": 0.5}])
    hand.send(6, "process", pids=[os.getpid()])
    assert hand.of("ack")["id"] == 6
    assert hand.of("ack")["id"] == 5
    (event,) = (event for event in hand.events if isinstance(event, Preflighted))
    assert event.results == ((False, "sh did not end within 0.5 s: waiting"),)
    os.close(os.open(pipe, os.O_RDWR))


def test_whether_a_command_could_be_started(hand: Program, tmp_path: Path) -> None:
    def of(*argv: str, **more: Any) -> tuple[bool, str]:
        return result(hand, "launchable", of={"argv": list(argv), "cwd": str(tmp_path), **more})

    (tmp_path / "plain").write_text("x")
    assert of("true", log="new.log") == (True, "true can be started")
    assert of("no-such-program") == (False, "no-such-program: no such program in PATH")
    assert of("./plain") == (False, "./plain may not be executed")
    assert of("./none") == (False, "./none: no such program")
    assert of("true", log="no/x.log") == (False, f"the log {tmp_path}/no/x.log can't be written")
    assert of("true", log=".")[0] is False
    assert of("true", venv="v") == (False, f"{tmp_path}/v: no virtual environment is there")
    assert sorted(os.listdir(tmp_path)) == ["plain"], "it only looks"


def test_what_can_not_be_looked_at_does_not_hold(hand: Program) -> None:
    checks: list[dict[str, Any]] = [
        {"kind": "port_free", "port": 0},
        {"kind": "port_free", "port": "80"},
        {"kind": "path_exists"},
        {"kind": "free_disk", "path": "/", "bytes": "much"},
        {"kind": "command", "argv": []},
        {"kind": "command", "argv": ["no-such-program"]},
        {"kind": "command", "argv": ["true"], "cwd": "/no/such"},
    ]
    found = results(hand, *checks)
    assert [is_ok for is_ok, _ in found] == [False] * len(checks)
    assert "no-such-program: No such file" in found[5][1]


@pytest.mark.parametrize("checks", [None, {}, ["x"], [{"kind": "kill"}], [{"kind": "shm"}] * 33])
def test_what_is_no_list_of_checks(hand: Program, checks: object) -> None:
    hand.send(4, "preflight", checks=checks)
    answer = hand.of("ack", id=4)
    assert not answer["ok"]
    assert answer["error"]
