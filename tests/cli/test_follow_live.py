"""`gpudash follow` of what still runs: narration, report, exit codes, records; nobody is left."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import PATIENCE_S, Done, Runner, command

FOLDER = Path(__file__).parents[1] / "data" / "startup-logs"
READY = (FOLDER / "sglang_0.5.8_kimi_k2_tp8_eagle3_ok.log").read_bytes()
FAILED = (FOLDER / "sglang_0.5.9_graph_capture_oom.log").read_bytes()


class Running:
    """A `gpudash follow` under way."""

    def __init__(self, runner: Runner, *words: str, **changes: str) -> None:
        self.process = subprocess.Popen(
            command("follow", *words),
            env=runner.env(None, **changes),
            cwd=runner.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.err = b""

    def says(self, words: str) -> None:
        """Wait until it says so on stderr."""
        stream = self.process.stderr
        assert stream is not None
        deadline = time.monotonic() + PATIENCE_S
        while words.encode() not in self.err:
            assert time.monotonic() < deadline, self.err
            if select.select([stream], [], [], 0.2)[0]:
                data = os.read(stream.fileno(), 65536)
                assert data, self.err
                self.err += data

    def done(self) -> Done:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        err = self.err + err
        assert b"Traceback" not in err, err.decode()
        return Done(self.process.returncode, out.decode(), err.decode())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "srv.log"
    path.write_bytes(READY[: len(READY) // 2])
    return path


@pytest.fixture
def started(gpudash_command: Runner) -> Iterator[list[Running]]:
    running: list[Running] = []
    yield running
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_to_ready(gpudash_command: Runner, log: Path, started: list[Running]) -> None:
    state = str(log.parent / "state")
    running = Running(gpudash_command, "--log", str(log), "--format", "json", XDG_STATE_HOME=state)
    started.append(running)
    running.says("process group done")
    add(log, READY[len(READY) // 2 :])
    done = running.done()
    assert done.code == 0
    told = json.loads(done.out)
    assert (told["engine"], told["ready_line"]) == ("sglang", 147)
    assert "gpudash: READY after 11m (by log)" in done.err
    record = gpudash_command(None, "explain", XDG_STATE_HOME=state)
    assert "weights done  9m 35s  62/62 shards" in record.out
    assert "it is ready (exit 0)" in record.out


def test_failed(gpudash_command: Runner, log: Path, started: list[Running]) -> None:
    log.write_bytes(FAILED)
    running = Running(gpudash_command, "--log", str(log))
    started.append(running)
    done = running.done()
    assert done.code == 7
    assert "FAILED: CUDA out of memory during CUDA graph capture" in done.err
    assert done.out.rstrip().splitlines()[-1].startswith("line 62: CUDA out of memory")


def test_out_of_time(gpudash_command: Runner, log: Path) -> None:
    done = gpudash_command(None, "follow", "--log", str(log), "--timeout", "2s")
    assert done.code == 5
    assert "neither ready nor failed within 2 s" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(
    gpudash_command: Runner, log: Path, started: list[Running], number: signal.Signals
) -> None:
    running = Running(gpudash_command, "--log", str(log))
    started.append(running)
    running.says("process group done")
    running.process.send_signal(number)
    done = running.done()
    assert done.code == 130
    assert "PHASE" in done.out


def test_a_log_that_is_waited_for(
    gpudash_command: Runner, tmp_path: Path, started: list[Running]
) -> None:
    path = tmp_path / "later.log"
    running = Running(gpudash_command, "--log", str(path))
    started.append(running)
    running.says("gpudash: the log is not there yet")
    path.write_bytes(READY)
    done = running.done()
    assert done.code == 0
    assert "no process has this log as its output now" in done.err


def test_stdin(gpudash_command: Runner, tmp_path: Path, started: list[Running]) -> None:
    running = Running(gpudash_command, "--log", "-")
    started.append(running)
    assert running.process.stdin is not None
    running.process.stdin.write(READY)
    running.process.stdin.flush()
    running.says("READY")
    assert running.done().code == 0


def test_stdin_that_says_nothing_does_not_keep_us(
    gpudash_command: Runner, started: list[Running]
) -> None:
    running = Running(gpudash_command, "--log", "-")
    started.append(running)
    assert running.process.stdin is not None
    running.process.stdin.write(READY[:2000])
    running.process.stdin.flush()
    running.says("launch")
    running.process.send_signal(signal.SIGINT)
    # It leaves while its stdin is still open.
    assert running.process.wait(PATIENCE_S) == 130
    running.done()


def test_stdin_that_is_a_file(gpudash_command: Runner, tmp_path: Path) -> None:
    path = tmp_path / "srv.log"
    path.write_bytes(READY)
    with path.open("rb") as file:
        done = subprocess.run(
            command("follow", "--log", "-"),
            env=gpudash_command.env(None),
            cwd=gpudash_command.folder,
            stdin=file,
            capture_output=True,
            timeout=PATIENCE_S,
        )
    assert (done.returncode, b"READY" in done.stdout) == (0, True)


def test_stdin_that_ends(gpudash_command: Runner, started: list[Running]) -> None:
    running = Running(gpudash_command, "--log", "-")
    started.append(running)
    assert running.process.stdin is not None
    running.process.stdin.write(b"hello\n")
    done = running.done()
    assert done.code == 4
    assert "its log has ended, neither ready nor failed" in done.err


def test_a_process_that_is_killed(
    gpudash_command: Runner, log: Path, started: list[Running]
) -> None:
    with log.open("ab") as output:
        server = subprocess.Popen(
            [sys.executable, "-ISBc", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    try:
        running = Running(gpudash_command, "--pid", str(server.pid))
        started.append(running)
        running.says("process group done")
    finally:
        server.kill()
        server.communicate()
    done = running.done()
    assert done.code == 4
    assert "its process has ended, neither ready nor failed" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "which log?"),
        (("--log", "x", "--pid", "3"), "--log and --pid: one log at a time"),
        (("--pid", "x"), "--pid x: not a pid"),
        (("--log", "/"), "/ is a folder"),
        (("--log", "-", "--host", "gpu-a"), "this machine's stdin"),
        (("--log", "x", "--once", "--stay"), "one of them"),
        (("--log", "x", "--url", "localhost"), "begins with http"),
        (("--container", "no-such", "--timeout", "9s"), "docker can't be started"),
        (("--pid", "4194303"), "can't be seen"),
    ],
)
def test_usage(gpudash_command: Runner, words: tuple[str, ...], says: str) -> None:
    done = gpudash_command(None, "follow", *words)
    assert done.code == 2
    assert says in done.err
    assert done.out == ""


def test_ready_then_failed(gpudash_command: Runner, log: Path, started: list[Running]) -> None:
    log.write_bytes(READY)
    running = Running(gpudash_command, "--log", str(log), "--stay")
    started.append(running)
    running.says("READY")
    add(
        log,
        b"[2026-01-14 03:40:00 TP3] torch.OutOfMemoryError: CUDA out of memory. Tried to "
        b"allocate 1.25 GiB. GPU 3 has a total capacity of 139.72 GiB of which 861.62 MiB "
        b"is free.\n",
    )
    done = running.done()
    assert done.code == 7
    assert "ready, then failed at +" in done.err
