"""Orders with real processes: who is named gets its signals, whoever is not what was named none."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from gpudash.probe import orders, target
from gpudash.probe.line import boot_id, now
from gpudash.probe.orders import BadOrder, Execution
from gpudash.probe.target import look

UP = "import os,signal,sys,time\n"
PATIENT = UP + "print('up',flush=True)\nsys.stdin.read()\n"
STUBBORN = UP + "signal.signal(15,signal.SIG_IGN)\n" + "print('up',flush=True)\nsys.stdin.read()\n"
PATIENCE_S = 20.0


class Crowd:
    """Processes that say when they are up; whoever lives is ended with the test."""

    def __init__(self) -> None:
        self._all: list[subprocess.Popen[str]] = []

    def add(self, text: str = PATIENT, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-ISc", text, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._all.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process

    def end(self) -> None:
        for process in self._all:
            process.kill()
            process.communicate()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    with ExitStack() as stack:
        crowd = Crowd()
        stack.callback(crowd.end)
        yield crowd


@pytest.fixture(params=["pidfd", "without"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run with descriptors of processes and on a kernel that has none."""
    if request.param == "without":

        def none(_pid: int) -> int:
            raise OSError(errno.ENOSYS, "no such call")

        monkeypatch.setattr(target, "open_descriptor", none)
    return str(request.param)


class Record(list[dict[str, Any]]):
    """What an order says of itself."""

    def __call__(self, kind: str, **fields: object) -> None:
        self.append({"k": kind, **fields})

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self if line["k"] == kind]

    def signals(self) -> list[tuple[int, int]]:
        return [(line["pid"], line["signal"]) for line in self.of("signal")]


def identity(pid: int) -> list[Any]:
    found = look(pid)
    assert found is not None
    return [pid, *found[:3]]


def order(
    targets: list[list[Any]], *steps: dict[str, Any], within_s: float = 30.0
) -> dict[str, Any]:
    return {
        "run": "test",
        "boot": boot_id(),
        "deadline": now() + within_s,
        "targets": targets,
        "gpus": ["gpu"],
        "steps": list(steps),
    }


def step(number: int, to: list[int], at: float = 0.0, **more: object) -> dict[str, Any]:
    return {"signal": number, "to": to, "at": at, **more}


def begun(
    wanted: dict[str, Any], record: Record, holds: Callable[[int], bool] = lambda _: True
) -> Execution:
    return Execution(wanted, record, lambda pid, _gpus: holds(pid))


def carry(execution: Execution) -> None:
    """Let an order run to its end."""
    until = time.monotonic() + PATIENCE_S
    wait = execution.advance()
    while wait is not None and time.monotonic() < until:
        time.sleep(min(wait, 0.02))
        wait = execution.advance()
    assert wait is None


def code(process: subprocess.Popen[str]) -> int:
    return process.wait(PATIENCE_S)


@pytest.mark.usefixtures("kernel")
def test_a_root_is_asked_once_and_its_member_when_it_is_gone(crowd: Crowd) -> None:
    root, member = crowd.add(), crowd.add()
    record = Record()
    wanted = order(
        [identity(root.pid), identity(member.pid)],
        step(15, [0]),
        step(15, [1], at=25.0, gone=[0]),
    )
    carry(begun(wanted, record))
    assert record.signals() == [(root.pid, 15), (member.pid, 15)]
    assert (code(root), code(member)) == (-15, -15)
    assert record[-1] == {"k": "done", "why": "ended", "left": []}


@pytest.mark.usefixtures("kernel")
def test_who_does_not_listen_is_killed_at_its_time(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    carry(begun(order([identity(process.pid)], step(15, [0]), step(9, [0], at=0.2)), record))
    assert record.signals() == [(process.pid, 15), (process.pid, 9)]
    assert code(process) == -9


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("place", "change", "why"),
    [
        (1, lambda start: start + 1, "another process has its pid now"),
        (2, lambda uid: uid + 1, "its user changed"),
        (3, lambda exe: [exe[0], exe[1] + 1], "it runs another program now"),
    ],
)
def test_another_identity_gets_nothing(
    crowd: Crowd, place: int, change: Callable[[Any], Any], why: str
) -> None:
    process = crowd.add()
    named = identity(process.pid)
    named[place] = change(named[place])
    record = Record()
    carry(begun(order([named], step(15, [0]), step(9, [0], at=0.1)), record))
    assert [line["why"] for line in record.of("refused")] == [why]
    assert record.signals() == []
    assert process.poll() is None


@pytest.mark.usefixtures("kernel")
def test_who_became_another_program_after_it_was_bound_gets_nothing(crowd: Crowd) -> None:
    text = (
        UP + "print('up',flush=True)\nsys.stdin.readline()\nos.execv('/bin/sleep',['sleep','60'])"
    )
    process = crowd.add(text)
    record = Record()
    execution = begun(order([identity(process.pid)], step(15, [0], at=0.0)), record)
    assert process.stdin is not None
    before = identity(process.pid)[3]
    process.stdin.write("\n")
    process.stdin.flush()
    until = time.monotonic() + PATIENCE_S
    while identity(process.pid)[3] == before and time.monotonic() < until:
        time.sleep(0.01)
    carry(execution)
    assert [line["why"] for line in record.of("refused")] == ["it runs another program now"]
    assert record.signals() == []
    assert process.poll() is None


