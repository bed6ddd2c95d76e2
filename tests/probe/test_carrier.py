"""Orders through a hand as shipped: they outlive it, one at a time, and are told until fetched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from gpudash.core.cleanup.reports import Began, Done, Exited, Refused, Sent, StepEnded
from gpudash.core.events import OrderTold
from gpudash.probe.devices import INITIAL_PID_NAMESPACE
from gpudash.sources import shipping
from tests.probe.running import Program
from tests.probe.test_orders import KILL, STUBBORN, Crowd, code, family, identity, step
from tests.probe.test_orders import order as any_order

RUN = "20261129T120000Z-clean-test"


Hands = Callable[[], Program]


@pytest.fixture
def hand() -> Iterator[Hands]:
    """Start hands in a network of their own: abstract names, the lock among them, are of one."""
    room = subprocess.Popen(["unshare", "--net", "cat"], stdin=PIPE, stdout=PIPE)
    with room:
        assert room.stdin is not None
        assert room.stdout is not None
        room.stdin.write(b"up\n")
        room.stdin.flush()
        assert room.stdout.readline() == b"up\n"
        through = ("nsenter", f"--net=/proc/{room.pid}/ns/net")
        yield lambda: Program(shipping.hand_payload(), dict(os.environ), through=through)
        room.stdin.close()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    crowd = Crowd()
    yield crowd
    crowd.end()


def order(run: str, families: list[dict[str, Any]], **more: object) -> dict[str, Any]:
    return {**any_order(*families, within_s=60.0), "run": run, **more}


def told(program: Program, what: str) -> dict[str, Any]:
    return program.until(lambda line: line["t"] == "order" and line["what"] == what)


def drop(program: Program, run: str) -> None:
    """Let the reports go, once the order is over."""
    program.send(99, "report", run=run, drop=True)
    assert program.of("ack", id=99)["ok"]


def name(request: pytest.FixtureRequest) -> str:
    return f"{RUN}-{os.getpid()}-{abs(hash(request.node.name)) % 10**6}"


def test_an_order_is_told_line_by_line(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    process = crowd.add()
    run = name(request)
    wanted = order(run, [family([identity(process.pid)], step("TERM", "roots"), KILL)])
    with hand() as program:
        program.send(1, "order", order=wanted)
        assert program.of("ack", id=1)["ok"]
        told(program, "done")
        reports = [event.report for event in program.events if isinstance(event, OrderTold)]
        whats = [type(report.told) for report in reports]
        assert whats == [Began, Sent, Exited, StepEnded, Done]
        assert [report.number for report in reports] == [0, 1, 2, 3, 4]
        assert {report.run for report in reports} == {run}
        drop(program, run)
    assert code(process) == -15


def test_an_order_outlives_the_hand_and_is_fetched_by_another(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    process = crowd.add(STUBBORN)
    run = name(request)
    steps = (step("TERM", "roots", 1.0), KILL)
    with hand() as program:
        program.send(1, "order", order=order(run, [family([identity(process.pid)], *steps)]))
        told(program, "sent")
        os.kill(program.child.pid, signal.SIGKILL)
    assert code(process) == -9
    with hand() as program:
        program.send(1, "report", run=run)
        wanted = ("begun", "sent", "step", "sent", "exited", "step", "done")
        lines = [told(program, what) for what in wanted]
        assert [line["sig"] for line in lines if line["what"] == "sent"] == ["TERM", "KILL"]
        program.send(2, "report", run=run, **{"from": lines[-1]["n"]})
        assert told(program, "done") == lines[-1]
        drop(program, run)
    with hand() as program:
        program.send(3, "report", run=run)
        assert "nothing of" in program.of("ack", id=3)["error"]


def test_one_cleaner_at_a_time(hand: Hands, crowd: Crowd, request: pytest.FixtureRequest) -> None:
    process = crowd.add(STUBBORN)
    run = name(request)
    named = [identity(process.pid)]
    wanted = order(run, [family(named, step("TERM", "roots", 30.0), KILL)])
    with hand() as first, hand() as second:
        first.send(1, "order", order=wanted)
        assert first.of("ack", id=1)["ok"]
        second.send(1, "order", order={**wanted, "run": run + "-2"})
        assert second.of("ack", id=1)["error"].startswith("locked by pid ")
        second.send(2, "order", order=order(run, [family(named, KILL)]))
        assert second.of("ack", id=2)["ok"]
        told(first, "done")
        assert code(process) == -9
        drop(second, run)


def test_an_abort_begins_nothing_more(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    process = crowd.add(STUBBORN)
    run = name(request)
    steps = (step("TERM", "roots", 30.0), KILL)
    with hand() as program:
        program.send(1, "order", order=order(run, [family([identity(process.pid)], *steps)]))
        told(program, "sent")
        program.send(2, "report", run=run, drop=True)
        assert program.of("ack", id=2)["error"] == "the order still runs"
        program.send(3, "abort", run=run)
        assert told(program, "done")["why"] == "aborted"
        drop(program, run)
    assert process.poll() is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"by": 1.0}, "after its deadline"),
        ({"boot": "another"}, "started anew"),
        ({"families": [family([[0, 1, 0, None]], KILL)]}, "not an identity"),
        ({"families": 5}, "not an order"),
    ],
)
def test_what_can_not_be_carried_is_refused_before_anything(
    hand: Hands, request: pytest.FixtureRequest, change: dict[str, Any], words: str
) -> None:
    run = name(request)
    with hand() as program:
        program.send(1, "order", order={**order(run, []), **change})
        assert words in program.of("ack", id=1)["error"]
        program.send(2, "report", run="/etc/passwd")
        assert program.of("ack", id=2)["error"] == "run must be a name"
        program.send(3, "report", run=run)
        assert "nothing of" in program.of("ack", id=3)["error"]


def test_stand_in_devices_and_the_hosts_own_processes_do_not_go_together(
    hand: Hands,
    crowd: Crowd,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = crowd.add()
    run = name(request)
    monkeypatch.setenv("GPUDASH_DEVICE_MAP", "1:7=0")
    with hand() as program:
        program.send(1, "order", order=order(run, [family([identity(process.pid)], KILL)]))
        answer = program.of("ack", id=1)
        is_initial = os.stat("/proc/self/ns/pid").st_ino == INITIAL_PID_NAMESPACE
        assert answer["ok"] != is_initial
        if is_initial:
            assert process.poll() is None
        else:
            told(program, "done")
            drop(program, run)


def test_a_carrier_keeps_nothing_of_the_link(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    """The link ends with the hand: whoever waits for its output must not wait for the carrier."""
    process = crowd.add(STUBBORN)
    run = name(request)
    named = [identity(process.pid)]
    with hand() as program:
        steps = (step("TERM", "roots", 30.0), KILL)
        program.send(1, "order", order=order(run, [family(named, *steps)]))
        told(program, "sent")
        program.send(2, "bye")
        program.to_end()
    with hand() as program:
        program.send(1, "order", order=order(run, [family(named, KILL)]))
        program.send(2, "report", run=run)
        told(program, "done")
        drop(program, run)
    assert code(process) == -9


MANY = 1500
SPAWNING = (
    "import os,sys\n"
    "for _ in range(int(sys.argv[1])):\n"
    "  if os.fork()==0:\n"
    "    os.close(0);os.close(1);os.read(3,1);os._exit(0)\n"
    "print(flush=True);sys.stdin.read()\n"
)


def test_an_order_for_1500_processes_is_carried_out(
    hand: Hands, request: pytest.FixtureRequest
) -> None:
    """It is longer than a line, and needs more descriptors than a process has by default."""
    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-ISc", SPAWNING.replace("os.read(3", f"os.read({read}"), str(MANY)],
        stdin=PIPE,
        stdout=PIPE,
        pass_fds=(read,),
    ) as parent:
        try:
            assert parent.stdout is not None
            parent.stdout.readline()
            text = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text()
            members = [identity(int(pid)) for pid in text.split()]
            assert len(members) == MANY
            run = name(request)
            wanted = order(run, [family([identity(parent.pid), *members], KILL)])
            with hand() as program:
                program.send(1, "order", order=wanted)
                assert program.of("ack", id=1)["ok"]
                told(program, "done")
                reports = [one.report.told for one in program.events if isinstance(one, OrderTold)]
                pids = {parent.pid, *(member[0] for member in members)}
                assert {one.pid for one in reports if isinstance(one, Sent)} == pids
                assert {one.pid for one in reports if isinstance(one, Exited)} == pids
                assert not [one for one in reports if isinstance(one, Refused)]
                drop(program, run)
            assert parent.wait() == -9
        finally:
            # Whoever is left reads the end of this.
            os.close(write)
            os.close(read)
