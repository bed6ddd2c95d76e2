"""The hand as shipped follows logs: files, outputs of pids, commands, panes; and leaves nobody."""

from __future__ import annotations

import base64
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudash.probe.logpane import news
from gpudash.sources import shipping
from tests.probe.running import PATIENCE_S, Line, Program

SIT = "import sys; print('up', flush=True); sys.stdin.read()"
STAND_IN = """#!{python}
import json, os, sys
folder = {folder!r}
name = os.path.basename(sys.argv[0])
with open(folder + "/asked", "a") as file:
    file.write(json.dumps([name, os.getpid(), *sys.argv[1:]]) + "\\n")
sys.stdout.buffer.write(open(folder + "/" + name + ".out", "rb").read())
sys.stdout.flush()
code = int(open(folder + "/code").read())
if code:
    print("Error: no such thing", file=sys.stderr)
    sys.exit(code)
if "--follow" in sys.argv:
    import signal
    signal.pause()
"""


class Bench:
    """A folder with stand-ins for programs, and a hand that finds them first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        (folder / "code").write_text("0")
        (folder / "asked").write_text("")
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.program = Program(shipping.hand_payload(), dict(os.environ, PATH=path))
        self._number = 0

    def answers(self, name: str, data: bytes, code: int = 0) -> None:
        """Let a program print this."""
        script = self.folder / "bin" / name
        script.write_text(STAND_IN.format(python=sys.executable, folder=str(self.folder)))
        script.chmod(0o755)
        (self.folder / f"{name}.out").write_bytes(data)
        (self.folder / "code").write_text(str(code))

    def asked(self, least: int = 0) -> list[list[object]]:
        """Return what was asked for, once it was so often."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            lines = (self.folder / "asked").read_text().splitlines(keepends=True)
            if len(lines) >= least and all(line.endswith("\n") for line in lines):
                return [json.loads(line) for line in lines]
            assert time.monotonic() < deadline, lines
            select.select([], [], [], 0.01)

    def tail(self, of: dict[str, object], **more: object) -> Line:
        """Begin to follow; return the ack."""
        self._number += 1
        self.program.send(self._number, "tail", of=of, **more)
        return self.program.of("ack", id=self._number)

    def note(self, note: str) -> Line:
        return self.program.of("log", note=note)

    def data(self) -> tuple[bytes, Line]:
        """Return the next bytes and their line."""
        line = self.program.until(lambda line: line["t"] == "log" and bool(line.get("data")))
        return base64.b64decode(line["data"]), line


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    with bench.program:
        yield bench