def test_own_room_and_init_are_refused() -> None:
    record = Record()
    up = [identity(os.getpid()), identity(os.getppid())]
    carry(begun(order([*up, [1, 0, 0, None]], step(9, [0, 1, 2])), record))
    assert len(record.of("refused")) == 3
    assert record.signals() == []


def test_what_is_protected_is_refused(crowd: Crowd) -> None:
    process = crowd.add()
    record = Record()
    wanted = order([identity(process.pid)], step(9, [0]))
    carry(Execution(wanted, record, lambda *_: True, (process.pid,)))
    assert record.signals() == []


@pytest.mark.usefixtures("kernel")
def test_who_is_stopped_is_told_to_go_on(crowd: Crowd) -> None:
    process = crowd.add()
    os.kill(process.pid, signal.SIGSTOP)
    until = time.monotonic() + PATIENCE_S
    while target.look(process.pid)[3] != "T" and time.monotonic() < until:
        time.sleep(0.01)
    record = Record()
    carry(begun(order([identity(process.pid)], step(15, [0])), record))
    assert code(process) == -15


FORKING = UP + (
    "signal.signal(15,signal.SIG_IGN)\nprint('up',flush=True)\nsys.stdin.readline()\n"
    "child=os.fork()\n"
    "if child==0:\n  os.setsid()\n  time.sleep(60)\n"
    "print(child,flush=True)\nsys.stdin.read()\n"
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("holds", [True, False])
def test_children_born_after_the_plan_join_where_they_hold_a_device(
    crowd: Crowd, *, holds: bool
) -> None:
    process = crowd.add(FORKING)
    assert process.stdin is not None
    assert process.stdout is not None
    record = Record()
    wanted = order([identity(process.pid)], step(9, [0], children=True))
    execution = begun(wanted, record, lambda pid: holds or pid == process.pid)
    process.stdin.write("\n")
    process.stdin.flush()
    child = int(process.stdout.readline())
    try:
        carry(execution)
        assert (child, 9) in record.signals() or not holds
        assert [line["pid"] for line in record.of("joined")] == ([child] if holds else [])
        assert (look(child) is None or target.is_over(look(child))) == holds
    finally:
        if not holds:
            os.kill(child, signal.SIGKILL)


LEADERLESS = UP + (
    "import ctypes,threading\n"
    "threading.Thread(target=lambda:time.sleep(60)).start()\n"
    "print('up',flush=True)\n"
    "ctypes.CDLL(None).syscall(ctypes.c_long(60 if os.uname().machine=='x86_64' else 93),0)\n"
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("holds", [True, False])
def test_a_leader_that_ended_is_signalled_for_its_living_thread(
    crowd: Crowd, *, holds: bool
) -> None:
    process = crowd.add(LEADERLESS)
    until = time.monotonic() + PATIENCE_S
    while target.look(process.pid)[3] != "Z" and time.monotonic() < until:
        time.sleep(0.01)
    record = Record()
    named = identity(process.pid)
    assert named[3] is None
    carry(begun(order([named], step(9, [0])), record, lambda _: holds))
    assert record.signals() == ([(process.pid, 9)] if holds else [])
    assert (record.of("ended") != []) == holds


def test_an_abort_sends_nothing_more(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    execution = begun(order([identity(process.pid)], step(15, [0]), step(9, [0], at=0.0)), record)
    execution.abort()
    carry(execution)
    assert record.signals() == []
    assert record[-1]["why"] == "aborted"
    assert record[-1]["left"][0][0] == process.pid


def test_force_does_not_wait(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    wanted = order([identity(process.pid)], step(15, [0], at=20.0), step(9, [0], at=25.0))
    execution = begun(wanted, record)
    assert execution.advance() is not None
    execution.force()
    carry(execution)
    assert record.signals() == [(process.pid, 9)]
    assert code(process) == -9


def test_the_deadline_ends_it(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    wanted = order([identity(process.pid)], step(15, [0]), step(9, [0], at=20.0), within_s=0.1)
    carry(begun(wanted, record))
    assert record.signals() == [(process.pid, 15)]
    assert record[-1]["why"] == "deadline"


def test_an_order_of_another_boot_is_none() -> None:
    with pytest.raises(BadOrder):
        begun({**order([]), "boot": "another"}, Record())


@pytest.mark.parametrize(
    "change",
    [
        {"run": 3},
        {"targets": [[1, 2]]},
        {"targets": [[-5, 1, 0, None]], "steps": [{"signal": 9, "to": [1], "at": 0}]},
        {"steps": [{"signal": 0, "to": [], "at": 0}]},
        {"steps": [{"signal": 9, "to": [-1], "at": 0}]},
        {"steps": [{"signal": 9, "to": ["0"], "at": 0}]},
        {"deadline": "soon"},
        {"targets": None},
    ],
)
def test_what_is_no_order_is_refused_whole(change: dict[str, Any]) -> None:
    with pytest.raises(BadOrder):
        orders.check({**order([]), **change})


def test_a_negative_pid_is_never_a_group(crowd: Crowd) -> None:
    process = crowd.add()
    named = identity(process.pid)
    with pytest.raises(BadOrder):
        orders.check(order([[-process.pid, *named[1:]]], step(9, [0])))
    assert process.poll() is None
