"""Programs that the hand starts: in a session of their own, logged from the first byte, told."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudash.core.events import Exited, Launched
from gpudash.sources import shipping
from tests.cli.running import is_running, wait_for
from tests.probe.running import Program

SERVER = """
import json, os, signal, sys, threading
said = {
    "env": {k: v for k, v in os.environ.items() if k.isupper()},
    "cwd": os.getcwd(),
    "sid": os.getsid(0),
    "stdin": os.read(0, 10).decode(),
    "tty": os.isatty(1),
    "hup": signal.getsignal(signal.SIGHUP) == signal.SIG_DFL,
    "fds": sorted(int(name) for name in os.listdir("/proc/self/fd")),
}
print(json.dumps(said), flush=True)
print("to stderr", file=sys.stderr)
open(sys.argv[1], "rb").read()
print("over", flush=True)
"""


@pytest.fixture
def hand() -> Iterator[Program]:
    with Program(shipping.hand_payload(), dict(os.environ)) as program:
        yield program


class Server:
    """A program that runs until its pipe is closed."""

    def __init__(self, folder: Path) -> None:
        self.pipe = folder / "pipe"
        os.mkfifo(self.pipe)
        self.argv = [sys.executable, "-c", SERVER, str(self.pipe)]
        self.launched: Launched | None = None

    def start(self, hand: Program, **more: Any) -> Launched:
        self.launched = launch(hand, self.argv, **more)
        return self.launched

    @property
    def log(self) -> str:
        assert self.launched is not None
        return Path(self.launched.log).read_text()

    def said(self) -> dict[str, Any]:
        wait_for(lambda: "to stderr" in self.log)
        found = json.loads(self.log.splitlines()[0])
        assert isinstance(found, dict)
        return found

    def end(self) -> None:
        """Let it end, as soon as it waits for that."""
        wait_for(lambda: self._has_let_go() or self._has_ended())

    def _has_let_go(self) -> bool:
        try:
            os.close(os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def _has_ended(self) -> bool:
        return self.launched is None or not is_running(self.launched.pid)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    one = Server(tmp_path)
    yield one
    one.end()
    wait_for(one._has_ended)


def launch(hand: Program, argv: list[str], **more: Any) -> Launched:
    hand.send(7, "launch", argv=argv, **more)
    answer = hand.of("ack", id=7)
    assert answer["ok"], answer
    return next(event for event in hand.events if isinstance(event, Launched))


def refused(hand: Program, **command: Any) -> str:
    hand.send(9, "launch", **command)
    answer = hand.of("ack", id=9)
    assert not answer["ok"]
    assert not [event for event in hand.events if isinstance(event, Launched)]
    return str(answer["error"])


def exited(hand: Program) -> int | None:
    hand.of("exited")
    return next(event for event in hand.events if isinstance(event, Exited)).code


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_what_a_program_finds(hand: Program, server: Server, tmp_path: Path) -> None:
    got = server.start(hand, cwd=str(tmp_path), env={"MODEL": "x", "COLUMNS": "99"})
    said = server.said()
    assert said["env"]["PYTHONUNBUFFERED"] == "1"
    assert said["env"]["COLUMNS"] == "99"
    assert said["env"]["MODEL"] == "x"
    assert said["cwd"] == got.cwd == str(tmp_path)
    assert (said["sid"], said["stdin"], said["tty"]) == (got.pid, "", False)
    assert said["hup"]
    assert said["fds"][:3] == [0, 1, 2]
    assert len(said["fds"]) <= 4, "the listing itself is one more"
    assert "to stderr" in server.log
    log = Path(got.log)
    assert log.parent == tmp_path
    assert log.name.startswith(Path(sys.executable).name)
    assert log.suffix == ".log"
    assert (got.inode, got.offset) == (log.stat().st_ino, 0)
    server.end()
    assert exited(hand) == 0
    assert server.log.endswith("over\n")


def test_it_outlives_the_hand_and_nothing_else_does(hand: Program, server: Server) -> None:
    got = server.start(hand, cwd=str(server.pipe.parent))
    server.said()
    keeper = parent_of(got.pid)
    assert keeper != hand.child.pid
    os.kill(hand.child.pid, signal.SIGKILL)
    wait_for(lambda: not is_running(keeper))
    assert is_running(got.pid)
    wait_for(lambda: parent_of(got.pid) != keeper)
    server.end()
    wait_for(lambda: not is_running(got.pid))
    assert server.log.endswith("over\n")


def test_it_outlives_the_end_of_stdin(hand: Program, server: Server) -> None:
    got = server.start(hand, cwd=str(server.pipe.parent))
    keeper = parent_of(got.pid)
    hand.child.close_stdin()
    assert hand.status() == 0
    wait_for(lambda: not is_running(keeper))
    assert is_running(got.pid)


@pytest.mark.parametrize(
    ("script", "code"),
    [("import sys; sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("", 0)],
)
def test_how_it_ended(hand: Program, tmp_path: Path, script: str, code: int) -> None:
    launch(hand, [sys.executable, "-c", script], cwd=str(tmp_path))
    assert exited(hand) == code


def test_two_of_a_name_have_logs_of_their_own(hand: Program, tmp_path: Path) -> None:
    for number in (1, 2):
        hand.send(number, "launch", argv=["true"], cwd=str(tmp_path), name="two words/x")
        assert hand.of("ack", id=number)["ok"]
    logs = [event.log for event in hand.events if isinstance(event, Launched)]
    assert len(set(logs)) == 2
    assert all(Path(log).name.startswith("two_words_x-") for log in logs)


def test_a_named_log_is_gone_on_with(hand: Program, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("before\n")
    got = launch(hand, ["echo", "after"], cwd=str(tmp_path), log="a.log")
    assert exited(hand) == 0
    assert got.offset == len("before\n")
    assert log.read_text() == "before\nafter\n"


def test_a_script_without_its_first_line(hand: Program, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text('echo "$1"\nexit 5\n')
    script.chmod(0o755)
    got = launch(hand, ["./run.sh", "hello"], cwd=str(tmp_path))
    assert exited(hand) == 5
    assert Path(got.log).read_text() == "hello\n"


def test_a_virtual_environment_comes_first(hand: Program, tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    program = programs / "serve"
    program.write_text('#!/bin/sh\necho "$VIRTUAL_ENV $PYTHONHOME"\n')
    program.chmod(0o755)
    got = launch(hand, ["serve"], cwd=str(tmp_path), venv="venv")
    assert exited(hand) == 0
    assert Path(got.log).read_text() == f"{tmp_path / 'venv'} \n"


def test_a_login_shell_gives_its_environment(hand: Program, tmp_path: Path) -> None:
    got = launch(hand, ["env"], cwd=str(tmp_path), login=True, env={"MINE": "1"})
    assert exited(hand) == 0
    lines = Path(got.log).read_text().splitlines()
    assert "MINE=1" in lines
    assert "PYTHONUNBUFFERED=1" in lines
    assert any(line.startswith("PATH=") for line in lines)


def test_words_that_are_no_text(hand: Program, tmp_path: Path) -> None:
    words = ["printf", "%s|", os.fsdecode(b"\xff\xfe"), "日本"]
    got = launch(hand, words, cwd=str(tmp_path), log="a.log")
    assert exited(hand) == 0
    assert Path(got.log).read_bytes() == b"\xff\xfe|" + "日本|".encode()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["no-such-program"], "no-such-program: no such program in PATH"),
        (["./nothing"], "./nothing: No such file or directory"),
        (["./plain"], "./plain: Permission denied"),
        (["./odd"], "./odd: the program that its first line names is not there"),
        (["."], ".: Permission denied"),
    ],
)
def test_what_can_not_be_executed_was_never_started(
    hand: Program, tmp_path: Path, argv: list[str], words: str
) -> None:
    (tmp_path / "plain").write_text("x")
    odd = tmp_path / "odd"
    odd.write_text("#!/no/such/shell\n")
    odd.chmod(0o755)
    before = set(os.listdir(tmp_path))
    assert refused(hand, argv=argv, cwd=str(tmp_path)) == words
    assert set(os.listdir(tmp_path)) == before, "no log is left of it"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"argv": []}, "argv must be a list of words"),
        ({"argv": [""]}, "argv must be a list of words"),
        ({"argv": ["a", 1]}, "argv must be a list of words"),
        ({"argv": ["a\0b"]}, "argv must be a list of words"),
        ({"argv": ["true"], "env": {"A=B": "x"}}, "has no ="),
        ({"argv": ["true"], "env": ["A"]}, "names and values"),
        ({"argv": ["true"], "cwd": ""}, "cwd must be a path"),
        ({"argv": ["true"], "pty": 80}, "pty must be rows and columns"),
        ({"argv": ["true"], "cwd": "/no/such"}, "/no/such: no such folder"),
        ({"argv": ["true"], "cwd": "/", "log": "/no/such/x.log"}, "/no/such/x.log can't be"),
        ({"argv": ["true"], "cwd": "/", "log": "/dev/null"}, "/dev/null is no file"),
        ({"argv": ["true"], "cwd": "/", "log": "/proc"}, "/proc can't be written"),
        ({"argv": ["true"], "cwd": "/", "venv": "/no/such"}, "/no/such: no virtual"),
    ],
)
def test_what_is_no_launch(hand: Program, command: dict[str, Any], words: str) -> None:
    assert words in refused(hand, **command)


def test_a_terminal_for_its_output(hand: Program, server: Server, tmp_path: Path) -> None:
    got = server.start(hand, cwd=str(tmp_path), pty=[30, 123])
    said = server.said()
    assert (said["tty"], said["stdin"], said["sid"]) == (True, "", got.pid)
    assert said["env"]["COLUMNS"] == "123"
    assert "to stderr\r\n" in Path(got.log).read_bytes().decode()
    server.end()
    assert exited(hand) == 0
    assert server.log.endswith("over\n")


def test_a_terminal_ends_with_the_hand(hand: Program, server: Server, tmp_path: Path) -> None:
    got = server.start(hand, cwd=str(tmp_path), pty=[30, 123])
    server.said()
    hand.child.close_stdin()
    wait_for(lambda: not is_running(got.pid))


def test_a_pipe_is_no_log(hand: Program, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "can't be written" in refused(hand, argv=["true"], cwd=str(tmp_path), log="pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
