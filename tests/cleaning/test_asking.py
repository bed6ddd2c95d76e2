"""The question on a terminal: only a yes that was typed after it counts."""

from __future__ import annotations

import pytest

from gpudash.cli.asking import is_yes
from tests.cleaning.scenes import Scene
from tests.cleaning.terminal import Terminal
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
