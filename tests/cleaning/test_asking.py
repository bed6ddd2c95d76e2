"""The question on a terminal: only a yes that was typed after it counts."""

from __future__ import annotations

import os
import pty
import select
import subprocess

import pytest

from gpudash.cli.asking import is_yes
from tests.cleaning.scenes import Scene
from tests.cli.running import PATIENCE_S, command
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"y\n", True),
        (b"Yes\n", True),
        (b" y \n", True),
        (b"\n", False),
        (b"n\n", False),
        (b"", False),
        (b"y", False),
        (b"yy\n", False),
        (b"y\ncd /data/city\n", False),
        (b"y\n\n", False),
        (b"cd /data/city\n", False),
    ],
)
def test_what_is_a_yes(line: bytes, answer: bool) -> None:
    assert is_yes(line) is answer


class Terminal:
    """A gpudash at a terminal of its own."""

    def __init__(self, stage: Stage, *words: str, typed_ahead: bytes = b"") -> None:
        self.master, slave = pty.openpty()
        if typed_ahead:
            os.write(self.master, typed_ahead)
        home, env = stage.surroundings()
        self.process = subprocess.Popen(
            command(*words), env=env, cwd=home, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.seen = b""

    def read_until(self, words: bytes) -> None:
        while words not in self.seen:
            assert select.select([self.master], [], [], PATIENCE_S)[0], self.seen.decode()
            try:
                data = os.read(self.master, 4096)
            except OSError:
                data = b""
            assert data, self.seen.decode()
            self.seen += data

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def code(self) -> int:
        while self.process.poll() is None:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.master, 4096)
                except OSError:
                    return self.process.wait(PATIENCE_S)
        return self.process.returncode


@in_a_room
def test_typed_ahead_is_no_consent(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    terminal = Terminal(stage, "clean", typed_ahead=b"y\ny\nyes\n")
    terminal.read_until(b"[y/N]")
    terminal.type(b"n\n")
    assert terminal.code() == 2
    assert scene.is_alive(holder)
    assert scene.signals() == []


@in_a_room
def test_neither_a_paste_nor_an_empty_line_is_a_yes(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    for pasted in (b"\n", b"cd /data/city\n", b"y\ncd /data/city\n"):
        terminal = Terminal(stage, "clean")
        terminal.read_until(b"[y/N]")
        terminal.type(pasted)
        assert terminal.code() == 2
        assert scene.is_alive(holder)
        assert scene.signals() == []


@in_a_room
def test_a_typed_yes_carries_the_plan_out(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0), scene.bystander()
    terminal = Terminal(stage, "clean", "--hold", "500ms")
    terminal.read_until(b"[y/N]")
    terminal.type(b"y\n")
    assert terminal.code() == 0, terminal.seen.decode()
    assert f"pid {holder}".encode() in terminal.seen
    assert not scene.is_alive(holder)
    assert scene.is_alive(bystander)
