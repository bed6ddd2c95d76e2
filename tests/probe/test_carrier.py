"""Orders through a hand as shipped: they outlive it, one at a time, and are told until fetched."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from subprocess import PIPE
from typing import Any

import pytest

from gpudash.core.events import OrderTold
from gpudash.probe.line import boot_id, now
from gpudash.sources import shipping
from tests.probe.running import Program
from tests.probe.test_orders import STUBBORN, Crowd, code, identity, step

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


def order(run: str, targets: list[list[Any]], *steps: dict[str, Any], within_s: float = 60) -> Any:
    return {
        "run": run,
        "boot": boot_id(),
        "deadline": now() + within_s,
        "targets": targets,
        "gpus": [],
        "steps": list(steps),
    }


def told(program: Program, kind: str) -> dict[str, Any]:
    line = program.until(lambda line: line["t"] == "order" and line["line"]["k"] == kind)
    return dict(line["line"])


def name(request: pytest.FixtureRequest) -> str:
    return f"{RUN}-{os.getpid()}-{abs(hash(request.node.name)) % 10**6}"


def test_an_order_is_told_line_by_line(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    process = crowd.add()
    run = name(request)
    with hand() as program:
        program.send(1, "order", run=run, order=order(run, [identity(process.pid)], step(15, [0])))
        assert program.of("ack", id=1)["ok"]
        assert told(program, "signal")["signal"] == 15
        assert told(program, "done")["left"] == []
        events = [event for event in program.events if isinstance(event, OrderTold)]
        assert [event.kind for event in events] == ["bound", "signal", "ended", "done"]
        assert [event.number for event in events] == [0, 1, 2, 3]
        program.send(2, "fetched", run=run)
        told(program, "closed")
    assert code(process) == -15


def test_an_order_outlives_the_hand_and_is_fetched_by_another(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    process = crowd.add(STUBBORN)
    run = name(request)
    wanted = order(run, [identity(process.pid)], step(15, [0]), step(9, [0], at=1.0))
    with hand() as program:
        program.send(1, "order", run=run, order=wanted)
        told(program, "signal")
        os.kill(program.child.pid, signal.SIGKILL)
    assert code(process) == -9
    with hand() as program:
        program.send(1, "report", run=run)
        lines = [told(program, kind) for kind in ("bound", "signal", "signal", "ended", "done")]
        assert [line["n"] for line in lines] == [0, 1, 2, 3, 4]
        program.send(2, "fetched", run=run)
        told(program, "closed")
        program.send(3, "report", run=run)
        assert not program.of("ack", id=3)["ok"]


def test_one_cleaner_at_a_time(hand: Hands, crowd: Crowd, request: pytest.FixtureRequest) -> None:
    process = crowd.add(STUBBORN)
    run = name(request)
    wanted = order(run, [identity(process.pid)], step(15, [0]), step(9, [0], at=30.0))
    with hand() as first, hand() as second:
        first.send(1, "order", run=run, order=wanted)
        assert first.of("ack", id=1)["ok"]
        other = {**wanted, "run": run + "-2"}
        second.send(1, "order", run=run + "-2", order=other)
        refusal = second.of("ack", id=1)
        assert not refusal["ok"]
        assert "another cleanup is at work here: pid " in refusal["error"]
        second.send(2, "force", run=run)
        assert told(first, "done")["why"] == "ended"
        assert code(process) == -9
        first.send(2, "fetched", run=run)
        told(first, "closed")


def test_escape_stops_what_is_to_come(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    process = crowd.add(STUBBORN)
    run = name(request)
    wanted = order(run, [identity(process.pid)], step(15, [0]), step(9, [0], at=30.0))
    with hand() as program:
        program.send(1, "order", run=run, order=wanted)
        told(program, "signal")
        program.send(2, "abort", run=run)
        assert told(program, "done")["left"][0][0] == process.pid
        program.send(3, "fetched", run=run)
        told(program, "closed")
    assert process.poll() is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"deadline": 1.0}, "after its deadline"),
        ({"steps": [{"signal": 1, "to": [], "at": 0}]}, "no such signal"),
        ({"run": "another"}, "another run"),
        ({"targets": [[0, 1, 0, None]]}, "not an identity"),
    ],
)
def test_what_can_not_be_carried_is_refused_before_anything(
    hand: Hands, request: pytest.FixtureRequest, change: dict[str, Any], words: str
) -> None:
    run = name(request)
    with hand() as program:
        program.send(1, "order", run=run, order={**order(run, []), **change})
        assert words in program.of("ack", id=1)["error"]
        program.send(2, "report", run="/etc/passwd")
        assert program.of("ack", id=2)["error"] == "run must be a name"


def test_stand_in_devices_and_the_hosts_own_processes_do_not_go_together(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = crowd.add()
    run = name(request)
    monkeypatch.setenv("GPUDASH_DEVICE_MAP", "1:7=0")
    with hand() as program:
        program.send(1, "order", run=run, order=order(run, [identity(process.pid)], step(9, [0])))
        answer = program.of("ack", id=1)
    is_initial = os.stat("/proc/self/ns/pid").st_ino == 4026531836
    assert answer["ok"] != is_initial
    if is_initial:
        assert process.poll() is None


def test_a_carrier_keeps_nothing_of_the_link(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    """The link ends with the hand: whoever waits for its output must not wait for the carrier."""
    process = crowd.add(STUBBORN)
    run = name(request)
    wanted = order(run, [identity(process.pid)], step(15, [0]), step(9, [0], at=30.0))
    with hand() as program:
        program.send(1, "order", run=run, order=wanted)
        told(program, "signal")
        program.send(2, "bye")
        program.to_end()
    with hand() as program:
        program.send(1, "force", run=run)
        program.send(2, "report", run=run)
        told(program, "done")
        program.send(3, "fetched", run=run)
        told(program, "closed")
    assert code(process) == -9


def test_a_record_that_was_fetched_is_gone(
    hand: Hands, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    run = name(request)
    process = crowd.add()
    with hand() as program:
        program.send(1, "order", run=run, order=order(run, [identity(process.pid)], step(15, [0])))
        told(program, "done")
        program.send(2, "fetched", run=run)
        told(program, "closed")
    with hand() as program:
        program.send(1, "report", run=run)
        assert "no record" in program.of("ack", id=1)["error"]
