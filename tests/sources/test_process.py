"""Children: started, read, ended and waited for; no zombie and no descriptor is left."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudash.sources import process
from gpudash.sources.process import Child, abandoned
from tests.probe.running import reaped


def descriptors() -> set[str]:
    """Return our open descriptors, without the one that looks."""
    return {
        f"{name} {os.readlink(path)}"
        for name in os.listdir("/proc/self/fd")
        if os.path.lexists(path := f"/proc/self/fd/{name}")
    } - {f"{name} /proc/{os.getpid()}/fd" for name in os.listdir("/proc/self/fd")}


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() == before
    assert abandoned() == 0


def shell(script: str) -> Child:
    return Child(["/bin/sh", "-c", script])


def output_of(child: Child) -> bytes:
    got = b""
    while (data := child.read()) != b"":
        got += data or b""
        child.wait_readable(1.0)
    return got


def test_words_go_in_and_come_out() -> None:
    child = shell("read line; echo got $line; echo oops >&2; exit 3")
    child.write(b"this\n")
    assert output_of(child) == b"got this\n"
    assert child.end() == 3
    assert child.errors() == "oops"
    assert child.reap() == 3


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        Child(["/nonexistent/python3"])


def test_no_descriptors_left_for_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = os.pipe, []

    def pipe() -> tuple[int, int]:
        if len(made) == 2:
            raise OSError(errno.EMFILE, "Too many open files")
        made.append(real())
        return made[-1]

    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.raises(OSError, match="Too many"):
        Child(["/bin/true"])


def test_nothing_of_ours_is_inherited(tmp_path: Path) -> None:
    with open(tmp_path / "ours", "w") as ours:
        os.set_inheritable(ours.fileno(), False)
        child = shell("ls /proc/self/fd | wc -l")
        assert int(output_of(child)) == 4
        assert child.end() == 0


def test_it_ends_with_its_stdin() -> None:
    child = shell("cat >/dev/null")
    assert child.reap() is None
    assert child.end(patience_s=30.0) == 0


def test_who_does_not_end_is_killed() -> None:
    child = shell("trap '' TERM; while :; do sleep 1000 <&- >&- 2>&- & wait; done")
    pid = child.pid
    group = os.getpgid(pid)
    try:
        assert child.end(patience_s=0.05) == -signal.SIGKILL
    finally:
        os.killpg(group, signal.SIGKILL)
    assert not os.path.exists(f"/proc/{pid}")


def test_a_full_pipe_does_not_keep_it() -> None:
    child = shell("head -c 1000000 /dev/zero; cat")
    assert child.end(patience_s=30.0) == 0


def test_a_signal_is_a_negative_number() -> None:
    child = shell("kill -9 $$")
    assert reaped(child) == -9
    child.kill()
    assert child.end() == -9


def test_ending_twice_is_harmless() -> None:
    child = shell("exit 7")
    assert (child.end(30.0), child.end(30.0)) == (7, 7)
    child.close_stdin()
    child.close_pipes()
    assert not child.wait_readable(0)


def test_a_group_of_its_own() -> None:
    child = shell("cat")
    assert os.getpgid(child.pid) == child.pid
    assert child.end() == 0


def test_talk_on_stderr_blocks_nobody() -> None:
    child = shell("head -c 300000 /dev/zero | tr '\\0' x >&2; echo done")
    assert child.wait_readable(30.0)
    assert child.read() == b"done\n"
    assert reaped(child) == 0
    assert child.errors() == "x" * process.STDERR_TAIL
    child.end()


def test_what_nobody_reads_is_offered_without_waiting() -> None:
    child = shell("read line; cat")
    for _ in range(100):
        child.offer(b"x" * 5000)
    assert len(child._unsent) <= process.MAX_UNSENT
    child.kill()
    assert child.end() == -9
    child.offer(b"x")


def test_an_offer_that_did_not_fit_is_finished_by_the_next() -> None:
    child = shell("cat")
    total = 0
    received = b""
    for number in range(60):
        message = b"%d " % number * 500 + b"\n"
        child.offer(message)
        total += len(message)
    for _ in range(2000):
        received += child.read() or b""
        child.offer(b"")
        if len(received) == total:
            break
        child.wait_readable(0.01)
    assert received.count(b"\n") == 60
    child.end()


def test_who_can_not_be_ended_is_waited_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process that hangs in the driver: SIGKILL is pending and does nothing."""
    monkeypatch.setattr(Child, "kill", lambda self: None)
    child = shell("exec sleep 1000")
    assert child.end(patience_s=0.01) is None
    assert abandoned() == 1
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert abandoned() == 0
    assert child.reap() == -9