def gone(pid: int) -> bool:
    """Wait until a process is gone; a zombie that nobody waits for is gone too."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        select.select([], [], [], 0.01)
    return False


# -- files -------------------------------------------------------------------------------------


def test_a_file_that_grows(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\n")
    assert bench.tail({"path": str(path)})["ok"]
    assert bench.note("opened")["line"] == 1
    assert bench.data()[0] == b"one\n"
    bench.note("live")
    with path.open("ab") as file:
        file.write(b"\xff\x00two")
    data, line = bench.data()
    assert (data, line["offset"], line["inode"]) == (b"\xff\x00two", 4, path.stat().st_ino)


def test_it_is_taken_up_by_inode_and_offset(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\ntwo\n")
    inode = path.stat().st_ino
    path.rename(tmp_path / "x.log.1")
    path.write_bytes(b"three\n")
    bench.tail({"path": str(path)}, **{"from": 4, "inode": inode})
    assert bench.data()[0] == b"two\n"
    assert bench.note("rotated")["offset"] == 0
    assert bench.data()[0] == b"three\n"


def test_once_ends_at_the_end(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"all of it\n" * 20_000)
    bench.tail({"path": str(path)}, once=True, **{"from": "start"})
    got = b""
    while True:
        line = bench.program.of("log")
        got += base64.b64decode(line.get("data", ""))
        if line.get("note") == "ended":
            break
    assert got == path.read_bytes()
    assert max(len(json.dumps(line)) for line in bench.program.lines) < 64 * 1024


def test_a_log_that_may_not_be_read(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    assert bench.tail({"path": str(path)})["error"] == f"{path} is a folder"
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in bench.tail({"path": str(tmp_path / "pipe")})["error"]
    assert not bench.tail({"path": ""})["ok"]
    assert not bench.tail({"what": "is this"})["ok"]


def test_who_writes_it_is_found_and_watched(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    with path.open("wb") as log:
        sitter = subprocess.Popen(
            [sys.executable, "-ISBc", SIT], stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    try:
        bench.tail({"path": str(path)})
        signs = bench.program.until(lambda line: "signs" in line)["signs"]
        assert (signs["pid"], signs["gone"], signs["pids"]) == (sitter.pid, False, [sitter.pid])
        assert signs["argv"][-1] == SIT
    finally:
        sitter.communicate()
    last = bench.program.until(lambda line: line.get("signs", {}).get("gone") is True)
    assert last["signs"]["pids"] == []


# -- where a pid's output goes -----------------------------------------------------------------


def sitting(**streams: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-ISBc", SIT], stdin=subprocess.PIPE, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_pid_with_a_file(bench: Bench, tmp_path: Path, is_deleted: bool) -> None:
    path = tmp_path / "x.log"
    with path.open("ab") as log:
        sitter = sitting(stdout=log, stderr=log)
        if is_deleted:
            path.unlink()
        try:
            assert bench.tail({"pid": sitter.pid})["ok"]
            data, _ = bench.data()
            while data != b"up\n":
                data += bench.data()[0]
            log.write(b"more\n")
            log.flush()
            assert bench.data()[0] == b"more\n"
        finally:
            sitter.communicate()


def test_a_pid_with_a_pipe_to_tee(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    sitter = sitting(stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    tee = subprocess.Popen(["tee", str(path)], stdin=sitter.stdout, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not path.exists() and time.monotonic() < deadline:
            select.select([], [], [], 0.01)
        assert sitter.stdout is not None
        sitter.stdout.close()
        assert bench.tail({"pid": sitter.pid})["ok"]
        assert bench.data()[0] == b"up\n"
    finally:
        assert sitter.stdin is not None
        sitter.stdin.close()
        sitter.wait()
        tee.wait()


def test_a_pid_whose_output_nobody_can_follow(bench: Bench) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull, "wb") as nothing:
        cases = {
            "goes into a pipe": {"stdout": subprocess.PIPE, "stderr": nothing},
            "goes into a socket": {"stdout": theirs, "stderr": theirs},
            "nothing is kept of it": {"stdout": nothing, "stderr": nothing},
        }
        for words, streams in cases.items():
            sitter = sitting(**streams)
            try:
                assert words in bench.tail({"pid": sitter.pid})["error"]
            finally:
                sitter.communicate()
    assert "can't be seen" in bench.tail({"pid": 4_194_303})["error"]


# -- commands ----------------------------------------------------------------------------------

STAMPED = b"2026-01-14T03:22:20.000000001Z one\n2026-01-14T03:22:21.5Z two\n"


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ({"container": "srv"}, "docker logs --timestamps --tail 50000 --follow srv"),
        ({"podman": "srv"}, "podman logs --timestamps --tail 50000 --follow srv"),
        (
            {"pod": "prod/srv-0"},
            "kubectl logs --timestamps --namespace prod --tail=50000 --follow srv-0",
        ),
    ],
)
def test_containers(bench: Bench, of: dict[str, object], words: str) -> None:
    argv = words.split()
    bench.answers(argv[0], STAMPED)
    assert bench.tail(of)["ok"]
    data, line = bench.data()
    assert data == STAMPED
    ((name, pid, *rest),) = bench.asked()
    assert [name, *rest] == argv
    bench.tail(of, cursor=line["cursor"])
    again = bench.asked(2)[1]
    assert any(str(word).endswith("2026-01-14T03:22:21.500000000Z") for word in again)
    bench.program.send(90, "bye")
    bench.program.to_end()
    assert gone(int(str(pid)))
    assert gone(int(str(again[1])))


def test_a_child_ends_when_the_hand_is_killed(bench: Bench) -> None:
    bench.answers("docker", STAMPED)
    bench.tail({"container": "srv"})
    bench.data()
    pid = int(str(bench.asked()[0][1]))
    bench.program.child.kill()
    assert gone(pid)


def test_untail_ends_the_child(bench: Bench) -> None:
    bench.answers("docker", STAMPED)
    bench.tail({"container": "srv"})
    bench.data()
    bench.program.send(50, "untail", tail=1)
    assert bench.program.of("ack", id=50)["ok"]
    assert gone(int(str(bench.asked()[0][1])))


def test_the_journal(bench: Bench) -> None:
    entry = {"MESSAGE": "hello", "__REALTIME_TIMESTAMP": "1768360940123456", "__CURSOR": "s=7"}
    bench.answers("journalctl", json.dumps(entry).encode() + b"\n")
    bench.tail({"unit": "srv.service"})
    data, line = bench.data()
    assert data == b"2026-01-14T03:22:20.123456Z hello\n"
    bench.tail({"unit": "srv.service"}, cursor=line["cursor"])
    bench.data()
    first, second = bench.asked()
    words = "--unit srv.service --output json --all --no-pager --lines=50000 --follow"
    assert first[2:] == words.split()
    assert "--after-cursor=s=7" in second


def test_a_command_that_fails_says_why(bench: Bench) -> None:
    bench.answers("kubectl", b"", code=1)
    bench.tail({"pod": "srv-0"})
    line = bench.note("ended")
    assert (line["code"], line["words"]) == (1, "Error: no such thing")


@pytest.mark.parametrize("name", ["--help", "", "a b", "x;y", "-n"])
def test_a_name_is_never_an_option(bench: Bench, name: str) -> None:
    bench.answers("docker", b"")
    assert "not a name" in bench.tail({"container": name})["error"]
    assert bench.asked() == []


def test_a_program_that_is_not_there(bench: Bench) -> None:
    assert "can't be started" in bench.tail({"argv": ["no-such-program-here"]})["error"]


def test_a_pane(bench: Bench) -> None:
    bench.answers("tmux", b"$ ./serve\nloading 1\n\n\n")
    bench.tail({"pane": "%3"})
    assert bench.data()[0] == b"$ ./serve\nloading 1"
    bench.answers("tmux", b"$ ./serve\nloading 2\nready\n\n")
    assert bench.data()[0] == b"\rloading 2\nready"
    assert bench.data()[0] == b"\n"
    pictures = [row[2:] for row in bench.asked() if "capture-pane" in row]
    assert pictures[0] == ["capture-pane", "-p", "-J", "-t", "%3", "-S", "-2000"]


@pytest.mark.parametrize(
    ("before", "after", "is_settled", "new"),
    [
        ([], [b"a", b"b"], False, b"a\nb"),
        ([b"a", b"b"], [b"a", b"b", b"c"], False, b"\nc"),
        ([b"a", b"b"], [b"a", b"b", b"c"], True, b"c"),
        ([b"a", b"b 1"], [b"a", b"b 12", b"c"], False, b"2\nc"),
        ([b"a", b"b 1"], [b"a", b"b 2"], False, b"\rb 2"),
        ([b"a", b"b 1"], [b"a", b"b 2"], True, b"b 2"),
        ([b"a", b"b", b"c"], [b"b", b"c", b"d"], False, b"\nd"),
        ([b"a", b"b"], [b"x", b"y"], False, b"\rx\ny"),
    ],
)
def test_from_one_picture_to_the_next(
    before: list[bytes], after: list[bytes], is_settled: bool, new: bytes
) -> None:
    assert news(before, after, is_settled) == new


def test_a_real_pane_by_the_pid_in_it() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        env = dict(os.environ, TMUX_TMPDIR=folder)
        env.pop("TMUX", None)
        script = (
            "import sys; print('begun'); sys.stdin.readline(); print('ready'); sys.stdin.read()"
        )
        new = ["tmux", "new-session", "-d", "-x", "80", "-y", "24", sys.executable, "-ISBc", script]
        subprocess.run(new, env=env, check=True)
        try:
            show = ["tmux", "list-panes", "-a", "-F", "#{pane_pid}"]
            pid = int(subprocess.run(show, env=env, check=True, capture_output=True).stdout)
            with Program(shipping.hand_payload(), env) as program:
                program.send(1, "tail", of={"pid": pid})
                assert program.of("ack")["ok"]
                got = b""
                while b"ready\n" not in got:
                    line = program.until(lambda line: bool(line.get("data")))
                    got += base64.b64decode(line["data"])
                    if got.endswith(b"begun\n"):
                        subprocess.run(["tmux", "send-keys", "Enter"], env=env, check=True)
        finally:
            subprocess.run(["tmux", "kill-server"], env=env, check=True)
