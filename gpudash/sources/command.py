"""Runs the user's command as a shell would: its streams are ours, its exit code is passed through.

The command stays in our process group: ctrl-c and ctrl-z reach it from the terminal, and us too. We
stay and wait, whatever comes. A signal that somebody sends to us alone is passed on; one that the
terminal sent to both is not sent twice.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence

NOT_FOUND = 127
NOT_RUNNABLE = 126
BY_SIGNAL = 128
_FROM_KERNEL = 0x80
"""si_code SI_KERNEL: typed at the terminal, not sent by kill()."""
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


class CommandError(Exception):
    """A command could not be started; carries the exit code that a shell gives."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


def run_command(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a command to its end and return its exit code, 128 + N where signal N ended it.

    Raises CommandError where it could not be started.
    """
    if sys.platform == "win32":
        return _run_simply(argv, env)
    # Ignored, as some starters leave it, no end of a child would ever be told.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    caught = {signal.Signals[name] for name in (*_PASSED_ON, "SIGCHLD")}
    # Blocked from before the start: a signal that comes in between is passed on, not lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, caught)
    try:
        pid = _start(argv, env, before)
        return _wait(pid, caught)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(argv: Sequence[str], env: Mapping[str, str], mask: Iterable[int]) -> int:
    try:
        return _spawn(argv[0], argv, env, mask)
    except ValueError as error:
        # An empty name, which Python refuses before the system could.
        raise CommandError(NOT_FOUND, f"{argv[0]!r}: {os.strerror(errno.ENOENT)}") from error
    except OSError as error:
        if error.errno == errno.ENOEXEC and (path := shutil.which(argv[0])):
            # A script without its first line: a shell takes it for its own.
            return _spawn("/bin/sh", ("/bin/sh", path, *argv[1:]), env, mask)
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        code = NOT_FOUND if missing else NOT_RUNNABLE
        raise CommandError(code, f"{argv[0]}: {error.strerror}") from error


def _spawn(path: str, argv: Sequence[str], env: Mapping[str, str], mask: Iterable[int]) -> int:
    return os.posix_spawnp(
        path,
        list(argv),
        dict(env),
        setsigmask=mask,
        # What Python ignores for itself is no business of the command. What the shell had ignored
        # for both, SIGINT of a job in the background, stays so.
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
    )


def _wait(pid: int, caught: set[signal.Signals]) -> int:
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return BY_SIGNAL - code if code < 0 else code
        number, is_sent = _next_signal(caught)
        if number != signal.SIGCHLD and is_sent:
            # Not waited for yet: the pid is still that of our child.
            os.kill(pid, number)


def _next_signal(caught: set[signal.Signals]) -> tuple[int, bool]:
    """Wait for a signal; return it and whether it was sent to us alone, as far as can be told."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(caught)
        return info.si_signo, info.si_code != _FROM_KERNEL
    number = signal.sigwait(caught)
    return number, number not in (signal.SIGINT, signal.SIGQUIT)


def _run_simply(argv: Sequence[str], env: Mapping[str, str]) -> int:
    import subprocess

    try:
        with subprocess.Popen(list(argv), env=dict(env)) as process:
            return process.wait()
    except FileNotFoundError as error:
        raise CommandError(NOT_FOUND, f"{argv[0]}: {error.strerror}") from error
    except OSError as error:
        raise CommandError(NOT_RUNNABLE, f"{argv[0]}: {error.strerror}") from error
