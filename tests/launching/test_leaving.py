"""What becomes of a server when gpudash leaves, is killed, or is asked to end it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.cleaning.scenes import clean
from tests.cleaning.terminal import Terminal
from tests.cli.running import is_running, wait_for
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage
from tests.launching.playing import Show, ask, end_server

MIB = 1 << 20


def launched(show: Show) -> dict[str, Any]:
    """Wait until a server was launched; return its line of the record."""

    def lines() -> list[dict[str, Any]]:
        records = show.records()
        return [one for one in records[-1] if one["kind"] == "launched"] if records else []

    wait_for(lambda: bool(lines()))
    return lines()[0]


def wait_for_kind(show: Show, kind: str) -> None:
    wait_for(lambda: bool(show.records()) and kind in show.kinds())


@in_a_room
def test_killed_after_ready_the_server_answers_and_logs_on(stage: Stage) -> None:
    show = Show(stage)
    process = stage.begin_gpudash(*show.words(show.play(), "--stay"))
    line = launched(show)
    wait_for_kind(show, "ready")
    process.kill()
    process.wait()
    log = Path(line["log"])
    before = log.stat().st_size
    assert ask("/more") == 200
    assert log.stat().st_size == before + MIB
    assert ask("/health") == 200
    # Nothing else of ours is left: the server, and this scene.
    wait_for(lambda: others(line["pid"]) == [])
    end_server(line["pid"])


def others(server: int) -> list[str]:
    """Return the command lines of who is here beside the room, the scene and the server."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        if pid in (1, os.getpid(), server) or not is_running(pid):
            continue
        found.append((path / "cmdline").read_bytes().decode())
    return found


@in_a_room
def test_a_hangup_detaches(stage: Stage) -> None:
    show = Show(stage)
    process = stage.begin_gpudash(*show.words(show.play(until=20, take_at=5)))
    line = launched(show)
    wait_for_kind(show, "phase")
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"pid {line['pid']} runs on; its log: {line['log']}".encode() in err
    assert is_running(line["pid"])
    wait_for(lambda: others(line["pid"]) == [])


def begun(show: Show, *flags: str, **play: Any) -> tuple[Terminal, int]:
    """Launch at a terminal a server that hangs half-way; return both."""
    terminal = Terminal(show.stage, *show.words(show.play(until=20, **play), *flags))
    pid = launched(show)["pid"]
    terminal.read_until(b"launch done")
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until(b"go on.")
    return terminal, pid


@in_a_room
def test_detach_leaves_it(stage: Stage) -> None:
    show = Show(stage)
    terminal, pid = begun(show)
    terminal.type(b"d\n")
    assert terminal.code() == 130
    assert f"pid {pid} runs on".encode() in terminal.seen
    assert is_running(pid)


@in_a_room
def test_a_second_interruption_leaves_it(stage: Stage) -> None:
    show = Show(stage)
    terminal, pid = begun(show)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.code() == 130
    assert is_running(pid)


@in_a_room
def test_stop_ends_all_of_it_by_an_order(stage: Stage) -> None:
    show = Show(stage)
    terminal, pid = begun(show, workers=2)
    terminal.type(b"s\n")
    assert terminal.code() == 130, terminal.seen.decode()
    assert not is_running(pid)
    assert b"it has ended: 3 processes" in terminal.seen
    record = show.records()[-1]
    signals = [(one["pid"], one["signal"]) for one in record if one["kind"] == "signal"]
    assert signals[0] == (pid, "TERM")
    kinds = [one["kind"] for one in record if one["kind"] in ("launched", "order", "released")]
    assert kinds == ["launched", "order", "released"], [
        (one["kind"], one["says"]) for one in record
    ]
    assert others(pid) == []


@in_a_room
def test_kill_forces_it(stage: Stage) -> None:
    show = Show(stage)
    terminal, pid = begun(show, workers=1)
    terminal.type(b"k\n")
    assert terminal.code() == 130, terminal.seen.decode()
    assert not is_running(pid)
    record = show.records()[-1]
    assert {one["signal"] for one in record if one["kind"] == "signal"} == {"KILL"}
    assert others(pid) == []


@in_a_room
def test_anything_else_goes_on(stage: Stage) -> None:
    show = Show(stage)
    terminal, pid = begun(show)
    terminal.type(b"what\n")
    terminal.read_until(b"it is followed on")
    terminal.seen = b""
    terminal.process.send_signal(signal.SIGTERM)
    terminal.read_until(b"go on.")
    terminal.type(b"d\n")
    assert terminal.code() == 130
    assert is_running(pid)


@in_a_room
def test_an_end_that_nobody_was_told_of_is_seen(stage: Stage) -> None:
    """As when the link is cut: the hand that launched is gone, and its keeper with it."""
    show = Show(stage)
    process = stage.begin_gpudash(*show.words(show.play(until=20, take_at=5)))
    line = launched(show)
    wait_for_kind(show, "phase")
    keeper = int(Path(f"/proc/{line['pid']}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    wait_for(lambda: not is_running(keeper))
    os.kill(line["pid"], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 7, err.decode()
    assert b"runs on" not in err


@in_a_room
def test_staying_ends_with_the_commands_own_code(stage: Stage) -> None:
    show = Show(stage)
    report = stage.folder / "report.json"
    words = show.words(show.play(), "--stay", "--report", str(report))
    process = stage.begin_gpudash(*words)
    line = launched(show)
    wait_for_kind(show, "ready")
    os.kill(line["pid"], signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err.decode()
    told = json.loads(report.read_text())
    assert (told["spoke"], told["exit_code"], told["command_code"]) == ("command", 143, 143)
    assert told["ready"]
    assert not told["runs"]


@in_a_room
def test_a_cleanup_beside_it_ends_the_server_and_not_its_keeper(stage: Stage) -> None:
    show = Show(stage)
    process = stage.begin_gpudash(*show.words(show.play(), "--stay"))
    line = launched(show)
    wait_for_kind(show, "ready")
    done = clean(stage, "--yes", "--hold", "500ms")
    assert done.code == 0, done.text
    assert [one["root_pid"] for one in done.host["plan"]["families"]] == [line["pid"]]
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143, err.decode()
    assert err.decode().splitlines()[-1] == "gpudash: CMD exited 143"
