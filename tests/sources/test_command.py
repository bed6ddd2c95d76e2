"""The user's command: exit codes as a shell gives them, signals passed on once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpudash.sources.command import CommandError, run_command

RUN = """
import os, sys
from gpudash.sources.command import CommandError, run_command
try:
    sys.exit(run_command(sys.argv[1:], os.environ))
except CommandError as error:
    print(error.why, file=sys.stderr)
    sys.exit(error.code)
"""
REAL = 0x7FFF_FFFF
"""Without the real-time signals: what started the tests may ignore those."""
COUNTS = """
trap 'echo int' INT
trap 'echo term; exit 7' TERM
echo ready
while :; do read line && echo "got $line"; [ "$line" != end ] || exit 3; done
"""


def run(*argv: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", RUN, *argv],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        env=os.environ | env,
    )


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_an_exit_code_is_passed_through(code: int) -> None:
    assert run("sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_signal_is_128_and_more(number: int) -> None:
    assert run("sh", "-c", f"kill -{int(number)} $$").returncode == 128 + number


def test_what_is_not_there_is_127() -> None:
    done = run("no-such-command-anywhere")
    assert (done.returncode, done.stdout) == (127, b"")
    assert b"no-such-command-anywhere: No such file" in done.stderr
    done = run("")
    assert (done.returncode, done.stdout) == (127, b"")
    assert b"'': No such file" in done.stderr


def test_what_can_not_run_is_126(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("echo no")
    for path in (tmp_path, tmp_path / "plain"):
        assert run(str(path)).returncode == 126


def test_a_script_without_its_first_line_runs(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $1; exit 5\n")
    script.chmod(0o755)
    done = run(str(script), "a b")
    assert (done.returncode, done.stdout) == (5, b"a b\n")


def test_streams_and_environment_are_the_commands_own() -> None:
    done = run("sh", "-c", 'echo "$X"; echo err >&2', X="a b")
    assert (done.stdout, done.stderr) == (b"a b\n", b"err\n")


def test_signals_are_as_they_were() -> None:
    """Python ignores SIGPIPE: the command must not."""
    done = run("sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status")
    masks = {
        line.split(":")[0]: int(line.split()[1], 16) & REAL
        for line in done.stdout.decode().split("\n")
        if line
    }
    assert masks == {"SigBlk": 0, "SigIgn": 0}


def test_a_signal_to_us_is_passed_on() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUN, "sh", "-c", COUNTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        process.stdin.write(b"x\n")
        process.stdin.flush()
        rest = process.stdout.read()
        assert process.wait(60) == 7
    assert rest.endswith(b"term\n")


def test_ctrl_c_at_the_terminal_comes_once() -> None:
    master, slave = pty.openpty()
    script = f"import os, fcntl, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n{RUN}"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "sh", "-c", COUNTS],
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    seen = b""
    try:
        while b"ready" not in seen:
            seen += os.read(master, 1000)
        os.write(master, b"\x03")
        while b"int" not in seen:
            seen += os.read(master, 1000)
        os.write(master, b"one\n")
        while b"got one" not in seen:
            seen += os.read(master, 1000)
        os.write(master, b"end\n")
        assert process.wait(60) == 3
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert seen.count(b"int") == 1


def test_an_error_carries_its_code() -> None:
    with pytest.raises(CommandError) as found:
        run_command(["/no/such/thing"], {})
    assert (found.value.code, found.value.why) == (127, "/no/such/thing: No such file or directory")


def test_the_end_is_told_where_ends_of_children_were_ignored() -> None:
    ignoring = f"import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{RUN}"
    done = subprocess.run(
        [sys.executable, "-c", ignoring, "sh", "-c", "exit 7"],
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert done.returncode == 7
