"""The hand as shipped: who a pid is, who is gone, and nothing longer than a line."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpudash.core.events import Ack
from gpudash.core.names import printable
from gpudash.core.wire import MAX_LINE_BYTES, encode_command
from gpudash.sources import shipping
from tests.probe.running import Program

QUIET = "import sys\nprint('up', flush=True)\nsys.stdin.read()"


class Sitter:
    """A process that waits for the end of its input, and is known to run."""

    def __init__(self, *arguments: str) -> None:
        self.argv = [sys.executable, "-ISBc", QUIET, *arguments]
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "up\n"

    def __enter__(self) -> Sitter:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture
def hand() -> Iterator[Program]:
    with Program(shipping.hand_payload(), dict(os.environ)) as program:
        yield program


def answers(hand: Program, *pids: object, **more: object) -> list[Ack]:
    """Ask about pids and return all lines of the answer, decoded."""
    start = len(hand.events)
    hand.send(1, "process", pids=list(pids), **more)
    hand.until(lambda line: line["t"] == "ack" and not line.get("more"))
    return [event for event in hand.events[start:] if isinstance(event, Ack)]


def test_a_process(hand: Program) -> None:
    with Sitter("--model", "x") as sitter:
        (answer,) = answers(hand, sitter.pid)
        stat = Path(f"/proc/{sitter.pid}/stat").read_text()
    (info,) = answer.processes
    assert answer.is_ok
    assert answer.is_last
    assert (info.pid, info.uid) == (sitter.pid, os.getuid())
    assert info.user == pwd.getpwuid(os.getuid()).pw_name
    assert info.argv == tuple(printable(word) for word in sitter.argv)
    assert info.start_ticks == int(stat.rpartition(")")[2].split()[19])
    assert info.state in "SRD"
    assert info.age_s >= 0
    parent = info.ancestors[0]
    assert parent.pid == os.getpid()
    assert parent.argv
    assert all(step.pid > 1 for step in info.ancestors)


def test_the_gone_and_the_living(hand: Program) -> None:
    sitter = Sitter()
    sitter.end()
    (answer,) = answers(hand, sitter.pid, os.getpid())
    assert answer.gone == {sitter.pid}
    assert [info.pid for info in answer.processes] == [os.getpid()]


def test_a_zombie_has_no_words(hand: Program) -> None:
    dead = subprocess.Popen([sys.executable, "-ISBc", ""])
    try:
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        (answer,) = answers(hand, dead.pid)
    finally:
        dead.wait()
    (info,) = answer.processes
    assert (info.state, info.argv) == ("Z", ())


def test_nothing_is_said_of_who_is_still_what_it_was(hand: Program) -> None:
    with Sitter() as sitter:
        (answer,) = answers(hand, sitter.pid)
        known = [[sitter.pid, answer.processes[0].start_ticks, "S"]]
        (same,) = answers(hand, sitter.pid, known=known)
        assert (same.processes, same.gone) == ((), frozenset())
        known[0][1] += 1
        (other,) = answers(hand, sitter.pid, known=known)
        assert [info.pid for info in other.processes] == [sitter.pid]
    (gone,) = answers(hand, sitter.pid, known=known)
    assert gone.gone == {sitter.pid}


def test_words_that_are_no_text_still_come(hand: Program) -> None:
    words = [b"\xff\xfe", b"\x1b[31m", "日本".encode()]
    command = [os.fsencode(sys.executable), b"-ISBc", QUIET.encode(), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as odd:
        assert odd.stdout is not None
        odd.stdout.readline()
        (answer,) = answers(hand, odd.pid)
        odd.communicate()
    assert answer.processes[0].argv[-1] == "日本"


def test_long_command_lines_stay_within_a_line(hand: Program) -> None:
    with ExitStack() as stack:
        words = ["\x01" * 3000] * 20
        pids = [stack.enter_context(Sitter(*words)).pid for _ in range(5)]
        got = answers(hand, *pids, *pids * 10)
    assert all(len(line) <= MAX_LINE_BYTES for line in hand.raw.split(b"\n"))
    assert len(got) > 1
    assert [answer.is_last for answer in got] == [False] * (len(got) - 1) + [True]
    assert {info.pid for answer in got for info in answer.processes} == set(pids)


def test_thousands_of_the_gone_stay_within_a_line(hand: Program) -> None:
    pids = [4_194_304 - n for n in range(6000)]
    got = answers(hand, *pids)
    assert all(len(line) <= MAX_LINE_BYTES for line in hand.raw.split(b"\n"))
    assert len(frozenset().union(*(answer.gone for answer in got))) >= 5990


def test_nobody_is_asked_about(hand: Program) -> None:
    (answer,) = answers(hand)
    assert (answer.is_ok, answer.processes, answer.gone) == (True, (), frozenset())


@pytest.mark.parametrize(
    "pids", [None, 5, "5", {}, [0], [-1], ["5"], [True], [1.0], [None], [1 << 31], [1 << 70]]
)
def test_what_is_no_list_of_pids(hand: Program, pids: object) -> None:
    hand.send(3, "process", pids=pids)
    answer = hand.of("ack", id=3)
    assert not answer["ok"]
    assert answer["error"]
    hand.send(4, "process", pids=[os.getpid()])
    assert hand.of("ack", id=4)["ok"]


def test_the_unknown_is_an_error(hand: Program) -> None:
    hand.send(3, "kill", pids=[1])
    answer = hand.of("ack", id=3)
    assert not answer["ok"]
    assert "kill" in answer["error"]


def test_bye(hand: Program) -> None:
    hand.send(3, "bye")
    assert hand.of("ack", id=3)["ok"]
    assert hand.of("bye")["reason"] == "done"
    assert hand.status() == 0


def test_it_ends_with_stdin(hand: Program) -> None:
    hand.send(3, "process", pids=[])
    hand.of("ack")
    hand.child.close_stdin()
    assert hand.status() == 0


def test_it_never_touches_nvml() -> None:
    text = "".join(shipping.source_of(name) for name in shipping.HAND_MODULES)
    assert "pynvml" not in text
    assert "ctypes" not in text


def test_a_long_command_is_joined_from_its_parts(hand: Program) -> None:
    pids = list(range(4_000_000, 4_020_000))
    lines = encode_command(1, "process", pids=[os.getpid(), *pids]).splitlines(keepends=True)
    assert len(lines) > 2
    hand.child.write(b"".join(lines))
    first = hand.until(lambda line: line["t"] == "ack" and line["id"] == 1)
    assert first["ok"]
    # With a part missing, twice, or without its beginning it is none, and the next one is whole.
    for cut in (lines[1:], [lines[0], *lines[2:]], [*lines[:2], *lines[1:]]):
        hand.child.write(b"".join(cut))
    hand.send(2, "process", pids=[os.getpid()])
    answer = hand.of("ack", id=2)
    assert answer["ok"]
    assert not [line for line in hand.lines if line.get("do") == "part" or line.get("id") == 0]
