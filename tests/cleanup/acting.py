"""Processes of a scene: forked from it, each plays a function, and tells of every signal it gets.

What happened stands in the events of the scene, one line each, written by the processes
themselves and by whoever waits for them: never by gpudash. All end with their room.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tests.fake_driver import FakeDriver
from tests.isolation.stage import FULL, GIB, ZERO

EVENTS = "events"
FAILED = 70
"""How an actor ends that could not play."""
STANDINS = (FULL, ZERO, "/dev/random", "/dev/urandom")
"""Of GPU 0 to 3."""
TOLD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCONT)
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_ARG_START, _ARG_END, _ENV_START, _ENV_END = 45, 46, 47, 48
"""Places in /proc/PID/stat behind the name."""

Play = Callable[["Actor"], None]


def tell(folder: Path, pid: int, word: str) -> None:
    """Add a line to the events of a scene."""
    line = f"{time.monotonic_ns()} {pid} {word}\n"
    handle = os.open(folder / EVENTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(handle, line.encode())
    os.close(handle)


def told(folder: Path) -> list[tuple[int, str]]:
    """Return all events, the oldest first."""
    try:
        lines = (folder / EVENTS).read_text().splitlines()
    except FileNotFoundError:
        return []
    rows = sorted(line.split(" ", 2) for line in lines)
    return [(int(pid), word) for _, pid, word in rows]


def exit_word(status: int) -> str:
    """Return `exit 0`, or `exit -9` for one that a signal ended."""
    return f"exit {os.waitstatus_to_exitcode(status)}"


class Actor:
    """What a process of a scene can do; made in the process itself."""

    def __init__(self, driver: FakeDriver, folder: Path, ready: int) -> None:
        self.driver = driver
        self.folder = folder
        self._ready: int | None = ready
        self._children: list[int] = []
        for number in TOLD:
            signal.signal(number, self._hear)

    @property
    def pid(self) -> int:
        """Return its pid as the room's /proc has it."""
        return int(os.readlink("/proc/self"))

    # -- signals -------------------------------------------------------------------------------

    def _hear(self, number: int, _frame: object) -> None:
        self.log(signal.Signals(number).name[3:])
        if number != signal.SIGCONT:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def log(self, word: str) -> None:
        """Tell of something."""
        tell(self.folder, self.pid, word)

    def on_term(self, play: Play) -> None:
        """Do something else than end when asked to end."""

        def hear(_number: int, _frame: object) -> None:
            self.log("TERM")
            play(self)

        signal.signal(signal.SIGTERM, hear)

    def ignore_term(self) -> None:
        """Hear that it is asked to end and go on."""
        self.on_term(lambda _: None)

    # -- what others see of it -----------------------------------------------------------------

    def name(self, name: str) -> None:
        """Change the name in /proc/PID/comm, as prctl does it: 15 bytes."""
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)

    def title(self, *words: str, name: str | None = None) -> None:
        """Write over argv: one word as setproctitle leaves it, several as a command line."""
        self._write_over(_ARG_START, _ARG_END, words)
        self.name(name or words[0].rpartition("/")[2])

    def env(self, **hints: str) -> None:
        """Write over the environment that others read."""
        self._write_over(_ENV_START, _ENV_END, tuple(f"{k}={v}" for k, v in hints.items()))

    def _write_over(self, first: int, last: int, words: tuple[str, ...]) -> None:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[first]), int(fields[last])
        text = "\0".join(words).encode()
        assert len(text) < end - start, "there is no room for that many words"
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, len(text))

    def become(self, uid: int) -> None:
        """Become another user; what was opened before stays open."""
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)

    # -- what it holds -------------------------------------------------------------------------

    def hold(
        self,
        *gpus: int,
        used: int = GIB,
        kind: str = "C",
        opens: bool = True,
        listed: int | None = None,
    ) -> int:
        """Hold memory on GPUs under a listed pid, with their stand-ins open; return the handle.

        The memory is in use while any process has the handle.
        """
        pid = self.pid if listed is None else listed
        path = self.driver.folder / f"held-{pid}-{time.monotonic_ns()}"
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        rows = "".join(f"{gpu} hold {pid} {kind} {used} {path}\n" for gpu in gpus)
        holds = f"{self.driver.state_file}.holds"
        file = os.open(holds, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, rows.encode())
        os.close(file)
        if opens:
            self.open(*(STANDINS[gpu] for gpu in gpus))
        return handle

    def open(self, *paths: str) -> None:
        """Open devices or files and keep them."""
        for path in paths:
            os.open(path, os.O_RDWR | os.O_CLOEXEC)

    # -- others --------------------------------------------------------------------------------

    def fork(self, play: Play, role: str = "", *, session: bool = False) -> int:
        """Start a child that has all handles of this one; wait until it is up."""
        ready = self._ready
        pid = start(self.driver, self.folder, play, role, session=session, closes=ready)
        self._children.append(pid)
        return pid

    def wait(self, *pids: int) -> None:
        """Wait for children, for all of them without a pid, and tell how they ended."""
        for pid in pids or tuple(self._children):
            gone, status = os.waitpid(pid, os.WNOHANG)
            while not gone:
                time.sleep(0.01)
                gone, status = os.waitpid(pid, os.WNOHANG)
            self._children.remove(pid)
            tell(self.folder, pid, exit_word(status))

    def adopt_orphans(self) -> None:
        """Take in whoever loses its parent below, as a login manager does."""
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    # -- the course of its life ----------------------------------------------------------------

    def up(self) -> None:
        """Tell whoever started it that it may go on."""
        if self._ready is not None:
            os.write(self._ready, b"\n")
            os.close(self._ready)
            self._ready = None

    def rest(self) -> NoReturn:
        """Do nothing until a signal ends it.

        Signals are blocked and waited for: one that came just before a pause would be slept over.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, TOLD)
        self.up()
        while True:
            number = signal.sigwait(TOLD)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, TOLD)
            handler = signal.getsignal(number)
            if callable(handler):
                handler(number, None)
            signal.pthread_sigmask(signal.SIG_BLOCK, TOLD)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Look until something is so."""
        while not is_so():
            time.sleep(0.01)

    def end(self, code: int = 0) -> NoReturn:
        """End at once."""
        os._exit(code)


def start(
    driver: FakeDriver,
    folder: Path,
    play: Play,
    role: str = "",
    *,
    session: bool = False,
    group: bool = False,
    closes: int | None = None,
    closes_all: bool = False,
) -> int:
    """Fork a process that plays; return its pid once it is up, or has ended."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _play(driver, folder, play, write, session, group, closes, closes_all)
    os.close(write)
    if role:
        tell(folder, pid, f"is {role}")
    is_up = bool(os.read(read, 16))
    os.close(read)
    if not is_up:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended is None or ended.si_status != FAILED, "an actor failed"
    return pid


def _play(
    driver: FakeDriver,
    folder: Path,
    play: Play,
    ready: int,
    session: bool,
    group: bool,
    closes: int | None,
    closes_all: bool,
) -> NoReturn:
    try:
        if session:
            os.setsid()
        elif group:
            os.setpgid(0, 0)
        if closes is not None:
            os.close(closes)
        if closes_all:
            limit = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 4096)
            os.closerange(3, ready)
            os.closerange(ready + 1, limit)
        actor = Actor(driver, folder, ready)
        if closes_all:
            actor.env(HOME="/")
            actor.title("python", "train.py")
        play(actor)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(FAILED)
    os._exit(0)
