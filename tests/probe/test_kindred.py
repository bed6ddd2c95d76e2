"""Families and environments from a real /proc; a secret is masked before it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gpudash.core.events import Ack, KindredTold
from gpudash.core.kinship import Kindred
from gpudash.sources import shipping
from tests.probe.running import Program

SLEEPER = "import sys; print('up', flush=True); sys.stdin.read()"
PARENT = (
    "import subprocess, sys\n"
    f"child = subprocess.Popen([sys.executable, '-ISBc', {SLEEPER!r}], stdin=subprocess.PIPE,"
    " stdout=subprocess.PIPE, text=True)\n"
    "child.stdout.readline()\n"
    "print(child.pid, flush=True)\n"
    "sys.stdin.read()\n"
    "child.communicate()\n"
)


@pytest.fixture
def hand() -> Iterator[Program]:
    with Program(shipping.hand_payload(), dict(os.environ)) as program:
        yield program
        assert program.child.errors() == ""


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """Parent and child, who end with the test."""
    env = {"HF_TOKEN": "hf_0123456789abcdef", "WHAT": "plain", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-ISBc", PARENT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as parent:
        assert parent.stdout is not None
        yield parent.pid, int(parent.stdout.readline())
        parent.communicate()


def look(hand: Program, *pids: object) -> tuple[Kindred | None, Ack]:
    start = len(hand.events)
    hand.send(3, "kindred", pids=list(pids))
    hand.until(lambda line: line["t"] == "ack")
    events = hand.events[start:]
    told = [event.kindred for event in events if isinstance(event, KindredTold)]
    (ack,) = (event for event in events if isinstance(event, Ack))
    return (told[0] if told else None), ack


def environment(hand: Program, pid: int, start: int) -> Ack:
    before = len(hand.events)
    hand.send(4, "environment", pid=pid, start=start)
    hand.until(lambda line: line["t"] == "ack")
    (ack,) = (event for event in hand.events[before:] if isinstance(event, Ack))
    return ack


def test_a_process_and_all_below_it(hand: Program, family: tuple[int, int]) -> None:
    parent, child = family
    kindred, ack = look(hand, parent)
    assert ack.is_ok
    assert kindred is not None
    found = {one.pid: one for one in kindred.processes}
    assert set(found) == {parent, child}
    assert found[child].parent == parent
    assert all(one.rss_bytes and one.threads == 1 and one.handles == () for one in found.values())
    only, _ = look(hand, child)
    assert only is not None
    assert [one.pid for one in only.processes] == [child]


def test_pids_that_are_none(hand: Program) -> None:
    for pids in (["1"], [0], [-1], [True], [10**9]):
        kindred, ack = look(hand, *pids)
        assert kindred is None
        assert not ack.is_ok
    kindred, ack = look(hand, 1, 4_194_304)
    assert ack.is_ok
    assert kindred is not None
    assert kindred.processes == ()


def test_the_environment_without_its_secrets(hand: Program, family: tuple[int, int]) -> None:
    kindred, _ = look(hand, family[0])
    assert kindred is not None
    (parent,) = (one for one in kindred.processes if one.pid == family[0])
    ack = environment(hand, parent.pid, parent.identity.start_ticks)
    assert ack.is_ok
    found = dict(ack.variables)
    assert found["WHAT"] == "plain"
    assert found["HF_TOKEN"] == "…"
    said = repr(hand.events)
    assert "hf_0123456789abcdef" not in said


def test_a_pid_that_is_another_process_now(hand: Program, family: tuple[int, int]) -> None:
    ack = environment(hand, family[0], 1)
    assert not ack.is_ok
    assert ack.variables == ()
    assert "not there any more" in ack.error
    assert not environment(hand, 4_194_304, 1).is_ok
