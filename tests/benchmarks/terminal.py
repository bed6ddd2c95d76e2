"""Run a full-screen program in a pseudo-terminal and look at it from outside.

A thread takes what it writes and notes when; nothing is answered and nothing is interpreted
while it runs, so that looking does not disturb. Afterwards `Recording` tells what was on the
screen when.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from tests.benchmarks.screen import Screen

KEEP_BYTES = 4 << 20


class Recording:
    """Chunks of output with the seconds since the program's start."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.total_bytes = 0
        self.chunks: list[tuple[float, bytes]] = []
        self._kept = 0

    def take(self, at_s: float, data: bytes) -> None:
        """Keep the beginning, count the rest."""
        self.total_bytes += len(data)
        if self._kept < KEEP_BYTES:
            self._kept += len(data)
            self.chunks.append((at_s, data))

    def first_s(self, is_there: Callable[[Screen], bool]) -> float | None:
        """Return when the screen first looked so, or None."""
        screen = Screen(self.width, self.height)
        for at_s, data in self.chunks:
            screen.feed(data)
            if is_there(screen):
                return at_s
        return None

    def first_paint_s(self) -> float | None:
        """Return when something visible was first on the screen."""
        return self.first_s(lambda screen: not screen.is_blank)

    def first_match_s(self, pattern: str) -> float | None:
        """Return when the pattern was first on the screen."""
        wanted = re.compile(pattern)
        return self.first_s(lambda screen: wanted.search(screen.text()) is not None)

    def screen_text(self) -> str:
        """Return what is on the screen at the end of what was kept."""
        screen = Screen(self.width, self.height)
        for _, data in self.chunks:
            screen.feed(data)
        return screen.text()


class Terminal:
    """A running program with a terminal of its own; a context manager that ends it."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        width: int = 200,
        height: int = 50,
    ) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        name = os.ttyname(slave)
        self.recording = Recording(width, height)
        self._started_s = time.monotonic()
        # A session leader that opens a terminal gets it as its controlling one.
        self.pid = os.posix_spawnp(
            argv[0],
            list(argv),
            {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 0, 1),
                (os.POSIX_SPAWN_DUP2, 0, 2),
            ],
            setsid=True,
        )
        os.close(slave)
        self._status: int | None = None
        self._may_read = threading.Event()
        self._may_read.set()
        self._is_open = True
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        while self._may_read.wait() and self._is_open:
            try:
                data = os.read(self._master, 65536)
            except OSError:  # EIO: nobody has the other end open any more
                return
            if not data:
                return
            self.recording.take(time.monotonic() - self._started_s, data)

    @property
    def has_ended(self) -> bool:
        """Tell whether the program ended."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = status
        return self._status is not None

    @property
    def exit_code(self) -> int | None:
        """Return how the program ended (a signal as a negative number), or None while it runs."""
        return os.waitstatus_to_exitcode(self._status or 0) if self.has_ended else None

    def press(self, keys: str) -> None:
        """Send keys."""
        with contextlib.suppress(OSError):
            if select.select([], [self._master], [], 0)[1]:
                os.write(self._master, keys.encode())

    def stop_reading(self) -> None:
        """Take no more of what the program writes, after the next piece."""
        self._may_read.clear()

    def hang_up(self) -> None:
        """Let the terminal be gone, whatever it was not asked for yet."""
        if self._is_open:
            self._is_open = False
            os.close(self._master)
        self._may_read.set()

    def end(self, quit_key: str = "q", patience_s: float = 3.0) -> None:
        """End the program by its key, else by SIGTERM, else by SIGKILL."""
        self._may_read.set()
        if self._is_open:
            self.press(quit_key)
        for number in (signal.SIGTERM, signal.SIGKILL, None):
            deadline = time.monotonic() + patience_s
            while not self.has_ended and time.monotonic() < deadline:
                time.sleep(0.02)
            if self.has_ended or number is None:
                break
            os.kill(self.pid, number)
        self._reader.join(1.0)
        self.hang_up()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
