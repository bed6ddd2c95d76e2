"""A local child process with three pipes, without the cost of `subprocess` or asyncio.

Used before anything heavy is imported, and by the asyncio stream alike. Children are ended by
their pid alone and never waited for without a limit: a process in D state does not die.
"""

from __future__ import annotations

import math
import os
import select
import signal
import time

STDERR_TAIL = 8192
READ_SIZE = 65536
MAX_UNSENT = 65536


class Child:
    """A running program; owns its pipes and its pid until `reap` returned a status."""

    def __init__(self, argv: list[str], env: dict[str, str] | None = None) -> None:
        """Start a program. Raises OSError, as when it does not exist.

        It gets a process group of its own, so that ctrl-c in the terminal does not reach it: it
        ends when its stdin closes.
        """
        abandoned()
        pipes = _three_pipes()
        (in_read, self.stdin), (self.stdout, out_write), (self.stderr, err_write) = pipes
        theirs = (in_read, out_write, err_write)
        try:
            self.pid = os.posix_spawnp(
                argv[0],
                argv,
                os.environ if env is None else env,
                file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(theirs)],
                setpgroup=0,
                setsigdef=[signal.SIGINT, signal.SIGPIPE],
            )
        except BaseException:
            for fd in (self.stdin, self.stdout, self.stderr):
                os.close(fd)
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        os.set_blocking(self.stdout, False)
        os.set_blocking(self.stderr, False)
        self._status: int | None = None
        self._errors = b""
        self._has_ended_errors = False
        self._unsent = b""
        self._open = {self.stdin, self.stdout, self.stderr}

    def write(self, data: bytes) -> None:
        """Write to its stdin, waiting as long as it takes; one that has gone away ignores it."""
        try:
            while data:
                data = data[os.write(self.stdin, data) :]
        except OSError:
            return

    def offer(self, data: bytes) -> None:
        """Write to its stdin without waiting: one that does not read misses what does not fit.

        What was written of a message in part goes before the next one.
        """
        if self.stdin not in self._open:
            return
        if not self._unsent:
            os.set_blocking(self.stdin, False)
        elif len(self._unsent) + len(data) > MAX_UNSENT:
            return
        data = self._unsent + data
        try:
            while data:
                data = data[os.write(self.stdin, data) :]
        except BlockingIOError:
            pass
        except OSError:
            data = b""
        self._unsent = data

    def read(self) -> bytes | None:
        """Return what waits on stdout, b"" at its end, None when nothing waits."""
        try:
            return os.read(self.stdout, READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def wait_readable(self, timeout_s: float) -> bool:
        """Wait until stdout has something or ended; what it says on stderr is taken meanwhile."""
        if self.stdout not in self._open:
            return False
        deadline = time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(self.stdout, select.POLLIN)
        if not self._has_ended_errors:
            poll.register(self.stderr, select.POLLIN)
        while True:
            left_ms = math.ceil(max(0.0, deadline - time.monotonic()) * 1000)
            ready = {fd for fd, _ in poll.poll(left_ms)}
            if self.stderr in ready and self.drain_errors():
                poll.unregister(self.stderr)
            if self.stdout in ready or not ready:
                return bool(ready)

    def drain_errors(self) -> bool:
        """Take what waits on stderr; return True at its end."""
        if self._has_ended_errors or self.stderr not in self._open:
            return True
        try:
            while data := os.read(self.stderr, READ_SIZE):
                self._errors = (self._errors + data)[-STDERR_TAIL:]
        except BlockingIOError:
            return False
        except OSError:
            pass
        self._has_ended_errors = True
        return True

    def errors(self) -> str:
        """Return the last 8 KB that it wrote to stderr."""
        self.drain_errors()
        return self._errors.decode("utf-8", "replace").strip()

    def close_stdin(self) -> None:
        """Tell it to end."""
        self._close(self.stdin)

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.discard(fd)
            os.close(fd)

    def reap(self) -> int | None:
        """Return its exit status (a signal as a negative number), or None while it runs."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._status = 0
                return self._status
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def kill(self) -> None:
        """Send SIGKILL unless its end was already seen: the pid is still ours until then.

        A sudo is another user's and can't be killed; it ends with what it started, at the end of
        stdin.
        """
        if self.reap() is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except PermissionError:
                return

    def close_pipes(self) -> None:
        """Free the pipes; its last words are kept. One that still runs is looked after later."""
        self.errors()
        for fd in tuple(self._open):
            self._close(fd)
        if self.reap() is None and self not in _abandoned:
            _abandoned.append(self)

    def end(self, patience_s: float = 0.5) -> int | None:
        """End it within about two seconds: stdin, then SIGKILL; None where even that failed."""
        if not self._open:
            return self.reap()
        self.close_stdin()
        deadline = time.monotonic() + patience_s
        while self.reap() is None and time.monotonic() < deadline:
            # A pipe that nobody reads would keep it from its own end.
            if self.wait_readable(0.02) and self.read() == b"":
                time.sleep(0.002)
        if self.reap() is None:
            self.kill()
            deadline = time.monotonic() + 1.0
            while self.reap() is None and time.monotonic() < deadline:
                time.sleep(0.01)
        self.close_pipes()
        return self.reap()


_abandoned: list[Child] = []


def abandoned() -> int:
    """Return how many children were left behind and still run; those that ended are waited for.

    A process that hangs in the driver can't be ended, not even by SIGKILL.
    """
    _abandoned[:] = [child for child in _abandoned if child.reap() is None]
    return len(_abandoned)


def _three_pipes() -> list[tuple[int, int]]:
    pipes: list[tuple[int, int]] = []
    try:
        for _ in range(3):
            pipes.append(os.pipe())
    except OSError:
        for pair in pipes:
            for fd in pair:
                os.close(fd)
        raise
    return pipes
