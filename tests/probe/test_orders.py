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
from pathlib import Path
from typing import Any

import pytest

from gpudash.probe import course, orders, target
from gpudash.probe.devices import INITIAL_PID_NAMESPACE
from gpudash.probe.line import boot_id, now, pid_namespace
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


@pytest.fixture(params=["pidfd", "half", "without", "full"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run with descriptors of processes and on a kernel that has none."""
    if request.param == "without":

        def none(_pid: int) -> int:
            raise OSError(errno.ENOSYS, "no such call")

        monkeypatch.setattr(target, "open_descriptor", none)
    if request.param == "half":

        def forbidden(_fd: int, _number: int) -> None:
            raise OSError(errno.EPERM, "a sandbox")

        monkeypatch.setattr(target, "send_by_descriptor", forbidden)
    if request.param == "full":
        monkeypatch.setattr(target, "is_spare", lambda _fd: False)
    return str(request.param)


class Record(list[dict[str, Any]]):
    """What an order says of itself."""

    def __call__(self, what: str, **fields: object) -> None:
        self.append({"what": what, **fields})

    def of(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self if line["what"] == what]

    def signals(self) -> list[tuple[int, str]]:
        return [(line["pid"], line["sig"]) for line in self.of("sent")]


def identity(pid: int) -> list[Any]:
    found = look(pid)
    assert found is not None
    return [pid, *found[:3]]


def family(members: list[list[Any]], *steps: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"f": 0, "members": members, "gpus": ["gpu"], "steps": list(steps), "save_s": 0, **more}


def order(*families: dict[str, Any], within_s: float = 30.0, **more: object) -> dict[str, Any]:
    return {
        "v": 1,
        "run": "test",
        "boot": boot_id(),
        "uid": os.getuid(),
        "pidns": pid_namespace(),
        "by": now() + within_s,
        "since": 0,
        "simulated": False,
        "families": list(families),
        **more,
    }


def step(send: str, to: object, wait: float = 20.0, **more: object) -> dict[str, Any]:
    return {"send": send, "to": to, "roots": 1, "wait": wait, **more}


KILL = {"send": "KILL", "to": "all", "roots": 1, "wait": 10.0, "rounds": 3}


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
    steps = (step("TERM", "roots"), step("TERM", "rest", settle=0.05, after="gone"), KILL)
    carry(begun(order(family([identity(root.pid), identity(member.pid)], *steps)), record))
    assert record.signals() == [(root.pid, "TERM"), (member.pid, "TERM")]
    assert (code(root), code(member)) == (-15, -15)
    assert record[-1] == {"what": "done", "why": "finished"}
    assert [line["left"] for line in record.of("step")] == [0, 0]


@pytest.mark.usefixtures("kernel")
def test_a_member_that_goes_with_its_root_is_not_asked(crowd: Crowd) -> None:
    root, member = crowd.add(), crowd.add()
    record = Record()
    steps = (step("TERM", "roots"), step("TERM", "rest", settle=5.0, after="gone"), KILL)
    wanted = order(family([identity(root.pid), identity(member.pid)], *steps))
    execution = begun(wanted, record)
    execution.advance()
    member.kill()
    code(member)
    carry(execution)
    assert record.signals() == [(root.pid, "TERM")]


@pytest.mark.usefixtures("kernel")
def test_who_does_not_listen_is_killed_at_its_time(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    steps = (step("TERM", "roots", 0.2), step("TERM", "rest", after="gone"), KILL)
    carry(begun(order(family([identity(process.pid)], *steps)), record))
    assert record.signals() == [(process.pid, "TERM"), (process.pid, "KILL")]
    assert code(process) == -9
    assert [line["left"] for line in record.of("step")] == [1, 0]


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("place", "change"),
    [
        (1, lambda start: start + 1),
        (2, lambda uid: uid + 1),
        (3, lambda exe: [exe[0], exe[1] + 1]),
    ],
)
def test_another_identity_gets_nothing(
    crowd: Crowd, place: int, change: Callable[[Any], Any]
) -> None:
    process = crowd.add()
    named = identity(process.pid)
    named[place] = change(named[place])
    record = Record()
    carry(begun(order(family([named], step("TERM", "roots"), KILL)), record))
    assert [line["why"] for line in record.of("refused")] == ["changed"]
    assert record.signals() == []
    assert process.poll() is None


@pytest.mark.usefixtures("kernel")
def test_who_became_another_program_after_it_was_bound_gets_nothing(crowd: Crowd) -> None:
    text = (
        UP + "print('up',flush=True)\nsys.stdin.readline()\nos.execv('/bin/sleep',['sleep','60'])"
    )
    process = crowd.add(text)
    record = Record()
    execution = begun(order(family([identity(process.pid)], KILL)), record)
    assert process.stdin is not None
    before = identity(process.pid)[3]
    process.stdin.write("\n")
    process.stdin.flush()
    until = time.monotonic() + PATIENCE_S
    while identity(process.pid)[3] == before and time.monotonic() < until:
        time.sleep(0.01)
    carry(execution)
    assert [line["why"] for line in record.of("refused")] == ["changed"]
    assert record.signals() == []
    assert process.poll() is None


def test_what_changes_while_the_descriptor_fails_gets_no_bare_signal(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = crowd.add()
    _, *wanted = identity(process.pid)
    bound = target.Target(process.pid, wanted)

    def becomes_another(_fd: int, _number: int) -> None:
        found = look(process.pid)
        monkeypatch.setattr(target, "look", lambda _pid: [found[0] + 1, *found[1:]])
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(target, "send_by_descriptor", becomes_another)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("it was signalled"))
    with pytest.raises(target.Refused) as refused:
        bound.send(15)
    assert refused.value.word == "changed"
    monkeypatch.undo()
    bound.close()
    assert process.poll() is None


def test_a_signal_by_the_bare_pid_is_told(crowd: Crowd, kernel: str) -> None:
    process = crowd.add()
    record = Record()
    carry(begun(order(family([identity(process.pid)], step("TERM", "roots"))), record))
    (sent,) = record.of("sent")
    assert sent.get("by") == (None if kernel == "pidfd" else "pid")
    assert code(process) == -15


def test_own_room_is_refused() -> None:
    record = Record()
    up = [identity(os.getpid()), identity(os.getppid())]
    carry(begun(order(family(up, KILL)), record))
    assert [line["why"] for line in record.of("refused")] == ["forbidden", "forbidden"]
    assert record.signals() == []


@pytest.mark.usefixtures("kernel")
def test_who_is_stopped_is_told_to_go_on(crowd: Crowd) -> None:
    process = crowd.add()
    os.kill(process.pid, signal.SIGSTOP)
    until = time.monotonic() + PATIENCE_S
    while target.look(process.pid)[3] != "T" and time.monotonic() < until:
        time.sleep(0.01)
    record = Record()
    carry(begun(order(family([identity(process.pid)], step("TERM", "roots"))), record))
    assert record.signals() == [(process.pid, "TERM"), (process.pid, "CONT")]
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
    wanted = order(family([identity(process.pid)], KILL))
    execution = begun(wanted, record, lambda pid: holds or pid == process.pid)
    process.stdin.write("\n")
    process.stdin.flush()
    child = int(process.stdout.readline())
    try:
        carry(execution)
        assert ((child, "KILL") in record.signals()) == holds
        assert [line["who"][0] for line in record.of("joined")] == ([child] if holds else [])
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
    carry(begun(order(family([named], KILL)), record, lambda _: holds))
    assert record.signals() == ([(process.pid, "KILL")] if holds else [])
    assert (record.of("exited") != []) == holds


def test_an_abort_begins_nothing_more(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    execution = begun(order(family([identity(process.pid)], step("TERM", "roots"), KILL)), record)
    execution.advance()
    execution.abort()
    carry(execution)
    assert record.signals() == [(process.pid, "TERM")]
    assert record[-1] == {"what": "done", "why": "aborted"}
    assert process.poll() is None


def test_other_steps_for_the_same_members_force(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    named = [identity(process.pid)]
    execution = begun(order(family(named, step("TERM", "roots"), KILL)), record)
    assert execution.advance() is not None
    execution.replace(order(family(named, KILL)))
    carry(execution)
    assert record.signals() == [(process.pid, "TERM"), (process.pid, "KILL")]
    assert code(process) == -9


def test_who_was_asked_once_is_not_asked_again(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    named = [identity(process.pid)]
    execution = begun(order(family(named, step("TERM", "roots"), KILL)), record)
    assert execution.advance() is not None
    execution.replace(order(family(named, step("TERM", "all", 0.1), KILL)))
    carry(execution)
    assert record.signals() == [(process.pid, "TERM"), (process.pid, "KILL")]


def test_other_members_are_another_order(crowd: Crowd) -> None:
    one, other = crowd.add(), crowd.add()
    record = Record()
    execution = begun(order(family([identity(one.pid)], step("TERM", "roots", 0.1))), record)
    with pytest.raises(BadOrder):
        execution.replace(order(family([identity(other.pid)], KILL)))
    carry(execution)
    assert other.poll() is None


def test_the_deadline_ends_it(crowd: Crowd) -> None:
    process = crowd.add(STUBBORN)
    record = Record()
    steps = (step("TERM", "roots"), KILL)
    carry(begun(order(family([identity(process.pid)], *steps), within_s=0.1), record))
    assert record.signals() == [(process.pid, "TERM")]
    assert record[-1]["why"] == "deadline"


def test_families_go_side_by_side(crowd: Crowd) -> None:
    slow, quick = crowd.add(STUBBORN), crowd.add()
    record = Record()
    steps = (step("TERM", "roots", 0.5), KILL)
    first = family([identity(slow.pid)], *steps)
    second = {**family([identity(quick.pid)], *steps), "f": 1}
    carry(begun(order(first, second), record))
    assert record.signals() == [(slow.pid, "TERM"), (quick.pid, "TERM"), (slow.pid, "KILL")]


SAVING = UP + (
    "signal.signal(15,signal.SIG_IGN)\nf=open(sys.argv[1],'wb')\nprint('up',flush=True)\n"
    "for n in range(3):\n  sys.stdin.readline(); f.write(b'x'*(1<<20)); f.flush()\n"
    "  print('wrote',flush=True)\nsys.stdin.read()"
)


@pytest.mark.parametrize("grows", [True, False])
def test_a_checkpoint_that_grows_gives_more_time(
    crowd: Crowd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, grows: bool
) -> None:
    process = crowd.add(SAVING, str(tmp_path / "step_1000.pt"))
    assert process.stdin is not None
    assert process.stdout is not None
    record = Record()
    at = [100.0]
    monkeypatch.setattr(orders, "now", lambda: at[0])
    monkeypatch.setattr(course, "now", lambda: at[0])
    named = family([identity(process.pid)], step("TERM", "roots", 1.0), KILL, save_s=5.0)
    execution = begun(order(named, by=1000.0), record)
    execution.advance()
    execution.advance()
    if grows:
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "wrote\n"
    at[0] += 1.1
    execution.advance()
    assert record.signals()[1:] == ([] if grows else [(process.pid, "KILL")])
    at[0] += 10.0
    carry(execution)
    assert record.signals()[1:] == [(process.pid, "KILL")]


def test_a_managers_commands_run_one_after_the_other_until_one_fails() -> None:
    record = Record()
    words = [["sh", "-c", "echo one; echo two"], ["sh", "-c", "echo no >&2; exit 3"], ["true"]]
    carry(begun(order({"f": 4, "run": words, "for": 10.0}), record))
    told = [(line["c"], line["code"], line["words"]) for line in record.of("ran")]
    assert told == [(0, 0, "two"), (1, 3, "no")]


@pytest.mark.parametrize("words", [["/no/such/program"], ["sleep", "30"]])
def test_a_managers_command_that_is_not_there_or_takes_too_long(words: list[str]) -> None:
    record = Record()
    carry(begun(order({"f": 4, "run": [words], "for": 0.2}), record))
    (line,) = record.of("ran")
    assert line["code"] is None


@pytest.mark.parametrize(
    "change", [{"boot": "another"}, {"pidns": 5}, {"uid": 4711}, {"simulated": True}]
)
def test_an_order_for_another_place_is_none(change: dict[str, Any]) -> None:
    if change.get("simulated") and pid_namespace() != INITIAL_PID_NAMESPACE:
        begun(order(**change), Record())
        return
    with pytest.raises(BadOrder):
        begun(order(**change), Record())


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"run": 3},
        {"by": "soon"},
        {"families": None},
        {"families": [{"f": 0}]},
        {"families": [family([[5, 2]])]},
        {"families": [family([[0, 1, 0, None]], KILL)]},
        {"families": [family([[1, 1, 0, None]], KILL)]},
        {"families": [family([[-5, 1, 0, None]], KILL)]},
        {"families": [family([[5, 1, 0, ["a", 2]]], KILL)]},
        {"families": [family([[5, 1, 0, None]], step("HUP", "all"))]},
        {"families": [family([[5, 1, 0, None]], step("KILL", [1]))]},
        {"families": [family([[5, 1, 0, None]], step("KILL", [-1]))]},
        {"families": [family([[5, 1, 0, None]], step("KILL", ["0"]))]},
        {"families": [family([[5, 1, 0, None]] * 10_001, KILL)]},
        {"families": [{"f": 0, "run": [[]], "for": 1}]},
        {"families": [{"f": 0, "run": [["a", 1]], "for": 1}]},
    ],
)
def test_what_is_no_order_is_refused_whole(change: dict[str, Any]) -> None:
    with pytest.raises(BadOrder):
        orders.check({**order(), **change})
